"""What a command writes: its stdout becomes run events, its stderr goes to the log.

There are two formats. `text`: everything is the answer, as it comes, without the newlines at the very end, as in a
shell's `$(...)`. `jsonl`: one JSON object a line, with exactly one of these keys; other keys are ignored:

    {"delta": "text"}           the next piece of the answer
    {"progress": "text"}        a note on what is being done
    {"artifact": {...}}         a whole artifact besides the answer, in the form of `adapters/artifacts.py`
    {"interrupt": anything}     a question to the caller; the answer is the prompt of the next process
    {"complete": "text"}        the whole answer, instead of deltas; null: the deltas were the answer
    {"error": "text"}           why there is no answer, in words for the caller

The first interrupt, complete or error decides how the run ends when the command has ended; what is written after it is
ignored. Lines without any of the keys are ignored with a warning, since many programs print other things. A key with a
wrong value, or a line that begins as an object and cannot be read, fails the run: it may have been part of the answer.
"""

import codecs
import json
import logging
import re
from typing import Any, Protocol

import msgspec

from llamon_agent.adapters.artifacts import read_artifact
from llamon_agent.domain.errors import AgentError
from llamon_agent.domain.events import AgentEvent, Complete, Delta, Error, Interrupt, Progress
from llamon_agent.domain.plain import json_of
from llamon_agent.runs.ports.run import NewId

MAX_LINE_BYTES = 8 << 20
"""How long a line of JSON may be; a file is in one line."""

MAX_LOGGED_LINE_BYTES = 2_000
MAX_LOGGED_LINES = 500
"""How much of one run's stderr is logged. A command in a loop must not fill the disk."""

KEYS = ("delta", "progress", "artifact", "interrupt", "complete", "error")

Ending = Interrupt | Complete | Error
"""How a run ends, as the command writes it."""

_OBJECT = re.compile(r'\s*\{\s*"')
"""How a JSON object begins. A dict as Python prints it, or a lone brace, is other output."""

_ESCAPE = re.compile(r"\\(?:u[dD][89abAB]\w\w\\u[dD][c-fC-F]\w\w|(u[dD][89a-fA-F]\w\w)|.)")
"""An escape in JSON; a surrogate pair is one escape. Group 1: a surrogate without its partner."""

_log = logging.getLogger(__name__)


class Output(Protocol):
    """Reads one run's stdout."""

    ending: Ending | None

    def feed(self, data: bytes) -> list[AgentEvent]:
        """The events that are complete with these bytes. Raises: AgentError: they cannot be read."""
        ...

    def finish(self) -> list[AgentEvent]:
        """The events that are left at the end of the output. Raises: AgentError."""
        ...


class TextOutput:
    """UTF-8 text; bytes that are not UTF-8 become replacement characters."""

    ending: Ending | None = None

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._newlines = ""

    def feed(self, data: bytes) -> list[AgentEvent]:
        return self._deltas(self._decoder.decode(data))

    def finish(self) -> list[AgentEvent]:
        return self._deltas(self._decoder.decode(b"", final=True))

    def _deltas(self, text: str) -> list[AgentEvent]:
        text = self._newlines + text
        piece = text.rstrip("\r\n")
        self._newlines = text[len(piece) :]
        return [Delta(text=piece)] if piece else []


class JsonLinesOutput:
    """One JSON object a line; see above."""

    def __init__(self, task_id: str, new_id: NewId) -> None:
        self.ending: Ending | None = None
        self._task_id = task_id
        self._new_id = new_id
        self._lines = Lines(MAX_LINE_BYTES)
        self._warned = False

    def feed(self, data: bytes) -> list[AgentEvent]:
        return self._events(self._lines.feed(data))

    def finish(self) -> list[AgentEvent]:
        return self._events(self._lines.finish())

    def _events(self, lines: list[bytes]) -> list[AgentEvent]:
        return [event for line in lines if (event := self._read(line)) is not None]

    def _read(self, line: bytes) -> AgentEvent | None:
        if self.ending is not None or not line.strip():
            return None
        if len(line) > MAX_LINE_BYTES:
            raise AgentError(f"The agent wrote a line of more than {MAX_LINE_BYTES} bytes.")
        found = _event_in(line)
        if found is None:
            self._warn_once()
            return None
        event = _event_of(*found, self._new_id)
        if isinstance(event, Interrupt | Complete | Error):
            self.ending = event
            return None
        return event

    def _warn_once(self) -> None:
        if not self._warned:
            self._warned = True
            _log.warning(
                "task %s: the command writes lines that are no events; they are ignored",
                self._task_id,
                extra={"task_id": self._task_id},
            )


def _event_in(line: bytes) -> tuple[str, Any] | None:
    """The key and the value of a line that is an event; None for other output.

    Raises: AgentError: it has several of the keys, or begins as an object and cannot be read.
    """
    text = line.decode("utf-8-sig", "replace")  # some programs begin with a byte order mark
    try:
        value = _value_in(text)
    except (msgspec.DecodeError, RecursionError) as exc:
        if _OBJECT.match(text):
            raise AgentError("The agent wrote a line of JSON that cannot be read.") from exc
        return None
    found = [(key, value[key]) for key in KEYS if key in value] if isinstance(value, dict) else []
    if len(found) > 1:
        raise AgentError("The agent wrote a line that says more than one thing.")
    return found[0] if found else None


def _value_in(text: str) -> Any:
    """The value of a line, with the surrogates that many programs write: the second half may come in the next line.

    Raises: msgspec.DecodeError, RecursionError.
    """
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        repaired = _ESCAPE.sub(lambda escape: "\\ufffd" if escape[1] else escape[0], text)
        if repaired == text:
            raise
        msgspec.json.decode(repaired)  # JSON but for them
        return json.loads(text)


def _event_of(key: str, value: Any, new_id: NewId) -> AgentEvent | Error:
    """The event of a key and its value. Raises: AgentError: the value has the wrong form."""
    match key, value:
        case "delta", str(text):
            return Delta(text=text)
        case "progress", str(text):
            return Progress(text=text)
        case "artifact", artifact:
            return read_artifact(artifact, new_id=new_id())
        case "interrupt", asked:
            return Interrupt.of(json_of(asked), new_id())
        case "complete", str() | None as text:
            return Complete(text=text)
        case "error", str(text) if text:
            return Error(public=text)
    raise AgentError(f"The agent wrote {key!r} with a value of the wrong form.")


class StderrLog:
    """Writes one run's stderr to the log, line by line. Nothing of it goes to the caller."""

    def __init__(self, task_id: str) -> None:
        self._task_id = task_id
        self._ids = {"task_id": task_id}
        self._lines = Lines(MAX_LOGGED_LINE_BYTES)
        self._count = 0

    def feed(self, data: bytes) -> None:
        for line in self._lines.feed(data):
            self._write(line)

    def finish(self) -> None:
        for line in self._lines.finish():
            self._write(line)

    def _write(self, line: bytes) -> None:
        self._count += 1
        if self._count <= MAX_LOGGED_LINES:
            _log.info("task %s: stderr: %s", self._task_id, _printable(line), extra=self._ids)
        elif self._count == MAX_LOGGED_LINES + 1:
            _log.warning("task %s: the command writes more to stderr than is logged", self._task_id, extra=self._ids)


def _printable(line: bytes) -> str:
    """The line without characters that could look like several lines or control a terminal."""
    text = line[:MAX_LOGGED_LINE_BYTES].decode("utf-8", "replace").rstrip("\r")
    cut = "..." if len(line) > MAX_LOGGED_LINE_BYTES else ""
    return "".join(char if char.isprintable() or char == "\t" else "\ufffd" for char in text) + cut


class Lines:
    """Cuts a stream into lines.

    Of each line it keeps at most one byte more than the limit: so a line that is too long differs from one that just
    fits, and costs no more memory.
    """

    def __init__(self, limit_bytes: int) -> None:
        self._max_bytes = limit_bytes + 1
        self._unfinished = bytearray()

    def feed(self, data: bytes) -> list[bytes]:
        """The lines that are whole now, without their newline."""
        *ends, rest = data.split(b"\n")
        lines = []
        for end in ends:
            self._extend(end)
            lines.append(bytes(self._unfinished))
            self._unfinished.clear()
        self._extend(rest)
        return lines

    def finish(self) -> list[bytes]:
        """The last line, if it did not end with a newline."""
        return self.feed(b"\n") if self._unfinished else []

    def _extend(self, piece: bytes) -> None:
        self._unfinished += piece[: self._max_bytes - len(self._unfinished)]
