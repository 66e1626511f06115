"""A remote A2A agent, as a Python host calls it.

Theory. A call follows a stream to where the remote task is settled: it has an answer, it asks, or it has failed. A
stream may break while the task goes on, so a broken one is taken up once more by the task's id; the deltas go on where
they were, as only what is new is passed on. Every call has a connection of its own (see `rpc`).

History is sent by the contract (docs/history.md): the host may pass its past turns with every message, and they go out
with every one. A thread that is not empty ignores them, and an agent that has forgotten its own needs them again.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from typing import Any

import msgspec

from llamon_agent.client.agent_url import AgentUrl
from llamon_agent.client.answers import Answer, RemoteEvent, answer_parts
from llamon_agent.client.card import Card, decide_interface, read_card
from llamon_agent.client.errors import NobodyThere, NotA2A, Refused, TaskFailed, TimedOut, Unreached
from llamon_agent.client.past_turns import PastTurn, history_out
from llamon_agent.client.reply_bounds import MAX_REPLY_BYTES
from llamon_agent.client.request_headers import read_request_headers
from llamon_agent.client.rpc import Connection, Reply, check_token, find_card, new_message, open_http
from llamon_agent.client.task_view import AnswerText, TaskView
from llamon_agent.domain.caller import Private
from llamon_agent.domain.message import Part, Text
from llamon_agent.domain.task import Artifact

_NONE: Mapping[str, str] = {}


class _Call(msgspec.Struct, frozen=True, kw_only=True):
    """What is sent, and what the task had before."""

    parts: Sequence[Part]
    context_id: str | None
    task_id: str | None
    headers: Private[str]
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
        check_token(token)
        self._url = AgentUrl(url)
        self._token = token
        self._timeout_s = timeout_s
        self._max_reply_bytes = max_reply_bytes
        self._card: Card | None = None

    async def ask(
        self,
        message: str | Sequence[Part],
        *,
        context_id: str | None = None,
        task_id: str | None = None,
        history: Sequence[PastTurn] = (),
        headers: Mapping[str, str] = _NONE,
    ) -> Answer:
        """Send a message and wait for what comes of it: an answer, or a question. Raises: RemoteError."""
        return await _last(
            self.stream(message, context_id=context_id, task_id=task_id, history=history, headers=headers)
        )

    def stream(
        self,
        message: str | Sequence[Part],
        *,
        context_id: str | None = None,
        task_id: str | None = None,
        history: Sequence[PastTurn] = (),
        headers: Mapping[str, str] = _NONE,
    ) -> AsyncGenerator[RemoteEvent]:
        """As `ask`, event by event.

        Shape:  Begun where the agent makes a task, deltas and progress, and the Answer as the last one. headers are
                added to the requests of this call; see `request_headers`.
        Raises: RemoteError; a task that ended without an answer is TaskFailed. Closing the stream leaves the remote
                task as it is: `cancel` stops it.
        """
        parts = (Text.of(message),) if isinstance(message, str) else message
        return self._follow(
            _Call(parts=parts, context_id=context_id, task_id=task_id, history=history, headers=self._headers(headers))
        )

    async def answer(self, asked: Answer, value: Any, *, headers: Mapping[str, str] = _NONE) -> Answer:
        """Answer what a task asks, with text or data; see `answer_parts`. Raises: RemoteError."""
        return await _last(self.stream_answer(asked, value, headers=headers))

    def stream_answer(
        self, asked: Answer, value: Any, *, headers: Mapping[str, str] = _NONE
    ) -> AsyncGenerator[RemoteEvent]:
        """As `answer`, event by event."""
        return self._follow(
            _Call(
                parts=answer_parts(asked, value),
                context_id=asked.context_id,
                task_id=asked.task_id,
                before=asked.artifacts,
                headers=self._headers(headers),
            )
        )

    async def cancel(self, task_id: str, *, headers: Mapping[str, str] = _NONE) -> None:
        """Stop a task's work. Raises: RemoteError; TaskEnded if there is nothing to stop."""
        added = self._headers(headers)
        try:
            async with asyncio.timeout(self._timeout_s), self._connected(added) as agent:
                await agent.cancel(task_id)
        except TimeoutError as exc:
            raise TimedOut from exc

    def _headers(self, given: Mapping[str, str]) -> Private[str]:
        return read_request_headers(given, has_token=self._token is not None)

    async def _follow(self, call: _Call) -> AsyncGenerator[RemoteEvent]:
        text = AnswerText(call.before)
        view = TaskView(text, call.before)
        deadline = asyncio.get_running_loop().time() + self._timeout_s
        async with (
            self._connected(call.headers) as agent,
            aclosing(_until_settled(agent, call, view, deadline)) as events,
        ):
            async for event in events:
                yield event
        answer = view.answer(str(text))
        if answer.failed:
            raise TaskFailed(answer)
        if answer.is_unreadable:
            raise NotA2A("The remote agent's answer cannot be read.")
        yield answer

    @asynccontextmanager
    async def _connected(self, headers: Private[str]) -> AsyncIterator[Connection]:
        """A connection of its own. The card is kept, and fetched anew once the agent was not what it says.

        It is kept for all callers, so it is fetched without the headers of one.
        """
        async with open_http(
            self._url, self._token, read_s=self._timeout_s, max_reply_bytes=self._max_reply_bytes
        ) as http:
            if self._card is None:
                found = await find_card(http, self._url)
                if found is None:
                    raise NotA2A("There is no agent card at the remote agent's address.")
                self._card = read_card(found.body, self._url.origin)
            card = self._card
            try:
                yield Connection(http, decide_interface(card, self._url), card, headers)
            except (NotA2A, Unreached):
                self._card = None
                raise


async def _until_settled(
    agent: Connection, call: _Call, view: TaskView, deadline: float
) -> AsyncGenerator[RemoteEvent]:
    """Send a message and follow what comes, until the task is settled; a stream that breaks is taken up once more."""
    turns = history_out(call.history, agent.version)
    message = new_message(
        call.parts,
        context_id=call.context_id,
        task_id=call.task_id,
        metadata={"history": turns} if turns else None,
    )
    try:
        async with aclosing(_events(agent.send(message, stream=agent.streams), view, deadline)) as events:
            async for event in events:
                yield event
    except Unreached:
        if view.task_id is None:
            raise
    if view.is_settled:
        return
    if view.task_id is None:
        raise NotA2A
    try:
        async with aclosing(_taken_up(agent, view.task_id, view, deadline)) as events:
            async for event in events:
                yield event
    except NobodyThere as exc:  # by now the message has been sent
        raise Unreached() from exc
    if not view.is_settled:
        raise Unreached("The connection to the remote agent was lost while its task was going on.")


async def _taken_up(agent: Connection, task_id: str, view: TaskView, deadline: float) -> AsyncGenerator[RemoteEvent]:
    """What more there is of a task whose stream was lost."""
    try:
        async with aclosing(_events(agent.subscribe(task_id), view, deadline)) as events:
            async for event in events:
                yield event
    except Refused:  # it has ended meanwhile, or cannot be followed
        for new in view.apply((await agent.get(task_id)).event):
            yield new


async def _events(stream: AsyncGenerator[Reply], view: TaskView, deadline: float) -> AsyncGenerator[RemoteEvent]:
    """What is new in a stream, until it ends or the task is settled. Units: deadline is the loop's time in seconds."""
    async with aclosing(stream) as replies:
        while not view.is_settled:
            try:
                async with asyncio.timeout_at(deadline):
                    reply = await anext(replies, None)
            except TimeoutError as exc:
                raise TimedOut from exc
            if reply is None:
                return
            for event in view.apply(reply.event):
                yield event


async def _last(stream: AsyncGenerator[RemoteEvent]) -> Answer:
    async with aclosing(stream) as events:
        async for event in events:
            if isinstance(event, Answer):
                return event
    raise NotA2A
