"""Calls an agent's function, whatever kind it is, and turns what it returns or yields into run events.

Async functions run on the event loop. All others run in a thread of their own, with the caller's context variables. The
loop's pool will not do: a few calls that hang would block all others, and Python waits for it at exit.

Rules of the thread:
- It and the loop take turns: the function goes on only when its last chunk is used. So an agent that asks a question
  does not go on before it is answered.
- A thread cannot be stopped. A call that is cancelled ends when its function comes to its next chunk or to its end, and
  the function does not go on after that. A second cancel does not wait for the thread, and its output is ignored.

A chunk or a result may be:
- text: a string; an object with a `content` (LangChain messages), which is text or content blocks, of which only those
  of text count, so that reasoning stays inside; a mapping with `content`, `output`, or `messages`, of which the last
  one counts;
- an event: a run event of the domain, or a mapping with the one key `delta`, `progress`, `artifact`, `interrupt`,
  `auth`, `reply` or `reject`; `adapters/artifacts.py` has the form of artifacts and of replies that are not text;
- None, which is ignored; any other value is data, and becomes an artifact.
"""

import asyncio
import inspect
import threading
from collections.abc import AsyncGenerator, AsyncIterable, Awaitable, Callable, Generator, Iterator, Mapping
from contextlib import aclosing
from contextvars import copy_context
from typing import Any

import msgspec

from llamon_agent.adapters.artifacts import read_artifact, read_reply
from llamon_agent.domain.errors import AgentError
from llamon_agent.domain.events import (
    AgentEvent,
    ArtifactMade,
    Complete,
    Delta,
    Interrupt,
    Progress,
    Rejected,
    Reply,
    Started,
)
from llamon_agent.domain.message import Data, Text, sound
from llamon_agent.domain.plain import checked, json_of
from llamon_agent.domain.task import Artifact
from llamon_agent.runs.ports.run import NewId


class Chunk(msgspec.Struct, frozen=True):
    """One of the values that an agent yields."""

    value: Any


class Result(msgspec.Struct, frozen=True):
    """The one value that an agent returns."""

    value: Any


Output = Chunk | Result


def event_of(output: Output, *, new_id: NewId) -> AgentEvent | None:
    """The event of an output; None if it has none.

    Shape:  new_id names an artifact or a question; most outputs need no id.
    Raises: AgentError: the value is not JSON and has no other known form, or an artifact is not valid.
    """
    value = output.value
    if value is None or isinstance(value, Started):  # we have said that the turn has started
        return None
    if isinstance(value, AgentEvent):
        return _checked_event(value)
    if (event := _event_of_mapping(value, new_id)) is not None:
        return event
    if (text := _text_of(value)) is not None:
        return _text_event(text, whole=isinstance(output, Result))
    return ArtifactMade(artifact=Artifact(artifact_id=new_id(), parts=(Data(data=json_of(value)),)))


def _checked_event(event: AgentEvent) -> AgentEvent:
    """An event that the agent's own code has made. Its texts are cleaned where they become the task's.

    Raises: AgentError: it holds a value that cannot be sent.
    """
    match event:
        case Delta(text=str()) | Progress(text=str()) | Complete(text=str() | None) | Rejected(public=str()):
            return event
        case ArtifactMade():
            return checked(event, "an artifact")
        case Reply():
            return checked(event, "a reply")
        case Interrupt(text=str(text)):
            return checked(msgspec.structs.replace(event, text=sound(text)), "a question")
    raise AgentError("The agent made an event without a text.")


def _text_event(text: str, *, whole: bool) -> AgentEvent | None:
    if whole:
        return Complete(text=text)
    return Delta(text=text) if text else None  # models stream empty chunks around tool calls and reasoning


def _event_of_mapping(value: object, new_id: NewId) -> AgentEvent | None:
    match value:
        case {"delta": str(text), **rest} if not rest:
            return Delta(text=text)
        case {"progress": str(text), **rest} if not rest:
            return Progress(text=text)
        case {"interrupt": asked, **rest} if not rest:
            return Interrupt.of(json_of(asked), new_id())
        case {"auth": asked, **rest} if not rest:
            return Interrupt.of(json_of(asked), new_id(), auth=True)
        case {"artifact": made, **rest} if not rest:
            return read_artifact(made, new_id=new_id())
        case {"reply": reply, **rest} if not rest:
            return _reply_of(reply)
        case {"reject": str(reason), **rest} if not rest:
            return Rejected(public=reason)
    return None


def _reply_of(value: object) -> Reply:
    text = _text_of(value)
    return read_reply(value) if text is None else Reply(parts=(Text.of(sound(text)),))


def _text_of(value: object) -> str | None:
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        return _text_of_mapping(value)
    return _text_of_content(getattr(value, "content", None))


def _text_of_mapping(value: Mapping[object, object]) -> str | None:
    match value:
        case {"messages": [*_, last]}:
            return _text_of(last)
        case {"output": inner}:
            return _text_of(inner)
        case {"content": content}:
            return _text_of_content(content)
    return None


def _text_of_content(content: object) -> str | None:
    if isinstance(content, str):
        return content
    if isinstance(content, list | tuple) and all(map(_is_block, content)):
        return "".join(map(_text_of_block, content))
    return None


def _is_block(block: object) -> bool:
    return isinstance(block, str) or (isinstance(block, Mapping) and "type" in block)


def _text_of_block(block: object) -> str:
    match block:
        case str(text) | {"type": "text", "text": str(text)}:
            return text
    return ""


def runs_on_loop(function: Callable[..., object]) -> bool:
    """Whether a call of the function never blocks, because its work is async."""
    candidates = (function, type(function).__call__)  # the latter for callable objects
    return any(inspect.iscoroutinefunction(each) or inspect.isasyncgenfunction(each) for each in candidates)


def outputs_of(call: Callable[[], object], *, on_loop: bool) -> AsyncGenerator[Output]:
    """Make a call and give its chunks or its one result. Closing stops the work, as far as it can be stopped."""
    return _unfold(call()) if on_loop else _in_thread(call)


async def _unfold(made: Any) -> AsyncGenerator[Output]:
    if isinstance(made, Awaitable):
        made = await made
    if isinstance(made, AsyncIterable):
        chunks = aiter(made)
        try:
            async for value in chunks:
                yield Chunk(value)
        finally:
            if isinstance(chunks, AsyncGenerator):
                await chunks.aclose()
    elif isinstance(made, Iterator):
        async with aclosing(_in_thread(lambda: made)) as outputs:
            async for output in outputs:
                yield output
    else:
        yield Result(made)


async def _in_thread(call: Callable[[], object]) -> AsyncGenerator[Output]:
    thread = _CallingThread(call)
    try:
        while (output := await thread.next_output()) is not None:
            if isinstance(output, Chunk):
                yield output
                continue
            async with aclosing(_unfold(output.value)) as outputs:  # a plain function may return async work
                async for inner in outputs:
                    yield inner
    finally:
        await thread.close()


class _CallingThread:
    """A call that runs in its own thread and hands its outputs over one at a time."""

    def __init__(self, call: Callable[[], object]) -> None:
        self._call = call
        self._loop = asyncio.get_running_loop()
        self._outputs: asyncio.Queue[Output | BaseException | None] = asyncio.Queue()
        self._wanted = threading.Semaphore(0)
        self._closed = threading.Event()
        self._ended = asyncio.Event()
        threading.Thread(target=copy_context().run, args=(self._work,), name="llamon-agent-call", daemon=True).start()

    async def next_output(self) -> Output | None:
        """What the function gives next; None when it is done. Raises what the function raises."""
        self._wanted.release()
        output = await self._outputs.get()
        if isinstance(output, BaseException):
            raise output
        return output

    async def close(self) -> None:
        """Take nothing more, and wait until the thread has ended."""
        self._refuse_more()
        await self._ended.wait()

    def _refuse_more(self) -> None:
        self._closed.set()
        self._wanted.release()

    def _work(self) -> None:
        try:
            self._wanted.acquire()
            if not self._closed.is_set():
                self._hand_over_all(self._call())
            last = None
        except BaseException as exc:  # noqa: BLE001 -- raised again on the loop, by next_output
            last = exc
        self._in_loop(self._end, last)

    def _hand_over_all(self, made: object) -> None:
        if not isinstance(made, Iterator):
            self._in_loop(self._outputs.put_nowait, Result(made))
            return
        try:
            if self._closed.is_set():
                return
            for value in made:
                self._in_loop(self._outputs.put_nowait, Chunk(value))
                self._wanted.acquire()
                if self._closed.is_set():
                    return
        finally:
            if isinstance(made, Generator):
                made.close()

    def _end(self, last: BaseException | None) -> None:
        self._outputs.put_nowait(last)
        self._ended.set()

    def _in_loop(self, function: Callable[[Any], None], argument: Output | BaseException | None) -> None:
        """Call a function on the loop, from the thread."""
        try:
            self._loop.call_soon_threadsafe(function, argument)
        except RuntimeError:  # the loop is closed
            self._refuse_more()
