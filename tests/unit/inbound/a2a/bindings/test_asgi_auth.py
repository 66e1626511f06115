import hmac

import pytest

from llamon_agent.domain.caller import DEFAULT_PRINCIPAL
from llamon_agent.domain.errors import Unauthenticated
from llamon_agent.inbound.a2a.bindings.asgi import Auth

AUTH = Auth({"ann": "s3cret", "bob": "비밀"})


@pytest.mark.parametrize("header", [None, b"", b"Bearer whatever"])
def test_without_tokens_everybody_is_the_default_principal(header: bytes | None) -> None:
    assert Auth({}).caller(header).principal == DEFAULT_PRINCIPAL


@pytest.mark.parametrize(
    ("header", "principal"),
    [
        (b"Bearer s3cret", "ann"),
        (b"bearer s3cret", "ann"),
        (b"BEARER   s3cret  ", "ann"),
        ("Bearer 비밀".encode(), "bob"),
    ],
)
def test_a_token_names_its_principal(header: bytes, principal: str) -> None:
    assert AUTH.caller(header).principal == principal


@pytest.mark.parametrize(
    "header",
    [
        None,
        b"",
        b"Bearer",
        b"Bearer ",
        b"Bearer s3cre",
        b"Bearer s3cret2",
        b"Bearer S3CRET",
        b"Basic s3cret",
        b"s3cret",
        b"Bearers3cret",
        b"Bearer \xff\xfe",
        b"Bearer s3cret, Bearer s3cret",
    ],
)
def test_anything_else_is_refused(header: bytes | None) -> None:
    with pytest.raises(Unauthenticated):
        AUTH.caller(header)


def test_all_tokens_are_compared_wherever_the_right_one_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[bytes] = []
    compare = hmac.compare_digest

    def counting(a: bytes, b: bytes) -> bool:
        compared.append(a)
        return compare(a, b)

    monkeypatch.setattr(hmac, "compare_digest", counting)
    AUTH.caller(b"Bearer s3cret")
    assert len(compared) == 2


def test_an_empty_token_is_refused_at_the_start() -> None:
    with pytest.raises(ValueError, match="empty"):
        Auth({"ann": ""})
