"""What is made is for its user alone, and what is open to others is closed or told."""

import os
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from llamon_agent.private_files import (
    close_to_others,
    make_private_file,
    make_private_folder,
    warn_of_open_folder,
    warn_of_open_secret,
)

WRITES = """
import sqlite3, sys
sqlite3.connect(sys.argv[1], timeout=0).execute("create table t (x)")
"""


@pytest.fixture(autouse=True)
def _generous() -> Iterator[None]:
    """A umask that keeps nothing from anybody."""
    before = os.umask(0)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_folders_are_made_for_their_user_alone_and_so_are_those_above(tmp_path: Path) -> None:
    make_private_folder(tmp_path / "a" / "b")
    assert [mode(tmp_path / "a"), mode(tmp_path / "a" / "b")] == [0o700, 0o700]


def test_a_folder_that_is_there_stays_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir(mode=0o755)
    make_private_folder(tmp_path / "a")
    assert mode(tmp_path / "a") == 0o755


@pytest.mark.parametrize("inside", ["file", "file/folder", "file/folder/below"])
def test_a_file_in_the_way_of_a_folder_is_an_error(tmp_path: Path, inside: str) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="file"):
        make_private_folder(tmp_path / inside)


@pytest.mark.parametrize("was_there", [False, True])
def test_a_file_is_private_and_so_are_the_other_files_of_sqlite(tmp_path: Path, was_there: bool) -> None:
    file = tmp_path / "x.sqlite"
    if was_there:
        file.touch(0o666)
    make_private_file(file)
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("pragma journal_mode = wal")
        connection.execute("create table t (x)")
        assert {part.name: mode(part) for part in tmp_path.iterdir()} == {
            "x.sqlite": 0o600,
            "x.sqlite-wal": 0o600,
            "x.sqlite-shm": 0o600,
        }


def test_the_other_files_of_an_earlier_version_become_private_too(tmp_path: Path) -> None:
    for name in ("x.sqlite", "x.sqlite-wal", "x.sqlite-shm"):
        (tmp_path / name).touch(0o644)
    make_private_file(tmp_path / "x.sqlite")
    assert {mode(part) for part in tmp_path.iterdir()} == {0o600}


def test_what_its_user_may_not_do_stays_so(tmp_path: Path) -> None:
    (tmp_path / "x").touch(0o444)
    close_to_others(tmp_path / "x")
    assert mode(tmp_path / "x") == 0o400


def test_an_error_of_making_a_file_private_is_ignored(tmp_path: Path) -> None:
    make_private_file(tmp_path / "no folder" / "x")
    assert list(tmp_path.iterdir()) == []


def test_a_lock_on_a_file_that_is_closed_to_others_is_kept(tmp_path: Path) -> None:
    """Another connection of this process may have it open."""
    file = tmp_path / "x.sqlite"
    file.touch(0o644)
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        connection.execute("begin exclusive")
        make_private_file(file)
        other = subprocess.run([sys.executable, "-c", WRITES, str(file)], capture_output=True, text=True, check=False)
    assert "database is locked" in other.stderr


@pytest.mark.parametrize(("is_open", "bits"), [(False, 0o700), (True, 0o750), (True, 0o701)])
def test_a_folder_that_is_open_to_others_is_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, is_open: bool, bits: int
) -> None:
    tmp_path.chmod(bits)
    warn_of_open_folder(tmp_path)
    assert [f"{tmp_path} is open to other users" in text for text in caplog.messages] == [True] * is_open


@pytest.mark.parametrize(("is_open", "bits"), [(False, 0o600), (False, 0o640), (True, 0o644)])
def test_a_secret_that_everybody_can_read_is_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, is_open: bool, bits: int
) -> None:
    (tmp_path / "key").touch(bits)
    warn_of_open_secret(tmp_path / "key", "the signing key")
    assert (
        caplog.messages
        == [f"the signing key {tmp_path / 'key'} can be read by every user of this machine: chmod 600"] * is_open
    )


def test_nothing_is_logged_of_a_missing_file(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    warn_of_open_folder(tmp_path / "none")
    warn_of_open_secret(tmp_path / "none", "the signing key")
    assert caplog.messages == []
