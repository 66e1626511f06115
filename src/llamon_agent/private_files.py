"""Files and folders that are for this user alone.

The data folder holds what callers and agents wrote, in plain text. So files and folders are made private there,
whatever the umask says, and those that an earlier version made become private when they are opened. A folder that
existed before keeps its mode, with a warning: others may need it.

No existing file is opened here: closing a file releases every lock that this process has on it, SQLite's included.
Source: fcntl(2).
"""

import logging
import os
import stat
import sys
from contextlib import suppress
from pathlib import Path

_OTHERS = stat.S_IRWXG | stat.S_IRWXO
_IS_POSIX = sys.platform != "win32"  # on Windows the mode does not say which users may read

_log = logging.getLogger(__name__)


def make_private_folder(folder: Path) -> None:
    """Make a folder, and its parents, where they do not exist. Raises: OSError."""
    if not folder.parent.is_dir():
        make_private_folder(folder.parent)
    folder.mkdir(mode=stat.S_IRWXU, exist_ok=True)


def make_private_file(file: Path) -> None:
    """Make an SQLite file where there is none, and make it private, together with the -wal and -shm files that SQLite
    makes with the same mode. Errors are ignored: SQLite reports them better.
    """
    with suppress(OSError):
        os.close(os.open(file, os.O_CREAT | os.O_EXCL, stat.S_IRUSR | stat.S_IWUSR))
    for part in (file, file.with_name(f"{file.name}-wal"), file.with_name(f"{file.name}-shm")):
        close_to_others(part)


def close_to_others(path: Path) -> None:
    """Remove the permissions of all other users, where the file or folder is ours to change."""
    with suppress(OSError):
        mode = path.stat().st_mode
        if _IS_POSIX and mode & _OTHERS:
            path.chmod(stat.S_IMODE(mode) & ~_OTHERS)


def warn_of_open_folder(folder: Path) -> None:
    """Warn that other users of the machine may read in the data folder."""
    mode = _mode(folder)
    if mode & _OTHERS:
        _log.warning(
            "the data folder %s is open to other users of this machine (mode %03o); new files in it are private, but "
            "close the folder too: chmod 700",
            folder,
            mode,
        )


def warn_of_open_secret(file: Path, what: str) -> None:
    """Warn that every user of the machine may read a secret. Reading by the group may be intended."""
    if _mode(file) & stat.S_IROTH:
        _log.warning("%s %s can be read by every user of this machine: chmod 600", what, file)


def _mode(path: Path) -> int:
    """The permissions of a file or folder; 0 where they cannot be read."""
    with suppress(OSError):
        return stat.S_IMODE(path.stat().st_mode) if _IS_POSIX else 0
    return 0
