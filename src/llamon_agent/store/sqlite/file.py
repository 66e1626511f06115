"""A file of SQLite in use: whether it is still the one at its place, and what helps where it cannot be used.

SQLite writes on into a file that somebody has deleted or replaced, and says that all is well; only the next start would
find that nothing of it is there. So whoever writes looks first whether the file is where it was. So with the log that
lies beside it, in which a write is until it is folded into the file.
"""

import logging
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from llamon_agent.domain.errors import BackendError
from llamon_agent.store.outage import Outage

_log = logging.getLogger(__name__)


class FileGone(sqlite3.OperationalError):
    """Another file, or none, is where this one was opened."""


_DAMAGED = "it is damaged, or not what it should be; put a backup in its place, or move it away, and restart"

_WRONG: Mapping[int, str] = {
    sqlite3.SQLITE_FULL: "the disk is full; make room on it",
    sqlite3.SQLITE_READONLY: "it may not be written; make it and its folder writable for this user",
    sqlite3.SQLITE_BUSY: "another program holds it; end that program",
    sqlite3.SQLITE_LOCKED: "another program holds it; end that program",
    sqlite3.SQLITE_CORRUPT: _DAMAGED,
    sqlite3.SQLITE_NOTADB: _DAMAGED,
    sqlite3.SQLITE_IOERR: "the disk refuses; see whether it has room, what limits this user has, and the system's log",
    sqlite3.SQLITE_CANTOPEN: "it cannot be opened; see that its folder is there and writable for this user",
    sqlite3.SQLITE_PERM: "it may not be written; make it and its folder writable for this user",
}
"""What is wrong and what helps, by SQLite's primary result code. Source: sqlite.org/rescode.html."""


def what_is_wrong(exc: BaseException) -> str | None:
    """What is wrong with a file and what helps; None where that is not known."""
    if isinstance(exc, FileGone):
        return "it was deleted, moved or replaced; put it back, or restart"
    code = getattr(exc, "sqlite_errorcode", None)
    return None if code is None else _WRONG.get(code & 0xFF)


class SqliteFile:
    """A file that is open, and how it does. Shape: what is its name in the log, such as "the task store".

    Belongs to one event loop; only `check` may be called from other threads.
    """

    def __init__(self, path: str | Path, what: str) -> None:
        parts = (Path(path).absolute(), Path(f"{path}-wal").absolute())
        self._places = {part: place for part in parts if (place := _place(part)) is not None}
        self.reads = Outage(f"{what} {path}", "read", _log)
        self.writes = Outage(f"{what} {path}", "written", _log)

    def check(self) -> None:
        """Raises: FileGone."""
        for part, place in self._places.items():
            if _place(part) != place:
                raise FileGone(f"{part.name} is not the file that was opened")

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Around a use that reads. Raises: BackendError, where the file is what fails."""
        with _used(self.reads):
            yield

    @contextmanager
    def looking(self) -> Iterator[None]:
        """Around a look whether it can be used, of which the log hears nothing. Raises: BackendError."""
        if self.writes.is_on:
            raise BackendError()
        try:
            yield
        except sqlite3.Error as exc:
            raise BackendError() from exc

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Around a use that writes. Raises: BackendError, where the file is what fails."""
        with _used(self.writes):
            self.check()
            yield


@contextmanager
def _used(outage: Outage) -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as exc:
        outage.failed(what_is_wrong(exc), exc)
        raise BackendError() from exc
    outage.over()


def _place(part: Path) -> tuple[int, int] | None:
    """What tells a file from every other one; None where there is none, or none that can be looked at."""
    try:
        found = part.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino
