import socket
import threading

import pytest
from starlette.responses import RedirectResponse, Response
from tests.unit.cli.conftest import CARD, Agent, result, task

from llamon_agent.cli.exits import Exit
from llamon_agent.cli.main import main

Capture = pytest.CaptureFixture[str]


def interface(url: str, version: str = "1.0", binding: str = "JSONRPC") -> dict[str, str]:
    return {"url": url, "protocolBinding": binding, "protocolVersion": version}


def test_calls_and_tokens_stay_at_the_origin_that_was_named(agent: Agent) -> None:
    agent.cards = {
        "/.well-known/agent-card.json": {**CARD, "supportedInterfaces": [interface("https://evil.example/take?x=1")]}
    }
    agent.says(result(task("COMPLETED")))
    assert main(["send", agent.origin, "hi", "--token", "s3cret"]) == Exit.OK
    assert agent.calls[0].path == "/take?x=1"


def test_the_path_that_was_typed_takes_the_calls(agent: Agent) -> None:
    agent.says(result(task("COMPLETED")))
    assert main(["send", f"{agent.origin}/a2a/other?tenant=t", "hi"]) == Exit.OK
    assert agent.calls[0].path == "/a2a/other?tenant=t"


def test_a_card_is_not_needed_where_the_path_is_known(agent: Agent) -> None:
    agent.cards = {}
    agent.says(result(task("COMPLETED")))
    assert main(["send", f"{agent.origin}/a2a", "hi"]) == Exit.OK


def test_the_cards_url_will_do_for_sending(agent: Agent) -> None:
    agent.says(result(task("COMPLETED")))
    assert main(["send", f"{agent.origin}/.well-known/agent-card.json", "hi"]) == Exit.OK
    assert agent.calls[0].path == "/a2a"


def test_the_json_rpc_1_0_interface_is_the_one_that_is_called(agent: Agent) -> None:
    ways = [
        interface("http://x/grpc", binding="GRPC"),
        interface("http://x/old", "0.3"),
        interface("http://x/new", "1.0"),
    ]
    agent.cards = {"/.well-known/agent-card.json": {**CARD, "supportedInterfaces": ways}}
    agent.says(result(task("COMPLETED")))
    assert main(["send", agent.origin, "hi"]) == Exit.OK
    assert agent.calls[0].path == "/new"


@pytest.mark.parametrize("ways", [[], [interface("http://x/", "2.0")], [interface("http://x/", binding="GRPC")]])
def test_an_agent_that_we_cannot_speak_to_is_told(agent: Agent, capsys: Capture, ways: list[dict[str, str]]) -> None:
    agent.cards = {"/.well-known/agent-card.json": {**CARD, "supportedInterfaces": ways}}
    assert main(["send", agent.origin, "hi"]) == Exit.PROTOCOL
    assert "offers no A2A 1.0 or 0.3 over JSON-RPC or HTTP+JSON" in capsys.readouterr().err


def test_an_origin_without_a_card_asks_for_the_path(agent: Agent, capsys: Capture) -> None:
    agent.cards = {}
    assert main(["send", agent.origin, "hi"]) == Exit.PROTOCOL
    assert "has no agent card; give the URL" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (Response(status_code=403), "does not allow this token"),
        (Response(status_code=404), "has nothing at this path"),
        (Response(status_code=405), "takes no calls at this path"),
        (Response(status_code=413), "finds the message too large"),
        (Response(status_code=429), "too much to do"),
        (Response(status_code=500), "refuses the request (HTTP 500)"),
        (RedirectResponse("https://new.example/a2a", 307), "sends its callers on to https://new.example/a2a"),
    ],
)
def test_what_http_refuses_is_told_with_a_remedy(agent: Agent, capsys: Capture, reply: Response, words: str) -> None:
    agent.says(reply)
    assert main(["send", agent.origin, "hi"]) == Exit.UNREACHED
    assert words in capsys.readouterr().err


@pytest.mark.parametrize(("given", "words"), [([], "wants a token; give"), (["--token", "x"], "not accept this token")])
def test_401_says_whether_a_token_is_missing_or_wrong(
    agent: Agent, capsys: Capture, given: list[str], words: str
) -> None:
    agent.says(Response(status_code=401))
    assert main(["send", agent.origin, "hi", *given]) == Exit.UNREACHED
    err = capsys.readouterr().err
    assert words in err
    assert "LLAMON_TOKEN" in err


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"<html>", "is not JSON-RPC"),
        (b"[1]", "is not JSON-RPC"),
        (b"{}", "neither a result nor an error"),
        (b'{"result": {"odd": 1}}', "is not A2A 1.0"),
        (b'{"result": {"task": {"id": "t", "status": {"state": "DREAMING"}}}}', "is not A2A 1.0"),
        (b"[" * 100_000, "is not JSON-RPC"),
    ],
)
def test_answers_that_are_no_a2a_are_told(agent: Agent, capsys: Capture, body: bytes, words: str) -> None:
    agent.says(Response(body, media_type="application/json"))
    assert main(["send", agent.origin, "hi"]) == Exit.PROTOCOL
    assert words in capsys.readouterr().err


def test_a_refusal_cannot_steer_the_terminal(agent: Agent, capsys: Capture) -> None:
    agent.says(Response(b'{"error": {"code": -32603, "message": "a\\u001b[2Jb"}}', media_type="application/json"))
    assert main(["send", agent.origin, "hi"]) == Exit.PROTOCOL
    assert capsys.readouterr().err == "llamon: The agent refused the call: a[2Jb (error -32603)\n"


@pytest.mark.parametrize("token", ["two\nlines", "안녕"])
def test_a_token_that_no_header_can_carry_is_a_usage_error(agent: Agent, capsys: Capture, token: str) -> None:
    assert main(["send", agent.origin, "hi", "--token", token]) == Exit.USAGE
    assert token not in capsys.readouterr().err


def test_an_address_that_no_client_can_call_is_a_usage_error(capsys: Capture) -> None:
    assert main(["send", "http://[v1.x]", "hi"]) == Exit.USAGE
    assert "is not an address that can be called" in capsys.readouterr().err


def test_a_host_that_does_not_exist_is_told(capsys: Capture) -> None:
    assert main(["send", "http://nosuch.invalid", "hi"]) == Exit.UNREACHED
    assert "There is no host called nosuch.invalid" in capsys.readouterr().err


def test_a_server_that_speaks_something_else_is_told(capsys: Capture) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        thread = threading.Thread(target=lambda: listener.accept()[0].close())
        thread.start()
        assert main(["send", f"http://127.0.0.1:{port}", "hi"]) == Exit.UNREACHED
        thread.join(5)
    assert "closed the connection" in capsys.readouterr().err


def test_tls_where_there_is_none_is_told(agent: Agent, capsys: Capture) -> None:
    assert main(["send", agent.origin.replace("http:", "https:"), "hi"]) == Exit.UNREACHED
    assert "does not speak TLS; try http://" in capsys.readouterr().err


def test_a_proxy_is_no_way_to_ones_own_machine(agent: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    agent.says(result(task("COMPLETED")))
    assert main(["send", agent.origin, "hi"]) == Exit.OK
