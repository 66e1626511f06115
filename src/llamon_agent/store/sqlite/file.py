"""An SQLite file in use: whether it is still at its path, and what helps where it cannot be used.

SQLite keeps writing into a file that was deleted or replaced, without an error; only the next start would find that the
writes are lost. So before each write the paths of the file and of its write-ahead log are checked.
"""

import logging
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from llamon_agent.store.outage import Outage

_log = logging.getLogger(__name__)

_FAILURES = (sqlite3.Error,)


class FileGone(sqlite3.OperationalError):
    """There is another file, or none, at the path of the opened one."""


_DAMAGED = "it is damaged, or not what it should be; put a backup in its place, or move it away, and restart"

_WRONG: Mapping[int, str] = {
    sqlite3.SQLITE_FULL: "the disk is full; make room on it",
    sqlite3.SQLITE_READONLY: "it may not be written; make it and its folder writable for this user",
    sqlite3.SQLITE_BUSY: "another program holds it; end that program",
    sqlite3.SQLITE_LOCKED: "another program holds it; end that program",
    sqlite3.SQLITE_CORRUPT: _DAMAGED,
    sqlite3.SQLITE_NOTADB: _DAMAGED,
    sqlite3.SQLITE_IOERR: "the disk fails; check its free space, the limits of this user, and the system's log",
    sqlite3.SQLITE_CANTOPEN: "it cannot be opened; check that its folder exists and is writable for this user",
    sqlite3.SQLITE_PERM: "it may not be written; make it and its folder writable for this user",
}
"""What is wrong and what helps, by SQLite's primary result code. Source: sqlite.org/rescode.html."""


_MAY_PASS = {sqlite3.SQLITE_FULL, sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_IOERR}
"""The codes of what may be over in a moment without a word to this process."""


def what_is_wrong(exc: BaseException) -> str | None:
    """What is wrong with a file and what helps; None where that is unknown."""
    if isinstance(exc, FileGone):
        return "it was deleted, moved or replaced; put it back, or restart"
    code = getattr(exc, "sqlite_errorcode", None)
    return None if code is None else _WRONG.get(code & 0xFF)


class SqliteFile:
    """Around each use of an open file. Shape: what is its name in the log, such as "the task store".

    Belongs to one event loop; only `check` may be called from other threads.
    """

    def __init__(self, path: str | Path, what: str) -> None:
        parts = (Path(path).absolute(), Path(f"{path}-wal").absolute())
        self._identities = {part: identity for part in parts if (identity := _identity_of(part)) is not None}
        self.reads = Outage(f"{what} {path}", "read", _log)
        self.writes = Outage(f"{what} {path}", "written", _log)

    def check(self) -> None:
        """Raises: FileGone."""
        for part, identity in self._identities.items():
            if _identity_of(part) != identity:
                raise FileGone(f"{part.name} is not the file that was opened")

    def may_pass(self, error: BaseException) -> bool:
        """Whether the same write may work soon."""
        code = getattr(error, "sqlite_errorcode", None)
        return code is not None and code & 0xFF in _MAY_PASS

    def reading(self) -> AbstractContextManager[None]:
        """Around a use that reads. Raises: BackendError, where the file fails."""
        return self.reads.reporting(_FAILURES, what_is_wrong)

    def probing(self) -> AbstractContextManager[None]:
        """Around a probe of the file, which logs nothing. Raises: BackendError."""
        return self.writes.probing(_FAILURES)

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Around a use that writes. Raises: BackendError, where the file fails."""
        with self.writes.reporting(_FAILURES, what_is_wrong):
            self.check()
            yield


def _identity_of(part: Path) -> tuple[int, int] | None:
    """The device and inode of a file; None where there is no file, or it cannot be read."""
    try:
        found = part.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino
