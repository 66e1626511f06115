"""What is carried and what is refused, and that no hang-up harms a run. Each rpc for itself is in `test_rpcs`."""

import asyncio
import json
import logging
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import grpc
import pytest
from a2a.types import a2a_pb2 as new
from google.protobuf.empty_pb2 import Empty
from google.protobuf.struct_pb2 import Value
from tests.unit.inbound.a2a.bindings.grpc.calling import (
    NEW,
    OLD,
    Metadata,
    answering,
    calling,
    details_of,
    kinds,
    refusal,
    saying,
)
from tests.unit.inbound.a2a.edges import call, message_10

from llamon_agent.domain.errors import BackendError, TaskNotFound
from llamon_agent.domain.events import Complete, Delta
from llamon_agent.domain.message import Data, Raw
from llamon_agent.inbound.a2a.bindings.grpc import binding
from llamon_agent.inbound.a2a.bindings.grpc.binding import read_metadata, read_peer
from llamon_agent.inbound.a2a.bindings.grpc.services import SERVICES
from llamon_agent.inbound.a2a.bindings.jsonrpc.binding import answer_call
from llamon_agent.inbound.a2a.bindings.streaming import OneEventStream, SentEvent
from llamon_agent.inbound.a2a.endpoint import AgentPolicy, RequestHead
from llamon_agent.inbound.a2a.faults import FaultReply, fault_reply
from llamon_agent.inbound.a2a.media_types import Modes
from llamon_agent.testing.scripted import Gate, Step
from llamon_agent.wire.v10.codec import V10

ANSWER: list[Step] = [Delta(text="Hel"), Delta(text="lo"), Complete()]
URI = "https://example.com/ext"
FILES = Modes(takes=("*/*",), gives=("*/*",))
REQUEST: bytes = saying().SerializeToString()


def raw_answer(channel: grpc.aio.Channel, request: bytes = REQUEST, **more: Any) -> Any:
    """A call to SendMessage whose messages are bytes."""
    ask: Any = channel.unary_unary(NEW + "SendMessage")
    return ask(request, **more)


def raw_stream(channel: grpc.aio.Channel, request: bytes = REQUEST, **more: Any) -> Any:
    """A call to SendStreamingMessage whose messages are bytes."""
    follow: Any = channel.unary_stream(NEW + "SendStreamingMessage")
    return follow(request, **more)


class Held(OneEventStream):
    """A stream that says what it is given, then nothing, until it is closed."""

    def __init__(self, *said: Sequence[SentEvent] | FaultReply) -> None:
        self.extensions = ()
        self.said = list(said)
        self.closed = asyncio.Event()

    async def __anext__(self) -> Sequence[SentEvent] | FaultReply:
        if not self.said:
            await asyncio.Event().wait()
        return self.said.pop(0)

    def close(self) -> None:
        self.closed.set()


# What is carried.


async def test_files_go_in_and_out_byte_for_byte() -> None:
    content = bytes(range(256)) * 3
    async with calling(ANSWER, ANSWER, modes=FILES) as it:
        request = saying()
        request.message.parts.add(raw=content, filename="a.bin", media_type="application/octet-stream")
        task = (await it.ask(NEW + "SendMessage", request, new.SendMessageResponse)).task
        [turn] = it.edge.agent.turns
        assert [part.data for part in turn.message.parts if isinstance(part, Raw)] == [content]
        assert task.history[0].parts[1] == request.message.parts[1]


async def test_a_number_is_the_same_on_every_way_in() -> None:
    value = Value()
    value.struct_value.update({"count": 42, "share": 0.5, "big": 2**53})
    async with calling(ANSWER, ANSWER) as it:
        request = saying()
        request.message.parts.add(data=value)
        await it.ask(NEW + "SendMessage", request, new.SendMessageResponse)
        wire = message_10()
        wire["message"]["parts"].append({"data": {"count": 42, "share": 0.5, "big": 2**53}})
        await answer_call(it.edge.endpoint, call("SendMessage", wire), RequestHead())
        by_grpc, by_rpc = (
            [part for part in turn.message.parts if isinstance(part, Data)] for turn in it.edge.agent.turns
        )
    shown = [json.dumps([part.data for part in parts], sort_keys=True) for parts in (by_grpc, by_rpc)]
    assert shown == ['[{"big": 9007199254740992, "count": 42, "share": 0.5}]'] * 2


async def test_an_answer_that_grpc_cannot_carry_says_so(caplog: pytest.LogCaptureFixture) -> None:
    deep: Any = 1
    for _ in range(50):
        deep = {"a": deep}
    async with calling(ANSWER) as it:
        wire = message_10(metadata={"deep": deep})
        await answer_call(it.edge.endpoint, call("SendMessage", wire), RequestHead())
        request = new.GetTaskRequest(id=await it.edge.only_task())
        error = await refusal(it.ask(NEW + "GetTask", request, new.Task))
    assert error.code() is grpc.StatusCode.FAILED_PRECONDITION
    assert "cannot carry" in str(error.details())
    assert "could not be sent" in caplog.text


async def test_the_events_after_the_last_one_that_was_read_are_sent() -> None:
    gate = Gate()
    async with calling([Delta(text="Hel"), gate, Complete()]) as it:
        request = new.SubscribeToTaskRequest(id=await it.begin())
        await gate.reached()
        metadata = (("last-event-id", "1"),)
        first = await anext(aiter(it.follow(NEW + "SubscribeToTask", request, new.StreamResponse, metadata)))
    assert kinds([first]) == ["artifact_update"]


# The version.


@pytest.mark.parametrize(
    ("method", "streams"),
    [(f"/{service.name}/{name}", rpc.streams) for service in SERVICES for name, rpc in service.rpcs.items()],
)
@pytest.mark.requirement("1.0/10.2-metadata")
@pytest.mark.requirement("1.0/3.6.2-unsupported-version")
async def test_an_unknown_version_is_refused_by_every_rpc(method: str, streams: bool) -> None:
    async with calling() as it:
        metadata = (("a2a-version", "99.0"),)
        asking = (
            it.follow(method, Empty(), Empty, metadata).read() if streams else it.ask(method, Empty(), Empty, metadata)
        )
        error = await refusal(asking)
    assert error.code() is grpc.StatusCode.FAILED_PRECONDITION
    assert details_of(error)[0].reason == "VERSION_NOT_SUPPORTED"


@pytest.mark.parametrize(
    ("service", "version", "is_agreed"),
    [
        (NEW, "1.0", True),
        (NEW, "1.0.1", True),
        (NEW, "", True),
        (NEW, "0.3", False),
        (OLD, "0.3", True),
        (OLD, "0.2", True),
        (OLD, "1.0", False),
    ],
)
async def test_a_service_takes_its_own_version_only(service: str, version: str, is_agreed: bool) -> None:
    async with calling() as it:
        error = await refusal(it.ask(service + "GetTask", Empty(), Empty, (("a2a-version", version),)))
    assert (details_of(error)[0].reason == "INVALID_PARAMS") is is_agreed


# Who calls, and what it supports.


@pytest.mark.parametrize("metadata", [(), (("authorization", "Bearer no"),)])
@pytest.mark.requirement("1.0/7.4-every-request")
@pytest.mark.requirement("1.0/3.3.2-unauthenticated")
async def test_a_caller_without_a_token_is_refused_before_the_message_is_read(metadata: Metadata) -> None:
    async with calling(tokens={"ann": "s3cret"}) as it:
        answer = await refusal(raw_answer(it.channel, b"\xff", metadata=metadata))
        stream = await refusal(raw_stream(it.channel, b"\xff", metadata=metadata).read())
    for error in (answer, stream):
        assert error.code() is grpc.StatusCode.UNAUTHENTICATED
        assert details_of(error)[0].reason == "UNAUTHENTICATED"


async def test_a_refusal_is_logged_with_the_rpc_and_the_callers_address(caplog: pytest.LogCaptureFixture) -> None:
    async with calling(tokens={"ann": "s3cret"}) as it:
        await refusal(raw_answer(it.channel, b"", metadata=(("authorization", "Bearer no"),)))
    [line] = [record.getMessage() for record in caplog.records if "authentication failed" in record.getMessage()]
    assert line.endswith("(POST '/SendMessage' from 127.0.0.1)")
    assert "with credentials" in line


@pytest.mark.parametrize(
    ("peer", "client"),
    [
        ("ipv4:192.0.2.7:4711", ("192.0.2.7", 4711)),
        ("ipv6:[2001:db8::1]:4711", ("2001:db8::1", 4711)),
        ("ipv6:%5B2001:db8::1%5D:4711", ("2001:db8::1", 4711)),
        ("unix:/run/edge.sock", None),
        ("unix:", None),
        ("ipv4:192.0.2.7", None),
        ("", None),
    ],
)
def test_grpcs_name_of_a_peer_is_read_as_an_address(peer: str, client: tuple[str, int] | None) -> None:
    assert read_peer(peer) == client


async def test_a_task_belongs_to_its_callers_token() -> None:
    async with calling(ANSWER, tokens={"ann": "a", "bob": "b"}) as it:
        ann, bob = ((("authorization", f"Bearer {token}"),) for token in "ab")
        task = (await it.ask(NEW + "SendMessage", saying(), new.SendMessageResponse, ann)).task
        request = new.GetTaskRequest(id=task.id)
        assert (await it.ask(NEW + "GetTask", request, new.Task, ann)).id == task.id
        error = await refusal(it.ask(NEW + "GetTask", request, new.Task, bob))
    assert error.code() is grpc.StatusCode.NOT_FOUND


@pytest.mark.parametrize("key", ["a2a-extensions", "x-a2a-extensions"])
@pytest.mark.requirement("1.0/10.2-metadata")
async def test_activated_extensions_are_named_in_the_callers_spelling(key: str) -> None:
    metadata = ((key, f"https://example.com/other, {URI}"), (key, "https://example.com/third"))
    async with calling(ANSWER, ANSWER, policy=AgentPolicy(extensions={URI: True})) as it:
        stream = it.follow(NEW + "SendStreamingMessage", saying(), new.StreamResponse, metadata)
        answer = raw_answer(it.channel, saying().SerializeToString(), metadata=metadata)
        told = [dict(await one.initial_metadata()).get(key) for one in (stream, answer)]
        error = await refusal(it.ask(NEW + "SendMessage", saying(), new.SendMessageResponse))
    assert told == [URI, URI]
    assert details_of(error)[0].reason == "EXTENSION_SUPPORT_REQUIRED"


def test_metadata_are_the_bytes_that_came() -> None:
    """Clients of grpcio cannot send such values, others can: grpcio hands on as text what is UTF-8."""
    metadata = (("authorization", "Bearer 열쇠"), ("trace-bin", b"\xff"), ("a", "\xff"), ("a", "b"))
    context: Any = SimpleNamespace(invocation_metadata=lambda: metadata)
    assert read_metadata(context) == {
        b"authorization": "Bearer 열쇠".encode(),
        b"trace-bin": b"\xff",
        b"a": "\xff, b".encode(),
    }


async def test_metadata_that_is_bytes_harms_nothing() -> None:
    async with calling(ANSWER) as it:
        answer = await raw_answer(it.channel, saying().SerializeToString(), metadata=(("trace-bin", b"\xff\x00"),))
    assert new.SendMessageResponse.FromString(answer).task.id


async def test_no_extension_is_named_where_none_was_activated() -> None:
    async with calling(ANSWER) as it:
        stream = it.follow(NEW + "SendStreamingMessage", saying(), new.StreamResponse, (("a2a-extensions", URI),))
        assert "a2a-extensions" not in dict(await stream.initial_metadata())


# What is refused.


async def test_an_error_names_its_reason_and_the_field() -> None:
    async with calling() as it:
        request = new.SendMessageRequest(message=new.Message(role=new.ROLE_USER, parts=[new.Part(text="hi")]))
        error = await refusal(it.ask(NEW + "SendMessage", request, new.SendMessageResponse))
    info, bad = details_of(error)
    assert (error.code(), info.reason) == (grpc.StatusCode.INVALID_ARGUMENT, "INVALID_PARAMS")
    assert [violation.field for violation in bad.field_violations] == ["message.messageId"]


async def test_an_error_before_the_first_event_is_the_streams_status() -> None:
    async with calling() as it:
        following = it.follow(NEW + "SubscribeToTask", new.SubscribeToTaskRequest(id="nope"), new.StreamResponse)
        error = await refusal(following.read())
    assert (error.code(), details_of(error)[0].reason) == (grpc.StatusCode.NOT_FOUND, "TASK_NOT_FOUND")


async def test_the_configured_table_decides_the_code() -> None:
    async with calling(errors="1.0.0") as it:
        request = new.ListTaskPushNotificationConfigsRequest(task_id="t")
        error = await refusal(it.ask(NEW + "ListTaskPushNotificationConfigs", request, Empty))
    assert error.code() is grpc.StatusCode.UNIMPLEMENTED


async def test_bytes_that_are_no_message_are_an_invalid_argument() -> None:
    async with calling() as it:
        error = await refusal(raw_answer(it.channel, b"\xff"))
    assert (error.code(), details_of(error)[0].reason) == (grpc.StatusCode.INVALID_ARGUMENT, "INVALID_REQUEST")


async def test_a_message_that_is_too_large_is_refused() -> None:
    async with calling() as it:
        error = await refusal(it.ask(NEW + "GetTask", new.GetTaskRequest(id="x" * (1 << 20)), new.Task))
    assert error.code() is grpc.StatusCode.RESOURCE_EXHAUSTED


async def test_an_unknown_rpc_is_unimplemented() -> None:
    async with calling() as it:
        error = await refusal(it.ask(NEW + "NoSuchRpc", Empty(), Empty))
    assert error.code() is grpc.StatusCode.UNIMPLEMENTED


# Hanging up.


async def test_a_deadline_on_a_blocking_send_leaves_the_run_alone() -> None:
    gate = Gate()
    async with calling([gate, *ANSWER]) as it:
        error = await refusal(it.ask(NEW + "SendMessage", saying(), new.SendMessageResponse, deadline_s=1))
        assert error.code() is grpc.StatusCode.DEADLINE_EXCEEDED
        await gate.reached()
        request = new.SubscribeToTaskRequest(id=await it.edge.only_task())
        following = aiter(it.follow(NEW + "SubscribeToTask", request, new.StreamResponse))
        await anext(following)
        gate.open()
        last = [event async for event in following][-1]
    assert last.status_update.status.state == new.TASK_STATE_COMPLETED
    assert it.edge.agent.cancelled == []


async def test_a_caller_that_leaves_a_stream_does_not_end_the_run() -> None:
    gate = Gate()
    async with calling([gate, *ANSWER]) as it:
        left = it.follow(NEW + "SendStreamingMessage", saying(), new.StreamResponse)
        task_id = (await anext(aiter(left))).task.id
        left.cancel()
        request = new.SubscribeToTaskRequest(id=task_id)
        following = aiter(it.follow(NEW + "SubscribeToTask", request, new.StreamResponse))
        await anext(following)
        gate.open()
        last = [event async for event in following][-1]
    assert last.status_update.status.state == new.TASK_STATE_COMPLETED
    assert it.edge.agent.cancelled == []


async def test_a_caller_that_leaves_a_stream_ends_its_subscription() -> None:
    stream = Held([SentEvent(1, b'{"task":{"id":"t"}}')])
    async with answering(stream) as (endpoint, channel):
        endpoint.gate.open()
        left = raw_stream(channel)
        await left.read()
        left.cancel()
        await stream.closed.wait()


async def test_a_stream_whose_caller_left_before_it_began_is_closed() -> None:
    stream = Held()
    async with answering(stream) as (endpoint, channel):
        left = raw_stream(channel)
        await endpoint.gate.reached()
        left.cancel()
        assert not stream.closed.is_set()
        endpoint.gate.open()
        await stream.closed.wait()


async def test_a_reader_that_hangs_up_in_the_middle_of_an_event_is_no_error(caplog: pytest.LogCaptureFixture) -> None:
    body = json.dumps({"message": {"messageId": "m" * 100_000}}).encode()
    stream = Held(*[[SentEvent(None, body)]] * 1000)
    async with answering(stream) as (endpoint, channel):
        endpoint.gate.open()
        with caplog.at_level(logging.INFO):
            left = raw_stream(channel)
            await left.read()
            left.cancel()
            await stream.closed.wait()
    assert len(stream.said) > 500, "nobody waited for the reader"
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


async def test_a_reader_that_takes_nothing_in_time_loses_the_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(binding, "WRITE_WITHIN_S", 0.1)
    body = json.dumps({"message": {"messageId": "m" * 1_000_000}}).encode()
    stream = Held(*[[SentEvent(None, body)]] * 1000)
    async with answering(stream) as (endpoint, channel):
        endpoint.gate.open()
        idle = raw_stream(channel)
        await stream.closed.wait()
        assert len(stream.said) > 900, "it was sent although it was not read"

        async def read_all() -> None:
            while await idle.read() is not grpc.aio.EOF:
                pass

        assert (await refusal(read_all())).code() is grpc.StatusCode.DEADLINE_EXCEEDED


@pytest.mark.parametrize(
    ("error", "code"),
    [(BackendError(), "UNAVAILABLE"), (TaskNotFound(), "NOT_FOUND"), (RuntimeError("secret"), "INTERNAL")],
)
async def test_a_failure_in_the_middle_is_the_streams_status(error: Exception, code: str) -> None:
    stream = Held([SentEvent(1, b'{"task":{"id":"t"}}')], fault_reply(error, V10))
    async with answering(stream) as (endpoint, channel):
        endpoint.gate.open()
        following = raw_stream(channel)
        await following.read()
        told = await refusal(following.read())
        await stream.closed.wait()
    assert told.code().name == code
    assert "secret" not in str(told)


async def test_calls_whose_callers_left_end_with_the_server() -> None:
    async with answering(Held()) as (endpoint, channel):
        left = raw_answer(channel)
        await endpoint.gate.reached()
        left.cancel()
