"""One process owns a data folder.

The lock is the operating system's, on an open file: it goes with the process, however that ends, so a process that was
killed never leaves its folder locked.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from llamon_agent.domain.errors import ConfigError

LOCK_NAME = "llamon.lock"
TASKS_NAME = "tasks.sqlite"
"""The file of a data folder in which the tasks are."""


class FolderInUse(ConfigError):
    """Another process holds the data folder."""


@contextmanager
def own_folder(path: str | Path) -> Iterator[Path]:
    """Hold a data folder for this process alone, and make it if it is not there.

    Raises: ConfigError: another process holds it, or it cannot be made or written.
    """
    folder = Path(path).absolute()
    lock = _open_lock(folder)
    try:
        _take(lock, folder)
        yield folder
    finally:
        os.close(lock)


def _open_lock(folder: Path) -> int:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return os.open(folder / LOCK_NAME, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as exc:
        raise ConfigError(
            f"The data folder {folder} cannot be written: make it writable for this user, or choose another one."
        ) from exc


def _take(lock: int, folder: Path) -> None:
    try:
        _lock_now(lock)
    except OSError as exc:
        raise FolderInUse(
            f"The data folder {folder} is in use by another process: stop that process, or choose another folder."
        ) from exc


if sys.platform == "win32":
    import msvcrt

    def _lock_now(lock: int) -> None:
        msvcrt.locking(lock, msvcrt.LK_NBLCK, 1)
else:
    import fcntl

    def _lock_now(lock: int) -> None:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
