"""Files and folders that are for this user alone.

What callers and agents said is in the data folder, in the clear. So what is made there is made private, whatever the
umask says, and what an earlier version has made is closed when it is opened. Folders of somebody else's making stay as
they are, with a warning: whose they are, only their maker knows.

Nothing that is there is opened here: closing a file lets go of every lock that this process has on it, SQLite's
included. Source: fcntl(2).
"""

import logging
import os
import stat
import sys
from contextlib import suppress
from pathlib import Path

_OTHERS = stat.S_IRWXG | stat.S_IRWXO
_IS_POSIX = sys.platform != "win32"  # elsewhere the mode says nothing of who may read

_log = logging.getLogger(__name__)


def make_private_folder(folder: Path) -> None:
    """Make a folder where there is none, and those above it. Raises: OSError."""
    if not folder.parent.is_dir():
        make_private_folder(folder.parent)
    folder.mkdir(mode=stat.S_IRWXU, exist_ok=True)


def make_private_file(file: Path) -> None:
    """Make a file of SQLite's where there is none, and let nobody else read it, nor what SQLite keeps beside it, which
    has the file's own mode. Where that cannot be done, SQLite says better why.
    """
    with suppress(OSError):
        os.close(os.open(file, os.O_CREAT | os.O_EXCL, stat.S_IRUSR | stat.S_IWUSR))
    for part in (file, file.with_name(f"{file.name}-wal"), file.with_name(f"{file.name}-shm")):
        close_to_others(part)


def close_to_others(path: Path) -> None:
    """Take from all others what they may do with a file or folder of ours; one that is somebody else's stays."""
    with suppress(OSError):
        mode = path.stat().st_mode
        if _IS_POSIX and mode & _OTHERS:
            path.chmod(stat.S_IMODE(mode) & ~_OTHERS)


def warn_of_open_folder(folder: Path) -> None:
    """Tell the operator that other users of the machine may look into a folder of ours."""
    mode = _mode(folder)
    if mode & _OTHERS:
        _log.warning(
            "the data folder %s is open to other users of this machine (mode %03o); what is made in it is not, but "
            "close it to them all the same: chmod 700",
            folder,
            mode,
        )


def warn_of_open_secret(file: Path, what: str) -> None:
    """Tell the operator that every user of the machine may read a secret. A group may be meant to."""
    if _mode(file) & stat.S_IROTH:
        _log.warning("%s %s can be read by every user of this machine: chmod 600", what, file)


def _mode(path: Path) -> int:
    """Who may do what with a file or folder; nobody where that cannot be known."""
    with suppress(OSError):
        return stat.S_IMODE(path.stat().st_mode) if _IS_POSIX else 0
    return 0
