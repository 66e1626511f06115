import json
import threading

import pytest
from tests.unit.inbound.a2a.edges import edge, message_03, response_of

from llamon_agent.domain.errors import ContentTypeNotSupported
from llamon_agent.domain.events import Complete, Delta
from llamon_agent.inbound.a2a.bindings.jsonrpc.binding import NoResponse, answer_call, refuse_call
from llamon_agent.inbound.a2a.bindings.jsonrpc.envelope import Call, read_call
from llamon_agent.inbound.a2a.endpoint import RequestHead
from llamon_agent.testing.scripted import Gate, Step

ANSWER: list[Step] = [Delta(text="Hel"), Delta(text="lo"), Complete()]


@pytest.mark.parametrize(("text", "is_apart"), [("hi", False), ("hi" * 100_000, True)])
async def test_a_large_body_is_read_off_the_event_loop(
    monkeypatch: pytest.MonkeyPatch, text: str, is_apart: bool
) -> None:
    threads: list[threading.Thread] = []

    def reading(body: bytes) -> Call:
        threads.append(threading.current_thread())
        return read_call(body)

    monkeypatch.setattr("llamon_agent.inbound.a2a.bindings.jsonrpc.binding.read_call", reading)
    async with edge(ANSWER) as it:
        done = await it.ask("message/send", message_03(text))
    assert done["status"]["state"] == "completed"
    assert [thread is not threading.main_thread() for thread in threads] == [is_apart]


async def test_a_large_body_that_is_no_request_is_answered_by_its_id() -> None:
    body = json.dumps({"id": "x", "params": "y" * 200_000}).encode()
    async with edge() as it:
        response = response_of(await answer_call(it.endpoint, body, RequestHead()))
    assert (response["id"], response["error"]["code"]) == ("x", -32600)


@pytest.mark.parametrize("method", ["message/send", "message/stream"])
async def test_a_valid_notification_is_carried_out_and_not_answered(method: str) -> None:
    gate = Gate()
    body = json.dumps({"jsonrpc": "2.0", "method": method, "params": message_03()}).encode()
    async with edge([gate]) as it:
        assert isinstance(await answer_call(it.endpoint, body, RequestHead()), NoResponse)
        await gate.reached()


async def test_a_notification_that_would_subscribe_follows_nothing() -> None:
    async with edge([Gate()]) as it:
        body = {"jsonrpc": "2.0", "method": "tasks/resubscribe", "params": {"id": await it.begin()}}
        assert isinstance(await answer_call(it.endpoint, json.dumps(body).encode(), RequestHead()), NoResponse)


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b'{"jsonrpc":"2.0","method":"no/such"}', -32601),
        (b'{"jsonrpc":"2.0","method":"message/send","params":{}}', -32602),
        (b'{"jsonrpc":"2.0","method":"tasks/get"}', -32602),
        (b'{"jsonrpc":"2.0","method":"tasks/get","params":"x"}', -32602),
        (b'{"method":"message/send"}', -32600),
        (b"{", -32700),
    ],
)
async def test_a_faulty_notification_is_answered_with_a_null_id(body: bytes, code: int) -> None:
    async with edge() as it:
        response = response_of(await answer_call(it.endpoint, body, RequestHead()))
    assert response["id"] is None
    assert response["error"]["code"] == code


async def test_a_body_that_is_not_read_can_be_refused() -> None:
    response = response_of(refuse_call(ContentTypeNotSupported(), RequestHead(version="1.0")))
    assert response["id"] is None
    assert response["error"]["code"] == -32005
