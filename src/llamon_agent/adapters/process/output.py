"""What a command writes on its stdout, as run events.

Two languages. `text`: everything is the answer, as it comes, without the newlines at its very end, as in a shell's
`$(...)`. `jsonl`: one JSON object a line, which has exactly one of these keys; keys of other names are passed over:

    {"delta": "text"}           the next piece of the answer
    {"progress": "text"}        a note on what is being done
    {"artifact": {...}}         a whole artifact beside the answer, in the words of `adapters/artifacts.py`
    {"interrupt": anything}     a question to the caller; the answer is the prompt of the next process
    {"complete": "text"}        the whole answer, instead of deltas; null: the deltas were it
    {"error": "text"}           why there is no answer, in words for the caller

The first of the last three decides how the run ends, once the command has: what is written after it is not heard. Lines
that hold none of the keys are ignored with a warning, since programs like to chat; a key with a wrong value and a line
that begins as an object and cannot be read fail the run, since it may have been a part of the answer.
"""

import codecs
import logging
import re
from typing import Any, Protocol

import msgspec

from llamon_agent.adapters.artifacts import read_artifact
from llamon_agent.domain.errors import AgentError
from llamon_agent.domain.events import AgentEvent, Complete, Delta, Error, Interrupt, Progress
from llamon_agent.runs.ports.run import NewId

# MERGED-DOC: What a command says on stderr goes to the log, and only there: a caller must not read it.
MAX_LINE_BYTES = 2_000
MAX_LINES = 500
"""How much of one run is logged. A command in a loop must not fill the disk."""

_log = logging.getLogger(__name__)


class StderrLog:
    """One run's stderr, line by line."""

    def __init__(self, task_id: str) -> None:
        self._task_id = task_id
        self._ids = {"task_id": task_id}
        self._lines = Lines(MAX_LINE_BYTES)
        self._count = 0

    def feed(self, data: bytes) -> None:
        for line in self._lines.feed(data):
            self._write(line)

    def finish(self) -> None:
        for line in self._lines.finish():
            self._write(line)

    def _write(self, line: bytes) -> None:
        self._count += 1
        if self._count <= MAX_LINES:
            _log.info("task %s: stderr: %s", self._task_id, _shown(line), extra=self._ids)
        elif self._count == MAX_LINES + 1:
            _log.warning("task %s: the command says more on stderr than is logged", self._task_id, extra=self._ids)


def _shown(line: bytes) -> str:
    """The line as one that cannot pose as several, nor steer a terminal."""
    text = line[:MAX_LINE_BYTES].decode("utf-8", "replace").rstrip("\r")
    cut = "..." if len(line) > MAX_LINE_BYTES else ""
    return "".join(char if char.isprintable() or char == "\t" else "\ufffd" for char in text) + cut


# MERGED-DOC: Bytes, as they come, into lines.
class Lines:
    """Cuts a stream into lines and keeps of each at most one byte more than the limit, so that a line that is too long
    can be told from one that just fits, and costs no more memory.
    """

    def __init__(self, limit_bytes: int) -> None:
        self._kept_bytes = limit_bytes + 1
        self._begun = bytearray()

    def feed(self, data: bytes) -> list[bytes]:
        """The lines that are whole now, without their newline."""
        *ends, rest = data.split(b"\n")
        lines = []
        for end in ends:
            self._extend(end)
            lines.append(bytes(self._begun))
            self._begun.clear()
        self._extend(rest)
        return lines

    def finish(self) -> list[bytes]:
        """The last line, if it did not end with a newline."""
        return self.feed(b"\n") if self._begun else []

    def _extend(self, piece: bytes) -> None:
        self._begun += piece[: self._kept_bytes - len(self._begun)]


MAX_LINE_BYTES = 8 << 20
"""How long a line of JSON may be; files travel in one."""

KEYS = ("delta", "progress", "artifact", "interrupt", "complete", "error")

Ending = Interrupt | Complete | Error
"""How a command says that its run ends."""

_OBJECT = re.compile(r'\s*\{\s*"')
"""How an object begins, other than a dict of Python or a lone brace, which are chat."""

_ESCAPE = re.compile(r"\\(?:u[dD][89abAB]\w\w\\u[dD][c-fC-F]\w\w|(u[dD][89a-fA-F]\w\w)|.)")
"""An escape in JSON; one whole surrogate pair is one. Group 1: a surrogate without its partner."""

_log = logging.getLogger(__name__)


class Output(Protocol):
    """Reads one run's stdout."""

    ending: Ending | None

    def feed(self, data: bytes) -> list[AgentEvent]:
        """What the command says by these bytes and those before. Raises: AgentError: it is not to be understood."""
        ...

    def finish(self) -> list[AgentEvent]:
        """What it has left to say, now that nothing more comes. Raises: AgentError."""
        ...


class TextOutput:
    """UTF-8 text; what is no UTF-8 shows as replacement characters."""

    ending: Ending | None = None

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._held = ""

    def feed(self, data: bytes) -> list[AgentEvent]:
        return self._said(self._decoder.decode(data))

    def finish(self) -> list[AgentEvent]:
        return self._said(self._decoder.decode(b"", final=True))

    def _said(self, text: str) -> list[AgentEvent]:
        text = self._held + text
        said = text.rstrip("\r\n")
        self._held = text[len(said) :]
        return [Delta(text=said)] if said else []


class JsonLinesOutput:
    """One JSON object a line, see above."""

    def __init__(self, task_id: str, new_id: NewId) -> None:
        self.ending: Ending | None = None
        self._task_id = task_id
        self._new_id = new_id
        self._lines = Lines(MAX_LINE_BYTES)
        self._warned = False

    def feed(self, data: bytes) -> list[AgentEvent]:
        return self._heard(self._lines.feed(data))

    def finish(self) -> list[AgentEvent]:
        return self._heard(self._lines.finish())

    def _heard(self, lines: list[bytes]) -> list[AgentEvent]:
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
    """The key and the value of a line that says something.

    Raises: AgentError: it says two things at once, or begins to say something and cannot be read.
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
    """The value of a line; surrogates without a partner, which many writers of JSON let pass, are replaced.

    Raises: msgspec.DecodeError, RecursionError.
    """
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        mended = _ESCAPE.sub(lambda escape: "\\ufffd" if escape[1] else escape[0], text)
        if mended == text:
            raise
        return msgspec.json.decode(mended)


def _event_of(key: str, value: Any, new_id: NewId) -> AgentEvent | Error:
    """What a key says. Raises: AgentError: its value is not of the right form."""
    match key, value:
        case "delta", str(text):
            return Delta(text=text)
        case "progress", str(text):
            return Progress(text=text)
        case "artifact", artifact:
            return read_artifact(artifact, new_id=new_id())
        case "interrupt", asked:
            return Interrupt.of(asked, new_id())
        case "complete", str() | None as text:
            return Complete(text=text)
        case "error", str(text) if text:
            return Error(public=text)
    raise AgentError(f"The agent wrote {key!r} with a value of the wrong form.")
