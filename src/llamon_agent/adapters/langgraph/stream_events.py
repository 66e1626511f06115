"""What the caller hears while a graph runs: its stream, chunk by chunk, as run events.

Theory. A graph may hold many models, in parallel, in subgraphs, in front of and behind tools; which of their messages
is the answer is only known at the end. So one message at a time is spoken as deltas; when another one takes over, its
first delta restarts the text. What counts is the graph's state: at the end it gives the whole answer, and at a pause
the words that were spoken stand only if their message is in it.

- A message takes over when the one before it has ended, or comes from the same task, which has then moved on.
- One that starts while another is being spoken is passed over for good, so that two never interleave or take turns.
- Only text is spoken. Thinking, tool calls, tool results and what humans said are not text of the answer.
- A call for structured output is for the graph's code. With an output key all messages are: only what is under that
  key is spoken, as soon as it is there.
- What nodes and tools write to the stream writer is progress or an artifact, in words of ours; the rest is their own.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, ToolMessage

from llamon_agent.adapters.artifacts import read_artifact
from llamon_agent.adapters.langgraph.messages import said_in
from llamon_agent.adapters.langgraph.structured import is_structured
from llamon_agent.domain.errors import AgentError
from llamon_agent.domain.events import ArtifactMade, Delta, Progress
from llamon_agent.domain.ids import random_id

log = logging.getLogger(__name__)

Chunk = tuple[tuple[str, ...], str, Any]
"""(namespace, mode, data), as Pregel.astream gives it with several modes and subgraphs."""


@dataclass(slots=True)
class _Spoken:
    """The message that is being spoken."""

    id: str | None
    task: str
    ended: bool = False


class StreamTranslator:
    """One run's translator; made for a run and thrown away with it.

    Shape: output_key is that of the state mapping; goes_on says that an earlier attempt at the run may have spoken,
           too, of which nothing is known but what is in the state.
           `before` and `after` are the root graph's state at the run's start and so far; `interrupted` says that the
           stream told of an interrupt, which a graph without a checkpointer cannot be asked about later.
    """

    def __init__(self, output_key: str | None = None, *, goes_on: bool = False) -> None:
        self.before: Any = None
        self.after: Any = None
        self.interrupted = False
        self._output_key = output_key
        self._goes_on = goes_on
        self._now: _Spoken | None = None
        self._said: dict[str | None, str] = {}  # what was spoken of each message, in order
        self._closed: set[str | None] = set()
        self._text = ""
        self._restart = False

    def translate(self, chunk: Chunk) -> Sequence[Progress | Delta | ArtifactMade]:
        """The events of one chunk, at most one as it is."""
        namespace, mode, data = chunk
        match mode:
            case "messages":
                message, metadata = data
                if isinstance(message, ToolMessage):
                    return _result_progress(message)
                if self._output_key is None and not is_structured(metadata):
                    return self._message(message, metadata.get("langgraph_checkpoint_ns", ""))
            case "values":
                if not namespace:
                    return self._values(data)
            case "tools":
                return _tool_progress(data)
            case "custom":
                return _written(data)
        return ()

    def at_pause(self, messages: Sequence[BaseMessage]) -> Sequence[Delta]:
        """What corrects the text at a pause. Shape: messages are those of the state then."""
        if self._output_key is not None:
            return ()
        text = self._standing(messages)
        return (Delta(text=text, restart=True),) if text != self._text or self._goes_on else ()

    def _standing(self, messages: Sequence[BaseMessage]) -> str:
        """What the state has of the words; empty where it has none.

        The last message that was spoken counts: by its id or, as a node may have made a new one of it, by its words.
        """
        known = {message.id: message.content for message in said_in(self.before)}
        added = [each for each in messages if isinstance(each, AIMessage) and known.get(each.id) != each.content]
        texts = [(each.id, text) for each in reversed(added) if (text := str(each.text))]
        for spoken_id, words in reversed(self._said.items()):
            for message_id, text in texts:
                if message_id == spoken_id or text == words:
                    return text
        return texts[0][1] if texts and self._goes_on else ""

    def _values(self, values: Any) -> Sequence[Delta]:
        before, self.after = self.after, values
        self.before = values if self.before is None else self.before
        self.interrupted = isinstance(values, dict) and "__interrupt__" in values
        if self._output_key is None or before is None:
            return ()
        text = _text_under(self._output_key, values)
        if text == _text_under(self._output_key, before) or not (text or self._text):
            return ()
        spoken = Delta(text=text, restart=bool(self._text))
        self._text = text
        return (spoken,)

    def _message(self, message: BaseMessage, task: str) -> Sequence[Delta]:
        if not isinstance(message, AIMessage) or not self._takes_the_floor(message.id, task):
            return ()
        whole = not isinstance(message, AIMessageChunk)
        spoken = self._say(str(message.text), whole)
        if self._now is not None and (whole or getattr(message, "chunk_position", None) == "last"):
            self._now.ended = True
        return spoken

    def _takes_the_floor(self, message_id: str | None, task: str) -> bool:
        """Whether this message is the one to be spoken now."""
        now = self._now
        if now is not None and message_id == now.id:
            return True
        if message_id in self._closed:
            return False
        if now is not None and not now.ended and now.task != task:
            self._closed.add(message_id)
            return False
        if now is not None:
            self._closed.add(now.id)
        self._now = _Spoken(message_id, task)
        self._restart = bool(self._text)
        return True

    def _say(self, text: str, whole: bool) -> Sequence[Delta]:
        """A piece of the spoken message; a whole message that says what was just spoken is a copy of it."""
        if not text:
            return ()
        spoken = () if whole and text == self._text else (Delta(text=text, restart=self._restart),)
        if spoken:
            self._text = text if self._restart else self._text + text
            self._restart = False
        self._said[self._now.id if self._now else None] = self._text
        return spoken


def _text_under(key: str, values: Any) -> str:
    """What a state holds under a key, if it is text."""
    value = values.get(key) if isinstance(values, dict) else None
    return str(value.text) if isinstance(value, BaseMessage) else value if isinstance(value, str) else ""


def _tool_progress(data: Any) -> Sequence[Progress]:
    """A tool that starts. Its arguments are not told: they may hold what is not the caller's to see."""
    if data.get("event") == "tool-started" and data.get("tool_name"):
        return (Progress(text=f"Calling {data['tool_name']} …"),)
    return ()


def _result_progress(message: ToolMessage) -> Sequence[Progress]:
    """A tool's result: that it is there, never what it says."""
    outcome = "has failed" if message.status == "error" else "has answered"
    return (Progress(text=f"{message.name or 'A tool'} {outcome}."),)


def _written(data: Any) -> Sequence[Progress | ArtifactMade]:
    """What a node or tool wrote to the stream writer: a string, {"progress": "..."} or {"artifact": {...}}.

    Other things are its own affair; an artifact in other words may be one of them, therefore it fails nothing.
    """
    match data:
        case {"artifact": made, **rest} if not rest:
            try:
                return (read_artifact(made, new_id=random_id()),)
            except AgentError as exc:
                log.warning("an artifact in the stream writer is passed over: %s", exc.public)
                return ()
        case str(note) | {"progress": str(note)} if note:
            return (Progress(text=note),)
    return ()
