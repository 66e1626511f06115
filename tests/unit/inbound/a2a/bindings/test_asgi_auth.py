import hmac

import pytest
from starlette.types import Scope

from llamon_agent.domain.caller import DEFAULT_PRINCIPAL, Caller
from llamon_agent.domain.errors import PermissionDenied, Unauthenticated
from llamon_agent.inbound.a2a.bindings.asgi import Auth, Headers

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


class Own:
    """An authentication of the agents' own: the identity is in a header."""

    async def authenticate(self, scope: Scope, headers: Headers) -> Caller:
        if not (name := headers.get(b"x-user")):
            raise PermissionDenied(scope["path"])
        return Caller(principal=name.decode())


BOTH = Auth({"ann": "s3cret"}, Own())
SCOPE: Scope = {"type": "http", "path": "/a2a"}


@pytest.mark.parametrize(
    ("headers", "principal"),
    [
        ({b"authorization": b"Bearer s3cret", b"x-user": b"eve"}, "ann"),
        ({b"authorization": b"Bearer other", b"x-user": b"eve"}, "eve"),
        ({b"x-user": b"eve"}, "eve"),
    ],
)
async def test_a_token_comes_first_and_then_the_agents_own(headers: Headers, principal: str) -> None:
    assert (await BOTH.authenticate(SCOPE, headers)).principal == principal


async def test_the_agents_own_cannot_speak_for_the_principal_of_a_token() -> None:
    with pytest.raises(Unauthenticated):
        await BOTH.authenticate(SCOPE, {b"x-user": b"ann"})


async def test_nobody_gets_past_the_agents_own() -> None:
    assert not Auth({}, Own()).is_open
    for auth in (BOTH, Auth({}, Own())):
        with pytest.raises(PermissionDenied, match="/a2a"):
            await auth.authenticate(SCOPE, {b"authorization": b"Bearer x"})


async def test_without_one_the_token_decides() -> None:
    assert (await AUTH.authenticate(SCOPE, {b"authorization": b"Bearer s3cret"})).principal == "ann"
