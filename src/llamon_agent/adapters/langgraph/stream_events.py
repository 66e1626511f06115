"""The stream of a graph's run, chunk by chunk, as run events.

Theory. A graph may hold many models, in parallel, in subgraphs, before and after tools; which of their messages is the
answer is known only at the end. So one message at a time is sent as deltas; when another one becomes the current
message, its first delta restarts the text. What counts is the graph's state, however the run ends: the text that was
sent stays only if its message is in the state.

- A message that has ended is dropped, by a restart without text, until a step of the root graph has ended and its
  message is in the state. So if the run fails or is stopped, what stays is a text of the state, or a text that broke
  off in the middle of its message. Readers do not notice: a restart without text is not sent to them, nor is one with
  the text that they have.

- A message becomes the current one when the one before it has ended, or is of the same task, which has then gone on.
- A message that starts while another one is current is never sent, so that two messages never mix.
- Only text is sent. Reasoning, tool calls, tool results and human messages are not text of the answer.
- A call for structured output is for the graph's code, so its text is not sent; see `callbacks`.
- A message that hands control back to a supervisor is not sent, as it is written by code and never the answer.
- With an output key no message is sent, but only the value of that key, as soon as the state has it.
- What nodes and tools write to the stream writer becomes progress or an artifact, or is ignored if it has neither form.
  Messages of the generative UI are artifacts, too.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, ToolMessage

from llamon_agent.adapters.artifacts import read_artifact
from llamon_agent.adapters.langgraph.answer import is_handoff_back, new_among
from llamon_agent.adapters.langgraph.callbacks import is_structured
from llamon_agent.adapters.langgraph.messages import readable_messages
from llamon_agent.adapters.langgraph.step_writer import Written
from llamon_agent.adapters.langgraph.ui_messages import UiMessages
from llamon_agent.domain.errors import AgentError
from llamon_agent.domain.events import ArtifactMade, Delta, Progress
from llamon_agent.domain.ids import random_id

log = logging.getLogger(__name__)

Chunk = tuple[tuple[str, ...], str, Any]
"""(namespace, mode, data), as Pregel.astream gives it with several modes and subgraphs."""


@dataclass(slots=True)
class _Current:
    """The message whose text is sent now."""

    id: str | None
    task: str
    ended: bool = False


class StreamTranslator:
    """Translates the stream of one run.

    Shape: output_key is that of the state mapping; goes_on: an earlier attempt at the run may have sent text, too, of
           which only the state is known; read makes a state of what the stream has as values;
           tokens_only: whole messages are not sent, as they may be those of earlier turns.
           `before` and `after` are the root graph's state at the run's start and so far;
           `interrupted`: there was an interrupt in the stream, which a graph without a checkpointer does not save;
           `begun` is the state when this attempt began, and `written` the keys that nodes have written since, where the
           stream has updates.
    """

    def __init__(
        self,
        output_key: str | None = None,
        *,
        goes_on: bool = False,
        read: Callable[[Any], Any] = lambda values: values,
        tokens_only: bool = False,
    ) -> None:
        self.before: Any = None
        self.after: Any = None
        self.interrupted = False
        self.begun: Any = None
        self.written: set[str] = set()
        self._output_key = output_key
        self._goes_on = goes_on
        self._read = read
        self._tokens_only = tokens_only
        self._current: _Current | None = None
        self._sent: dict[str | None, str] = {}  # the text that was sent of each message, in order
        self._closed: set[str | None] = set()
        self._ui = UiMessages()
        self._text = ""  # what the deltas since the last restart say
        self._last = ""  # the text of the message that was sent last
        self._judged = True  # whether the state has decided on all that was sent
        self._restart = False

    def translate(self, chunk: Chunk) -> Sequence[Progress | Delta | ArtifactMade]:
        """The events of one chunk, at most one as it is."""
        namespace, mode, data = chunk
        match mode:
            case "messages":
                message, metadata = data
                if is_handoff_back(message):
                    return ()
                if isinstance(message, ToolMessage):
                    return _result_progress(message)
                if self._tokens_only and not isinstance(message, AIMessageChunk):
                    return ()
                if self._output_key is None and not is_structured(metadata):
                    return self._message(message, metadata.get("langgraph_checkpoint_ns", ""))
            case "values":
                if not namespace:
                    return self._values(self._read(data))
            case "updates":
                if not namespace:
                    self.written |= _keys_of(data)
            case "tools":
                return _tool_progress(data)
            case "custom":
                written = data if isinstance(data, Written) else Written(data, None, is_repeated=False)
                component = self._ui.artifact(written.value, self.before)
                return _written(written) if component is None else (component,)
        return ()

    def at_pause(self, messages: Sequence[BaseMessage]) -> Sequence[Delta]:
        """The correction of the text at a pause. Shape: messages are those of the state then."""
        if self._output_key is not None:
            return ()
        text = self._text_in_state(messages)
        return (Delta(text=text, restart=True),) if self._goes_on else self._becomes(text)

    def broken_off(self) -> Sequence[Delta]:
        """Keep the text of the last message, which is not whole though it has ended."""
        return self._becomes(self._last)

    def _text_in_state(self, messages: Sequence[BaseMessage]) -> str:
        """The text that was sent, as the state has it; empty if the state has none of it.

        The last message that was sent counts, by its id or, as a node may have made a new message of it, by its text.
        """
        added = [each for each in new_among(messages, self.before) if isinstance(each, AIMessage)]
        texts = [(each.id, text) for each in reversed(added) if not is_handoff_back(each) and (text := str(each.text))]
        for sent_id, sent in reversed(self._sent.items()):
            for message_id, text in texts:
                if message_id == sent_id or text == sent:
                    return text
        return texts[0][1] if texts and self._goes_on else ""

    def _values(self, values: Any) -> Sequence[Delta]:
        before, self.after = self.after, values
        self.before = values if self.before is None else self.before
        self.begun = values if self.begun is None else self.begun
        self.interrupted = isinstance(values, dict) and "__interrupt__" in values
        if self._output_key is None:
            return self._judge(values)
        if before is None:
            return ()
        text = _text_under(self._output_key, values)
        if text == _text_under(self._output_key, before) or not (text or self._text):
            return ()
        delta = Delta(text=text, restart=bool(self._text))
        self._text = text
        return (delta,)

    def _judge(self, values: Any) -> Sequence[Delta]:
        """Keep of the text that was sent what the state has of it, now that a step has ended."""
        if self._judged:
            return ()
        self._judged = True
        return self._becomes(self._text_in_state(readable_messages(values)))

    def _becomes(self, text: str) -> Sequence[Delta]:
        if text == self._text:
            return ()
        self._text = text
        return (Delta(text=text, restart=True),)

    def _message(self, message: BaseMessage, task: str) -> Sequence[Delta]:
        if not isinstance(message, AIMessage) or not self._is_current(message.id, task):
            return ()
        whole = not isinstance(message, AIMessageChunk)
        deltas = self._send(str(message.text), whole)
        if self._current is not None and (whole or getattr(message, "chunk_position", None) == "last"):
            self._current.ended = True
            return (*deltas, *self._becomes(""))
        return deltas

    def _is_current(self, message_id: str | None, task: str) -> bool:
        """Whether this message is the current one, or becomes it."""
        now = self._current
        if now is not None and message_id == now.id:
            return True
        if message_id in self._closed:
            return False
        if now is not None and not now.ended and now.task != task:
            self._closed.add(message_id)
            return False
        if now is not None:
            self._closed.add(now.id)
        self._current = _Current(message_id, task)
        self._restart = bool(self._text)
        return True

    def _send(self, text: str, whole: bool) -> Sequence[Delta]:
        """A piece of the current message. A whole message with the text that was just sent is a copy of it."""
        if not text:
            return ()
        sent_id = self._current.id if self._current else None
        self._judged = False
        if whole and text == self._last:
            self._sent[sent_id] = text
            return ()
        delta = Delta(text=text, restart=self._restart)
        self._text = text if self._restart else self._text + text
        self._restart = False
        self._sent[sent_id] = self._last = self._text
        return (delta,)


def _text_under(key: str, values: Any) -> str:
    """The value of a state's key, if it is text."""
    value = values.get(key) if isinstance(values, dict) else None
    return str(value.text) if isinstance(value, BaseMessage) else value if isinstance(value, str) else ""


def _keys_of(updates: Mapping[str, Any]) -> set[str]:
    """The keys that nodes wrote. Shape: an update is one mapping for each node, or a list of them."""
    each_node = [update if isinstance(update, list) else [update] for update in updates.values()]
    return {key for written in each_node for update in written if isinstance(update, dict) for key in update}


def _tool_progress(data: Any) -> Sequence[Progress]:
    """A tool that starts. Its arguments are left out: they may hold what the caller must not see."""
    if data.get("event") == "tool-started" and data.get("tool_name"):
        return (Progress(text=f"Calling {data['tool_name']} …"),)
    return ()


def _result_progress(message: ToolMessage) -> Sequence[Progress]:
    """A note that a tool has its result, without the result."""
    outcome = "has failed" if message.status == "error" else "has answered"
    return (Progress(text=f"{message.name or 'A tool'} {outcome}."),)


def _written(written: Written) -> Sequence[Progress | ArtifactMade]:
    """What a node or tool wrote to the stream writer: a string, {"progress": "..."} or {"artifact": {...}}.

    A note that a node repeats, as it runs again after its question, is left out. An artifact has the id of its place.
    Other values are for other readers, and an artifact of another form may be one of them, so it is no error.
    """
    match written.value:
        case {"artifact": made, **rest} if not rest:
            try:
                return (read_artifact(made, new_id=written.artifact_id or random_id()),)
            except AgentError as exc:
                log.warning("an artifact in the stream writer is ignored: %s", exc.public)
                return ()
        case str(note) | {"progress": str(note)} if note and not written.is_repeated:
            return (Progress(text=note),)
    return ()
