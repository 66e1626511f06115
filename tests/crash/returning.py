"""A host that comes back with a Last-Event-ID, as browsers do and the official client cannot.

It reads server-sent events by hand. Its view is one over all its connections. So an event that is told twice, left out,
or comes from before a crash shows in the text that it ends with.
"""

import uuid
from collections.abc import AsyncIterator
from typing import Any, NamedTuple

import httpx
import msgspec
from a2a.types.a2a_pb2 import StreamResponse
from google.protobuf.json_format import MessageToDict, ParseDict
from tests.crash.hosts import Host, Sent
from tests.crash.view import View


class Event(NamedTuple):
    """An event of a stream, and its number."""

    seq: int
    told: StreamResponse


class NoStream(Exception):
    """The call was refused: the task has ended, or the edge is stopping."""


async def stream_returning(host: Host, sent: Sent, *, leave_after: int) -> None:
    """Send it, hang up after so many events, and follow its task by Last-Event-ID from then on, until it is settled."""
    view, seq, left = View(), 0, False
    while not view.is_settled:
        await host.edge.up.wait()
        troubles = host.edge.troubles
        try:
            async for event in _events(host, sent, seq if sent.task_id else None):
                _check(event, seq)
                seq = event.seq
                view.take(event.told)
                if not event.told.HasField("artifact_update"):
                    sent.tell(view.task)
                if not left and seq >= leave_after:
                    left = True
                    break
        except NoStream:
            if sent.task_id:
                await host.get(sent)
                if sent.is_settled:
                    return None
            elif not await host.was_trouble(troubles):
                raise
        except httpx.HTTPError:
            if not await host.was_trouble(troubles):
                raise
        if not sent.task_id:
            await host.find(sent)
            return await host.follow(sent)
    return None


def _check(event: Event, seq: int) -> None:
    """A snapshot may be older than what was told, which is recorded only now and then; and a reader who is given the
    task as a whole is given all of it under one number.
    """
    if event.seq < seq and not event.told.HasField("task"):
        raise AssertionError(f"event {event.seq} came after event {seq}")


async def _events(host: Host, sent: Sent, after: int | None) -> AsyncIterator[Event]:
    """The events of a new message; or of its task, after one of them."""
    method = "SendStreamingMessage"
    params: dict[str, Any] = {"message": MessageToDict(sent.message())}
    headers = {"Accept": "text/event-stream", "A2A-Version": "1.0"}
    if after is not None:
        method, params = "SubscribeToTask", {"id": sent.task_id}
        headers["Last-Event-ID"] = str(after)
    body: dict[str, Any] = {"jsonrpc": "2.0", "id": uuid.uuid4().hex, "method": method, "params": params}
    url = f"{host.edge.url}/a2a/{sent.agent}"
    async with host.http.stream("POST", url, json=body, headers=headers) as answer:
        if "text/event-stream" not in answer.headers["content-type"]:
            raise NoStream((await answer.aread()).decode())
        seq = 0
        async for line in answer.aiter_lines():
            name, _, value = line.partition(": ")
            if name == "id":
                seq = int(value)
            elif name == "data":
                yield Event(seq, ParseDict(msgspec.json.decode(value)["result"], StreamResponse()))
