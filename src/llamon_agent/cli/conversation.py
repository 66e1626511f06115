"""One turn of a conversation: a message out, and what comes back until the turn is over, as a terminal shows it."""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, aclosing

import msgspec

from llamon_agent.cli.screen import Screen
from llamon_agent.client.agent_url import AgentUrl
from llamon_agent.client.answers import Begun
from llamon_agent.client.errors import TimedOut
from llamon_agent.client.rpc import Connection, Reply, connect
from llamon_agent.client.task_view import Growing, TaskView
from llamon_agent.domain.events import Delta, Progress
from llamon_agent.domain.message import Data, Message, Part, Raw, Text, Url, texts
from llamon_agent.domain.task import TaskStatus


def connect_to(url: str, token: str | None) -> AbstractAsyncContextManager[Connection]:
    """A connection to the agent at a URL, which may be its origin, its card's URL or the URL that takes calls.

    Raises: ConfigError, RemoteError.
    """
    return connect(AgentUrl(url, takes_calls=True), token)


class TerminalText:
    """A task's text on a terminal, where nothing can be taken back: each artifact on a line of its own, and a new whole
    that does not start with the old one on a new line.
    """

    def __init__(self) -> None:
        self._shown: dict[str, str] = {}

    @property
    def is_empty(self) -> bool:
        return not any(self._shown.values())

    def grew(self, artifact_id: str, parts: Sequence[Part], artifacts: Mapping[str, Growing]) -> Iterator[Delta]:  # noqa: ARG002
        """A piece of an artifact follows what was shown, whichever it belongs to."""
        return self._whole(artifact_id, self._shown.get(artifact_id, "") + words_of(parts))

    def changed(self, artifacts: Mapping[str, Growing]) -> Iterator[Progress | Delta]:
        """What is new of each artifact, and that one is none any more, as a person has read it."""
        gone = [self._shown.pop(artifact_id) for artifact_id in self._shown.keys() - artifacts.keys()]
        if any(gone):
            yield Progress(text="the agent took back what it had said")
        for artifact_id, made in artifacts.items():
            yield from self._whole(artifact_id, words_of(made.parts))

    def _whole(self, artifact_id: str, whole: str) -> Iterator[Delta]:
        """An artifact is this now."""
        starts = artifact_id not in self._shown and not self.is_empty
        before = self._shown.get(artifact_id, "")
        self._shown[artifact_id] = whole
        if not whole.startswith(before):
            yield Delta(text="\n" + whole)
        elif new := whole.removeprefix(before):
            yield Delta(text=("\n" if starts else "") + new)


def show(screen: Screen, news: Iterable[Begun | Progress | Delta]) -> None:
    """What is new, to a person."""
    for one in news:
        match one:
            case Delta(text=text):
                screen.words(text)
            case Progress(text=text):
                screen.progress(text)


async def follow(
    agent: Connection,
    message: Message,
    on_reply: Callable[[Reply], None],
    *,
    view: TaskView,
    stream: bool,
    blocking: bool = True,
    timeout_s: float,
) -> None:
    """Send a message and pass on every reply, until the last one.

    Shape:  on_reply applies each to the view. A stream is not read on once the task is settled, as an agent may keep it
            open, for what comes after a question for example.
    Raises: RemoteError.
    """
    try:
        async with (
            asyncio.timeout(timeout_s),
            aclosing(agent.send(message, stream=stream, blocking=blocking)) as replies,
        ):
            async for reply in replies:
                on_reply(reply)
                if view.is_settled:
                    return
    except TimeoutError as exc:
        limit = "1 second" if timeout_s == 1 else f"{timeout_s:g} seconds"
        raise TimedOut(detail=f"There was no whole answer within {limit}; the task may be going on.") from exc


def words_of(parts: Sequence[Part]) -> str:
    """Parts as a person reads them: text as it is, data as JSON, a file by its name."""
    return "".join(part_words(part) for part in parts)


def part_words(part: Part) -> str:
    """One part as a person reads it."""
    match part:
        case Text(text=text):
            return text
        case Data(data=value):
            return msgspec.json.encode(value).decode()
        case Raw(data=data):
            return f"[{part.filename or 'a file'}, {part.media_type or 'unknown type'}, {len(data)} bytes]"
        case Url(url=url):
            return f"[{part.filename or 'a file'}: {url}]"


def status_words(status: TaskStatus) -> str:
    """The agent's text about the task's state. The data of its questions is for programs, and left out."""
    return "\n".join(texts(status.message.parts)) if status.message else ""
