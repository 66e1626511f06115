"""One process owns a data folder.

The locks are the operating system's, on open files. They end with the process, so a process that was killed never
leaves its folder locked. There are two: one on a file in the folder, which network file systems show to other machines,
and one on the folder itself, where folders can be locked: if the lock file is deleted, no second process gets in.
"""

import errno
import logging
import os
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

from llamon_agent.domain.errors import ConfigError
from llamon_agent.private_files import close_to_others, make_private_folder, warn_of_open_folder

LOCK_NAME = "llamon.lock"
TASKS_NAME = "tasks.sqlite"
"""The file with the tasks in a data folder."""

_HELD = {errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES, errno.EDEADLK}
"""The errors of a lock that another process holds; the last two are those of Windows."""

_NETWORKED = {"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "ceph", "glusterfs", "lustre", "fuse.sshfs"}

_log = logging.getLogger(__name__)


class FolderInUse(ConfigError):
    """Another process holds the data folder."""


@contextmanager
def own_folder(path: str | Path) -> Iterator[Path]:
    """Lock a data folder for this process alone, and make it if it does not exist.

    Raises: ConfigError: another process holds it, or it cannot be made or written.
    """
    folder = Path(path).absolute()
    with ExitStack() as held:
        _lock_file(folder, held)
        warn_of_open_folder(folder)
        _lock_folder(folder, held)
        if _is_on_network(folder):
            _log.warning(
                "the data folder %s is on a network file system, where SQLite may lose what is written: "
                "choose a folder on a local disk, or data.postgres",
                folder,
            )
        yield folder


def vacuum_files(folder: Path) -> int:
    """Give the free pages of all files in a data folder back to the disk. No process has them open.

    Units:  the bytes that all of them take afterwards.
    Raises: ConfigError: a file cannot be written; those before it are smaller, and it is as it was.
    """
    files = sorted([folder / TASKS_NAME, *folder.glob("*/*.sqlite")])
    for file in files:
        try:
            with closing(sqlite3.connect(file, isolation_level=None)) as connection:
                connection.execute("vacuum")
        except sqlite3.Error as exc:
            raise ConfigError(
                f"{file} cannot be made smaller: it must be whole and writable, and the disk have room for a copy."
            ) from exc
    return size_of(folder)


def size_of(folder: Path) -> int:
    """The bytes that the files in a data folder take, with their logs."""
    return sum(file.stat().st_size for file in [*folder.glob("*.sqlite*"), *folder.glob("*/*.sqlite*")])


def _lock_file(folder: Path, held: ExitStack) -> None:
    """Lock the file in the folder. Raises: ConfigError."""
    try:
        make_private_folder(folder)
        file = os.open(folder / LOCK_NAME, os.O_RDWR | os.O_CREAT, 0o600)
        close_to_others(folder / LOCK_NAME)
    except OSError as exc:
        raise ConfigError(_why_not(folder, exc)) from exc
    held.callback(os.close, file)
    try:
        _lock_now(file)
    except OSError as exc:
        if exc.errno in _HELD:
            raise FolderInUse(_in_use(folder)) from exc
        raise ConfigError(
            f"The data folder {folder} cannot be locked, as on some network file systems: "
            "choose a folder on a local disk, or data.postgres."
        ) from exc


def _lock_folder(folder: Path, held: ExitStack) -> None:
    """Lock the folder itself, where that is possible. Raises: FolderInUse."""
    if sys.platform == "win32":  # there an open file cannot be deleted
        return
    itself = os.open(folder, os.O_RDONLY)
    held.callback(os.close, itself)
    try:
        _lock_now(itself)
    except OSError as exc:
        if exc.errno in _HELD:
            raise FolderInUse(_in_use(folder)) from exc


def _in_use(folder: Path) -> str:
    return f"The data folder {folder} is in use by another process: stop that process, or choose another folder."


def _why_not(folder: Path, exc: OSError) -> str:
    if exc.errno in (errno.ENOSPC, errno.EDQUOT):
        return f"The data folder {folder} cannot be written: the disk is full; make room on it."
    return f"The data folder {folder} cannot be written: make it writable for this user, or choose another one."


def _is_on_network(folder: Path) -> bool:
    """Whether the folder is on a network file system, as far as that is known. Source: proc_pid_mountinfo(5)."""
    try:
        mounts = Path("/proc/self/mountinfo").read_text()
        device = folder.stat().st_dev
    except OSError:
        return False
    return kind_of_file_system(mounts, f"{os.major(device)}:{os.minor(device)}") in _NETWORKED


def kind_of_file_system(mounts: str, device: str) -> str | None:
    """The kind of file system of a device, MAJOR:MINOR, by the lines of mountinfo."""
    for line in mounts.splitlines():
        about_mount, _, about_kind = line.partition(" - ")
        if about_mount.split()[2:3] == [device]:
            return about_kind.split()[0]
    return None


if sys.platform == "win32":
    import msvcrt

    def _lock_now(lock: int) -> None:
        msvcrt.locking(lock, msvcrt.LK_NBLCK, 1)
else:
    import fcntl

    def _lock_now(lock: int) -> None:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
