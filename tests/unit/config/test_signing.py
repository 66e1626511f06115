from pathlib import Path

import pytest
from tests.card_keys import pem, private, public_pem

from llamon_agent.config.edge import EdgeConfig
from llamon_agent.config.load import load_config
from llamon_agent.config.signing import open_signer
from llamon_agent.domain.errors import ConfigError

KEY = pem(private("ES256"))
ECHO = "a2a: {adapter: echo, public_url: 'https://a.example', signing: {keys: {main: {file: main.pem}}}}"


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("main.pem").write_text(KEY)


def load(text: str) -> EdgeConfig:
    Path("edge.yaml").write_text(text)
    return load_config(Path("edge.yaml"), {})


def problems(text: str) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        load(text)
    return caught.value.public.splitlines()


def test_a_key_is_read_from_its_file() -> None:
    signer = open_signer(load(ECHO).a2a)
    assert signer is not None
    assert b'"kid":"main"' in signer.write_jwks()


def test_a_key_may_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LLAMON_A2A__SIGNING__KEYS__NEXT__KEY", KEY)
    config = load(ECHO)
    signer = open_signer(config.a2a)
    assert signer is not None
    assert b'"kid":"next"' in signer.write_jwks()
    assert "PRIVATE" not in config.model_dump_json()


def test_without_keys_nothing_is_signed() -> None:
    assert open_signer(load("a2a: {adapter: echo}").a2a) is None


def test_signing_needs_the_address_that_it_vouches_for() -> None:
    (problem,) = problems("a2a: {adapter: echo, signing: {keys: {main: {file: main.pem}}}}")
    assert "a2a.signing needs a2a.public_url" in problem


@pytest.mark.parametrize(
    ("key", "told"),
    [
        ("{}", "a2a.signing.keys.main needs a file or a key, and not both"),
        ("{file: main.pem, key: x}", "a2a.signing.keys.main needs a file or a key, and not both"),
        ("{file: other.pem}", "a2a.signing.keys.main.file names a file that cannot be read"),
        ("{file: binary.pem}", "a2a.signing.keys.main.file names a file that is not text"),
        ("{file: public.pem}", "a2a.signing.keys.main.file is a public key"),
        ("{file: main.pem, alg: EdDSA}", "a2a.signing.keys.main.file is no PEM or JWK of a private key"),
        ("{key: secret}", "a2a.signing.keys.main.key is no PEM or JWK of a private key"),
        ("{file: main.pem, alg: HS256}", "a2a.signing.keys.main.alg must be "),
        ("{kid: x}", "is not a known key"),
    ],
)
def test_a_key_that_cannot_sign_is_reported_with_its_place(key: str, told: str) -> None:
    Path("public.pem").write_text(public_pem(private("ES256")))
    Path("binary.pem").write_bytes(b"\xff\xfe\x00")
    (problem,) = problems(ECHO.replace("{file: main.pem}", key))
    assert told in problem
    assert "secret" not in problem


def test_signing_by_no_key_is_reported() -> None:
    assert len(problems("a2a: {adapter: echo, public_url: 'https://a.example', signing: {keys: {}}}")) == 1


def test_a_key_that_was_replaced_after_loading_is_reported() -> None:
    config = load(ECHO)
    Path("main.pem").write_text("nothing")
    with pytest.raises(ConfigError, match=r"a2a\.signing\.keys\.main\.file is no PEM"):
        open_signer(config.a2a)


def test_a_key_that_everybody_can_read_is_reported(caplog: pytest.LogCaptureFixture) -> None:
    Path("main.pem").chmod(0o644)
    open_signer(load(ECHO).a2a)
    assert "the signing key main.pem can be read by every user" in caplog.text
    caplog.clear()
    Path("main.pem").chmod(0o600)
    open_signer(load(ECHO).a2a)
    assert caplog.messages == []
