"""A remote A2A agent, as a Python host calls it.

Theory. A call follows a stream to where the remote task is settled: it has an answer, it asks, or it has failed. A
stream may break while the task goes on, so a broken one is taken up once more by the task's id; the deltas go on where
they were, as only what is new is told. Every call has a connection of its own (see `connection`).

History is sent by the contract (docs/history.md): the host may pass its past turns with every message, and they go out
with every one. A thread that is not empty ignores them, and an agent that has forgotten its own needs them again.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager
from typing import Any, cast

import msgspec
from a2a.client import Client
from a2a.types import a2a_pb2 as pb

from llamon_agent.domain.errors import ConfigError
from llamon_agent.domain.message import Part, Text
from llamon_agent.domain.task import Artifact
from llamon_agent.outbound.address import Address, dialect_of
from llamon_agent.outbound.connection import client_of, fetch_card, open_http, remote_errors
from llamon_agent.outbound.errors import NobodyThere, NotA2A, Refused, TaskFailed, Unreached
from llamon_agent.outbound.hearing import Hearing
from llamon_agent.outbound.history import Dialect, PastTurn, history_out
from llamon_agent.outbound.replies import Answer, RemoteEvent, answer_parts
from llamon_agent.outbound.reply_bounds import MAX_REPLY_BYTES
from llamon_agent.outbound.wire import request_out


class _Call(msgspec.Struct, frozen=True, kw_only=True):
    """What is sent, and what the task had before."""

    parts: Sequence[Part]
    context_id: str | None
    task_id: str | None
    history: Sequence[PastTurn] = ()
    before: tuple[Artifact, ...] = ()


class RemoteAgent:
    """A remote agent at a URL. Holds no connection and may be shared by all, also by several event loops.

    Shape: url is what stands in front of the agent's `/.well-known/`, or its card's URL.
    Units: timeout_s is how many seconds a call may take until its task is settled; max_reply_bytes is how large an
           event may be, and an answer that is no stream.
    Raises: ConfigError.
    """

    def __init__(
        self,
        url: str,
        *,
        token: str | None = None,
        timeout_s: float = 600.0,
        max_reply_bytes: int = MAX_REPLY_BYTES,
    ) -> None:
        if token is not None and not (token.isascii() and token.isprintable()):
            raise ConfigError("The token for the remote agent holds characters that no HTTP header can carry.")
        self._address = Address(url)
        self._token = token
        self._timeout_s = timeout_s
        self._max_reply_bytes = max_reply_bytes
        self._card: pb.AgentCard | None = None

    async def ask(
        self,
        message: str | Sequence[Part],
        *,
        context_id: str | None = None,
        task_id: str | None = None,
        history: Sequence[PastTurn] = (),
    ) -> Answer:
        """Send a message and wait for what comes of it: an answer, or a question. Raises: RemoteError."""
        return await _last(self.stream(message, context_id=context_id, task_id=task_id, history=history))

    def stream(
        self,
        message: str | Sequence[Part],
        *,
        context_id: str | None = None,
        task_id: str | None = None,
        history: Sequence[PastTurn] = (),
    ) -> AsyncGenerator[RemoteEvent]:
        """As `ask`, event by event.

        Shape:  Begun where the agent makes a task, deltas and progress, and the Answer as the last one.
        Raises: RemoteError; a task that ended without an answer is TaskFailed. Closing the stream leaves the remote
                task as it is: `cancel` stops it.
        """
        parts = (Text.of(message),) if isinstance(message, str) else message
        return self._follow(_Call(parts=parts, context_id=context_id, task_id=task_id, history=history))

    async def answer(self, asked: Answer, value: Any) -> Answer:
        """Answer what a task asks, with text or data; see `answer_parts`. Raises: RemoteError."""
        return await _last(self.stream_answer(asked, value))

    def stream_answer(self, asked: Answer, value: Any) -> AsyncGenerator[RemoteEvent]:
        """As `answer`, event by event."""
        parts = answer_parts(asked, value)
        return self._follow(
            _Call(parts=parts, context_id=asked.context_id, task_id=asked.task_id, before=asked.artifacts)
        )

    async def cancel(self, task_id: str) -> None:
        """Stop a task's work. Raises: RemoteError; TaskEnded if there is nothing to stop."""
        async with self._connected() as (client, _):
            with remote_errors():
                await client.cancel_task(pb.CancelTaskRequest(id=task_id))

    async def _follow(self, call: _Call) -> AsyncGenerator[RemoteEvent]:
        hearing = Hearing(call.before)
        deadline = asyncio.get_running_loop().time() + self._timeout_s
        async with self._connected() as (client, dialect):
            request = _request(call, dialect)
            async with aclosing(_heard(client, request, hearing, deadline)) as events:
                async for event in events:
                    yield event
        with remote_errors():
            answer = hearing.answer()
        if answer.failed:
            raise TaskFailed(answer)
        if answer.is_unreadable:
            raise NotA2A("The remote agent's answer cannot be read.")
        yield answer

    @asynccontextmanager
    async def _connected(self) -> AsyncIterator[tuple[Client, Dialect]]:
        """A connection of its own. The card is kept, and fetched anew once the agent was not what it says."""
        opening = open_http(
            self._address, self._token, timeout_s=self._timeout_s, max_reply_bytes=self._max_reply_bytes
        )
        async with opening as http:
            card = self._card = self._card or await fetch_card(http, self._address)
            try:
                yield client_of(http, card), dialect_of(card.supported_interfaces[0])
            except (NotA2A, Unreached):
                self._card = None
                raise


def _request(call: _Call, dialect: Dialect) -> pb.SendMessageRequest:
    turns = history_out(call.history, dialect)
    metadata = {"history": turns} if turns else None
    return request_out(call.parts, context_id=call.context_id, task_id=call.task_id, metadata=metadata)


async def _heard(
    client: Client, request: pb.SendMessageRequest, hearing: Hearing, deadline: float
) -> AsyncGenerator[RemoteEvent]:
    """Send a message and hear what comes, until the task is settled; a stream that breaks is taken up once more."""
    try:
        async with aclosing(_events(client.send_message(request), hearing, deadline)) as events:
            async for event in events:
                yield event
    except Unreached:
        if hearing.task_id is None:
            raise
    if hearing.is_settled:
        return
    if hearing.task_id is None:
        raise NotA2A
    try:
        async with aclosing(_followed(client, hearing.task_id, hearing, deadline)) as events:
            async for event in events:
                yield event
    except NobodyThere as exc:  # by now the message has been sent
        raise Unreached() from exc
    if not hearing.is_settled:
        raise Unreached("The connection to the remote agent was lost while its task was going on.")


async def _followed(client: Client, task_id: str, hearing: Hearing, deadline: float) -> AsyncGenerator[RemoteEvent]:
    """What more there is of a task whose stream was lost."""
    try:
        again = client.subscribe(pb.SubscribeToTaskRequest(id=task_id))
        async with aclosing(_events(again, hearing, deadline)) as events:
            async for event in events:
                yield event
    except Refused:  # it has ended meanwhile, or cannot be followed
        with remote_errors():
            news = list(hearing.see(await client.get_task(pb.GetTaskRequest(id=task_id))))
        for event in news:
            yield event


async def _events(
    stream: AsyncIterator[pb.StreamResponse], hearing: Hearing, deadline: float
) -> AsyncGenerator[RemoteEvent]:
    """What is new in a stream, until it ends or the task is settled. Units: deadline is the loop's time in seconds."""
    async with aclosing(cast("AsyncGenerator[pb.StreamResponse]", stream)) as responses:
        while not hearing.is_settled:
            with remote_errors():
                async with asyncio.timeout_at(deadline):
                    response = await anext(responses, None)
                news = [] if response is None else list(hearing.hear(response))
            if response is None:
                return
            for event in news:
                yield event


async def _last(stream: AsyncGenerator[RemoteEvent]) -> Answer:
    async with aclosing(stream) as events:
        async for event in events:
            if isinstance(event, Answer):
                return event
    raise NotA2A
