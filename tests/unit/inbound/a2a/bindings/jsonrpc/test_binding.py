import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect
from starlette.types import Message
from tests.unit.inbound.a2a.edges import Edge, call, edge, events_in, message_03, message_10
from tests.unit.inbound.a2a.exchange import JSON, Exchange, exchange

from llamon_agent.domain.events import Complete, Delta
from llamon_agent.domain.profile import Profile
from llamon_agent.inbound.a2a.bindings.asgi import Admission, Auth, _raise_at_hang_up
from llamon_agent.inbound.a2a.bindings.jsonrpc.binding import RpcApp, rpc_routes
from llamon_agent.inbound.a2a.cards.http import card_routes
from llamon_agent.inbound.a2a.cards.site import Cards, CardSite
from llamon_agent.testing.scripted import Gate, Step
from llamon_agent.wire.sse import PING

ANSWER: list[Step] = [Delta(text="Hel"), Delta(text="lo"), Complete()]
PROFILE = Profile(name="Echo", description="Says it again.", version="1.0.0")
TOKENS = {"ann": "s3cret"}


def app_of(it: Edge, *, tokens: dict[str, str] | None = None, path: str = "/a2a") -> Starlette:
    rpc_at_path = rpc_routes(it.endpoint, Admission(auth=Auth(tokens or {})), path=path)
    site = CardSite(profile=PROFILE, path=path, public_url=None, trusted=False, started_s=0.0)
    return Starlette(routes=[*rpc_at_path, *card_routes(Cards(site), under="")])


@asynccontextmanager
async def client(app: Starlette) -> AsyncIterator[httpx2.AsyncClient]:
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app=app), base_url="http://edge") as made:
        yield made


def rpc(it: Edge, **limits: Any) -> RpcApp:
    return RpcApp(it.endpoint, Admission(auth=Auth({}), **limits), ping_s=it.ping_s)


# Calls.


@pytest.mark.parametrize("path", ["/a2a", "/a2a/"])
async def test_a_call_is_answered_with_and_without_a_slash_at_the_end(path: str) -> None:
    async with edge(ANSWER) as it, client(app_of(it)) as http:
        response = await http.post(path, json=json.loads(call("message/send", message_03())))
    assert response.status_code == 200
    assert response.headers["content-type"] == "application/json"
    assert response.json()["result"]["status"]["state"] == "completed"


async def test_an_agent_may_live_at_the_root() -> None:
    async with edge(ANSWER) as it, client(app_of(it, path="/")) as http:
        assert (await http.post("/", content=call("SendMessage", message_10()))).json()["result"]["task"]
        card = (await http.get("/.well-known/agent-card.json")).json()
    assert card["url"] == "http://edge/"


async def test_errors_are_http_200() -> None:
    async with edge() as it, client(app_of(it)) as http:
        response = await http.post("/a2a", content=b"{")
    assert response.status_code == 200
    assert response.json()["error"]["code"] == -32700


async def test_a_notification_is_answered_with_204_and_no_body() -> None:
    body = json.dumps({"jsonrpc": "2.0", "method": "message/send", "params": message_03()}).encode()
    async with edge(ANSWER) as it:
        done = await exchange(rpc(it), body)
    assert (done.status, done.body) == (204, b"")


async def test_the_method_and_not_the_accept_header_decides_between_json_and_stream() -> None:
    async with edge(ANSWER, ANSWER) as it, client(app_of(it)) as http:
        for_stream, for_json = {"accept": "text/event-stream"}, {"accept": "application/json"}
        one = await http.post("/a2a", content=call("message/send", message_03()), headers=for_stream)
        many = await http.post("/a2a", content=call("message/stream", message_03()), headers=for_json)
    assert one.headers["content-type"] == "application/json"
    assert many.headers["content-type"].startswith("text/event-stream")


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "DELETE", "OPTIONS"])
async def test_the_answer_to_other_methods_says_to_post(method: str) -> None:
    async with edge() as it, client(app_of(it)) as http:
        response = await http.request(method, "/a2a")
    assert response.status_code == 405
    assert response.headers["allow"] == "POST"
    assert method == "HEAD" or "POST a JSON-RPC 2.0 request" in response.text


# The version.


@pytest.mark.parametrize(
    ("headers", "query", "code"),
    [
        ({"A2A-Version": "99.0"}, "", -32009),
        ({}, "?A2A-Version=99.0", -32009),
        ({}, "?a2a-version=99.0&x=1", -32009),
        ({"A2A-Version": "1.0"}, "?A2A-Version=99.0", -32602),
        ({"A2A-Version": ""}, "", -32602),
        ({}, "?x=1", -32602),
        ({}, "", -32602),
    ],
)
async def test_the_version_is_asked_for_by_header_or_else_by_query(
    headers: dict[str, str], query: str, code: int
) -> None:
    async with edge() as it, client(app_of(it)) as http:
        response = await http.post("/a2a" + query, content=call("SendMessage", {}), headers=headers)
    assert response.json()["error"]["code"] == code


# Who calls.


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ((JSON,), 401),
        ((JSON, (b"authorization", b"Bearer no")), 401),
        ((JSON, (b"authorization", b"Bearer no"), (b"authorization", b"Bearer s3cret")), 401),
        ((JSON, (b"authorization", b"bearer s3cret")), 200),
    ],
)
async def test_a_caller_without_a_token_is_refused_before_the_body_is_read(
    headers: tuple[tuple[bytes, bytes], ...], status: int
) -> None:
    async with edge() as it:
        done = await exchange(RpcApp(it.endpoint, Admission(auth=Auth(TOKENS))), b"{", headers=headers)
    assert done.status == status
    assert done.reads == (0 if status == 401 else 1)
    assert (done.headers.get(b"www-authenticate") == b"Bearer") is (status == 401)


async def test_a_refusal_says_what_is_wanted_in_json_and_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    async with edge() as it, client(app_of(it, tokens=TOKENS)) as http:
        response = await http.post("/a2a", content=call("tasks/get", {"id": "x"}))
    assert response.json() == {"error": "A valid bearer token is required."}
    assert "authentication failed, no Authorization header" in caplog.text
    assert "(POST '/a2a' from 127.0.0.1)" in caplog.text


async def test_cards_need_no_token() -> None:
    async with edge() as it, client(app_of(it, tokens=TOKENS)) as http:
        for path in ("/.well-known/agent-card.json", "/.well-known/agent.json"):
            assert (await http.get(path)).status_code == 200


async def test_a_task_belongs_to_its_callers_token() -> None:
    tokens = {"ann": "a", "bob": "b"}
    async with edge(ANSWER) as it, client(app_of(it, tokens=tokens)) as http:
        ann, bob = ({"authorization": f"Bearer {token}"} for token in "ab")
        sent = await http.post("/a2a", content=call("message/send", message_03()), headers=ann)
        get = call("tasks/get", {"id": sent.json()["result"]["id"]})
        assert (await http.post("/a2a", content=get, headers=ann)).json()["result"]["id"]
        assert (await http.post("/a2a", content=get, headers=bob)).json()["error"]["code"] == -32001


# The body.


@pytest.mark.parametrize(
    "content_type",
    [b"application/json", b"application/json; charset=utf-8", b"Application/JSON", b"application/a2a+json", b""],
)
async def test_json_by_any_of_its_names_is_taken(content_type: bytes) -> None:
    async with edge() as it:
        done = await exchange(rpc(it), call("tasks/get", {"id": "x"}), headers=((b"content-type", content_type),))
    assert json.loads(done.body)["error"]["code"] == -32001


async def test_a_missing_content_type_is_taken_for_json() -> None:
    async with edge() as it:
        done = await exchange(rpc(it), call("tasks/get", {"id": "x"}), headers=())
    assert json.loads(done.body)["error"]["code"] == -32001


@pytest.mark.parametrize("content_type", [b"text/plain", b"application/xml", b"multipart/form-data; boundary=x"])
async def test_another_content_type_is_refused_before_anything_is_parsed(content_type: bytes) -> None:
    async with edge() as it:
        done = await exchange(rpc(it), b"{", headers=((b"content-type", content_type),))
    assert done.status == 200
    assert json.loads(done.body)["error"]["code"] == -32005
    assert done.reads == 0


async def test_a_body_in_pieces_is_put_together() -> None:
    body = call("tasks/get", {"id": "x"})
    async with edge() as it:
        done = await exchange(rpc(it), body[:5], b"", body[5:])
    assert json.loads(done.body)["error"]["code"] == -32001


async def test_a_body_that_is_announced_too_large_is_not_read() -> None:
    async with edge() as it:
        app = rpc(it, max_body_bytes=10)
        done = await exchange(app, b"x" * 11, headers=(JSON, (b"content-length", b"11")))
    assert (done.status, done.reads) == (413, 0)
    assert json.loads(done.body)["error"] == {"code": -32600, "message": "The body is larger than 10 bytes."}


async def test_a_body_that_turns_out_too_large_is_read_no_further() -> None:
    async with edge() as it:
        done = await exchange(rpc(it, max_body_bytes=10), *[b"xxxx"] * 100, headers=(JSON, (b"content-length", b"x")))
    assert (done.status, done.reads) == (413, 3)


async def test_a_body_of_just_the_limit_is_read() -> None:
    body = call("tasks/get", {"id": "x"})
    async with edge() as it:
        done = await exchange(rpc(it, max_body_bytes=len(body)), body)
    assert done.status == 200


async def test_a_body_that_breaks_off_is_dropped_quietly(caplog: pytest.LogCaptureFixture) -> None:
    async with edge() as it:
        made = Exchange(rpc(it), b'{"jsonrpc"', breaks_off=True)
        await made.run()
    assert made.sent == []
    assert caplog.records == []


async def test_a_body_that_does_not_come_is_not_waited_for_for_ever() -> None:
    async with edge() as it, asyncio.timeout(5):
        made = Exchange(rpc(it, body_within_s=0.01), b'{"jsonrpc"', stalls=True)
        await made.run()
    assert (made.status, made.headers[b"connection"]) == (408, b"close")
    assert json.loads(made.body)["error"] == {"code": -32600, "message": "The body did not come within 0.01 seconds."}


# Streams.


async def test_a_stream_has_the_headers_that_keep_proxies_from_holding_it_back() -> None:
    async with edge(ANSWER) as it:
        done = await exchange(rpc(it), call("message/stream", message_03()))
    assert done.headers == {
        b"content-type": b"text/event-stream",
        b"cache-control": b"no-cache, no-transform",
        b"x-accel-buffering": b"no",
    }
    assert [message.get("more_body", False) for message in done.sent[1:]][-1] is False
    assert events_in(done.body)[-1][1]["result"]["final"]


async def test_a_stream_ends_when_its_reader_hangs_up_and_the_run_goes_on() -> None:
    gate = Gate()
    async with edge([gate, *ANSWER]) as it, asyncio.timeout(5):
        made = Exchange(rpc(it), call("message/stream", message_03()))
        running = asyncio.create_task(made.run())
        await made.first_body()
        await gate.reached()
        made.hang_up()
        await running
        gate.open()
        following = await exchange(rpc(it), call("tasks/resubscribe", {"id": await it.only_task()}))
    assert it.agent.cancelled == []
    assert events_in(following.body)[-1][1]["result"]["status"]["state"] == "completed"


async def test_only_a_hang_up_is_a_hang_up() -> None:
    messages: list[Message] = [{"type": "http.request", "body": b""}, {"type": "http.disconnect"}]

    async def receive() -> Message:
        return messages.pop(0)

    with pytest.raises(ClientDisconnect):
        await _raise_at_hang_up(receive)
    assert messages == []


async def test_a_server_that_says_it_by_an_error_is_understood_too() -> None:
    def fail(_message: Message) -> None:
        raise OSError

    async with edge([Gate()]) as it, asyncio.timeout(5):
        await Exchange(rpc(it), call("message/stream", message_03()), on_send=fail).run()
        assert (await it.ask("tasks/get", {"id": await it.only_task()}))["status"]["state"] == "working"


async def test_cancelling_the_request_ends_the_subscription() -> None:
    async with edge([Gate()]) as it, asyncio.timeout(5):
        made = Exchange(rpc(it), call("message/stream", message_03()))
        running = asyncio.create_task(made.run())
        await made.first_body()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert it.agent.cancelled == []


async def test_a_quiet_stream_is_pinged() -> None:
    gate = Gate()

    def watch(message: Message) -> None:
        if message.get("body") == PING:
            gate.open()

    async with edge([gate, *ANSWER], ping_s=0.001) as it, asyncio.timeout(5):
        made = Exchange(rpc(it), call("message/stream", message_03()), on_send=watch)
        await made.run()
    assert PING in made.body
    assert events_in(made.body)[-1][1]["result"]["final"]


async def test_last_event_id_is_passed_on() -> None:
    gate = Gate()
    async with edge([Delta(text="a"), Delta(text="b"), gate, Complete()]) as it, asyncio.timeout(5):
        task_id = await it.begin()
        await gate.reached()
        made = Exchange(rpc(it), call("tasks/resubscribe", {"id": task_id}), headers=(JSON, (b"last-event-id", b"1")))
        running = asyncio.create_task(made.run())
        await made.first_body()
        gate.open()
        await running
    assert events_in(made.body)[0][1]["result"]["kind"] == "artifact-update"
