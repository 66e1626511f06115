import json
from pathlib import Path
from typing import Any

import pytest
from starlette.responses import RedirectResponse, Response
from tests.card_keys import key_of
from tests.unit.cli.conftest import CARD, Agent

from llamon_agent.cli.card_check import Checked, check_line
from llamon_agent.cli.exits import Exit
from llamon_agent.cli.main import main
from llamon_agent.wire.cards.signing import Signer, SigningKey
from llamon_agent.wire.cards.verification import Finding

Capture = pytest.CaptureFixture[str]

KEY = key_of()
CARD_PATH, JWKS_PATH = "/.well-known/agent-card.json", "/.well-known/jwks.json"
HYBRID = {**CARD, "url": "https://elsewhere.example/a2a", "protocolVersion": "0.3.0"}


def jwks(*keys: SigningKey) -> Any:
    return json.loads(Signer(keys).write_jwks())


def serve(agent: Agent, card: dict[str, Any], *keys: SigningKey, base: str | None = None) -> dict[str, Any]:
    """Let the agent show this card, signed by these keys."""
    signed = Signer(keys).sign(card, base or agent.origin)
    agent.cards = {CARD_PATH: signed, JWKS_PATH: jwks(*keys)}
    return signed


def test_a_signed_card_holds(agent: Agent, capsys: Capture) -> None:
    serve(agent, HYBRID, KEY, key_of("next", "EdDSA"))
    assert main(["card", "--verify", agent.origin]) == Exit.OK
    shown = capsys.readouterr()
    assert shown.out.splitlines() == ["Canned 2.1.0", "  main (ES256)  holds", "  next (EdDSA)  holds"]
    assert shown.err == ""


def test_a_card_that_is_not_signed_is_told(agent: Agent, capsys: Capture) -> None:
    assert main(["card", agent.origin, "--verify"]) == Exit.ENDED_BADLY
    shown = capsys.readouterr()
    assert shown.out == "Canned 2.1.0\n"
    assert shown.err == "llamon: The card is not signed.\n"


@pytest.mark.parametrize("change", [{"url": "https://evil.example"}, {"name": "Else"}])
def test_a_changed_card_does_not_hold_even_where_a_part_of_it_still_would(
    agent: Agent, capsys: Capture, change: dict[str, str]
) -> None:
    agent.cards[CARD_PATH] = {**serve(agent, HYBRID, KEY), **change}
    assert main(["card", agent.origin, "--verify"]) == Exit.ENDED_BADLY
    shown = capsys.readouterr()
    assert "main (ES256)  does not hold: this is not the card that was signed" in shown.out
    assert shown.err == "llamon: The card's signatures do not hold.\n"


def test_one_broken_signature_beside_one_that_holds_is_not_passed_over(agent: Agent) -> None:
    signed = serve(agent, CARD, KEY, key_of("next", "EdDSA"))
    first, *_, last = signed["signatures"]
    agent.cards[CARD_PATH] = {**signed, "signatures": [first, {**last, "signature": first["signature"]}]}
    assert main(["card", agent.origin, "--verify"]) == Exit.ENDED_BADLY


def test_what_a_signature_leaves_open_is_told(agent: Agent, capsys: Capture) -> None:
    agent.cards[CARD_PATH] = {**HYBRID, "signatures": serve(agent, CARD, KEY)["signatures"]}
    assert main(["card", agent.origin, "--verify"]) == Exit.OK
    assert "main (ES256)  holds, but leaves open url, protocolVersion" in capsys.readouterr().out


def test_keys_of_another_origin_are_not_believed_and_not_asked_for(agent: Agent, capsys: Capture) -> None:
    serve(agent, CARD, KEY, base="https://elsewhere.example")
    assert main(["card", agent.origin, "--verify"]) == Exit.ENDED_BADLY
    out = capsys.readouterr().out
    assert "main (ES256)  not checked: its key is at another origin" in out
    assert "--jwks https://elsewhere.example/.well-known/jwks.json" in out


@pytest.mark.parametrize("jku", ["", "http://[", "/.well-known/jwks.json"])
def test_a_signature_that_names_no_place_needs_the_persons_keys(agent: Agent, capsys: Capture, jku: str) -> None:
    base = jku.removesuffix(JWKS_PATH)
    signed = Signer([KEY]).sign(CARD, base)
    agent.cards = {CARD_PATH: signed}
    assert main(["card", agent.origin, "--verify"]) == Exit.ENDED_BADLY
    assert "not checked" in capsys.readouterr().out


def test_the_persons_keys_count_wherever_the_card_says_they_are(agent: Agent, capsys: Capture, tmp_path: Path) -> None:
    serve(agent, CARD, KEY, base="https://elsewhere.example")
    file = tmp_path / "jwks.json"
    file.write_text(json.dumps(jwks(KEY)))
    for where in (str(file), agent.origin + JWKS_PATH):
        assert main(["card", agent.origin, "--verify", "--jwks", where]) == Exit.OK
    assert capsys.readouterr().out.count("main (ES256)  holds") == 2


def test_a_key_that_is_not_among_them_is_told(agent: Agent, capsys: Capture, tmp_path: Path) -> None:
    serve(agent, CARD, KEY)
    file = tmp_path / "jwks.json"
    file.write_text(json.dumps(jwks(key_of("other"))))
    assert main(["card", agent.origin, "--verify", "--jwks", str(file)]) == Exit.ENDED_BADLY
    assert f"main (ES256)  not checked: its key is not in {file}" in capsys.readouterr().out


def test_a_signature_without_a_name_is_told(agent: Agent, capsys: Capture) -> None:
    agent.cards[CARD_PATH] = {**CARD, "signatures": [{"protected": "e30", "signature": "AAAA"}]}
    assert main(["card", agent.origin, "--verify"]) == Exit.ENDED_BADLY
    assert "  a signature  not checked: it names no key" in capsys.readouterr().out


def test_the_token_is_for_the_card_and_not_for_the_keys(agent: Agent) -> None:
    serve(agent, CARD, KEY)
    assert main(["card", agent.origin, "--verify", "--token", "secret"]) == Exit.OK
    heard = {call.path: call.headers.get("authorization") for call in agent.fetched}
    assert heard == {CARD_PATH: "Bearer secret", JWKS_PATH: None}


def test_json_tells_what_became_of_each_key(agent: Agent, capsys: Capture) -> None:
    serve(agent, HYBRID, KEY)
    assert main(["card", agent.origin, "--verify", "--json"]) == Exit.OK
    assert json.loads(capsys.readouterr().out) == {
        "holds": True,
        "signatures": [
            {
                "kid": "main",
                "alg": "ES256",
                "jku": agent.origin + JWKS_PATH,
                "finding": "holds",
                "told": "",
                "open_keys": [],
            }
        ],
    }


@pytest.mark.parametrize("body", ["{}", "[]", "<html>", '{"keys": 5}'])
def test_what_is_no_jwk_set_is_told_to_whom_it_concerns(
    agent: Agent, capsys: Capture, tmp_path: Path, body: str
) -> None:
    serve(agent, CARD, KEY)
    agent.cards[JWKS_PATH] = Response(body)
    assert main(["card", agent.origin, "--verify"]) == Exit.PROTOCOL
    assert "is not a JWK set" in capsys.readouterr().err
    file = tmp_path / "jwks.json"
    file.write_text(body)
    assert main(["card", agent.origin, "--verify", "--jwks", str(file)]) == Exit.USAGE
    assert "is not a JWK set" in capsys.readouterr().err


def test_keys_that_cannot_be_had_are_told(agent: Agent, capsys: Capture, tmp_path: Path) -> None:
    serve(agent, CARD, KEY)
    assert main(["card", agent.origin, "--verify", "--jwks", str(tmp_path / "none")]) == Exit.USAGE
    assert "cannot be read; --jwks takes a file or a URL" in capsys.readouterr().err
    agent.cards[JWKS_PATH] = RedirectResponse("https://evil.example/jwks.json")
    assert main(["card", agent.origin, "--verify"]) == Exit.UNREACHED
    del agent.cards[JWKS_PATH]
    assert main(["card", agent.origin, "--verify"]) == Exit.UNREACHED


def test_keys_without_anything_to_verify_are_a_mistake(agent: Agent, capsys: Capture) -> None:
    assert main(["card", agent.origin, "--jwks", "keys.json"]) == Exit.USAGE
    assert "--verify" in capsys.readouterr().err


def test_what_a_card_says_cannot_pass_for_a_line_of_ours() -> None:
    forged = Checked(
        kid="k\nk1 (ES256)  holds",
        alg="ES256\r\n",
        jku="",
        finding=Finding.UNKNOWN_KEY,
        reason="its key is not in x\nk1 (ES256)  holds",
    )
    assert check_line(forged).splitlines() == [check_line(forged)]
    assert check_line(forged).startswith("k k1 (ES256) holds (ES256 )  not checked: ")
