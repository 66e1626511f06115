"""What a command says on stderr goes to the log, and only there: a caller must not read it."""

import logging

from llamon_agent.adapters.process.lines import Lines

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
