"""What is wrong with a file is found out, and told with what helps."""

import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from llamon_agent.domain.errors import BackendError
from llamon_agent.store.sqlite.file import FileGone, SqliteFile, what_is_wrong


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "tasks.sqlite"


@pytest.fixture
def connection(path: Path) -> Iterator[sqlite3.Connection]:
    path.parent.mkdir()
    with closing(sqlite3.connect(path, timeout=0, isolation_level=None)) as connection:
        connection.execute("pragma journal_mode = wal")
        connection.execute("create table kept (x)")
        yield connection


@pytest.fixture
def file(path: Path, connection: sqlite3.Connection) -> SqliteFile:
    return SqliteFile(path, "the task store")


def wal(path: Path) -> Path:
    return path.with_name(f"{path.name}-wal")


def replace(path: Path) -> None:
    shutil.copy(path, path.with_name("copy"))
    path.with_name("copy").rename(path)


def test_a_file_in_its_place_may_be_written(file: SqliteFile) -> None:
    file.check()
    with file.writing():
        pass


@pytest.mark.parametrize(
    "happens",
    [
        Path.unlink,
        lambda path: wal(path).unlink(),
        replace,
        lambda path: replace(wal(path)),
        lambda path: path.rename(path.with_name("elsewhere")),
        lambda path: path.parent.rename(path.parent.with_name("elsewhere")),
    ],
    ids=["deleted", "log deleted", "replaced", "log replaced", "moved", "folder moved"],
)
def test_a_file_that_is_not_in_its_place_is_not_written(
    file: SqliteFile, path: Path, happens: Callable[[Path], object], caplog: pytest.LogCaptureFixture
) -> None:
    happens(path)
    with pytest.raises(BackendError) as raised, file.writing():
        raise AssertionError("it was used")
    assert isinstance(raised.value.__cause__, FileGone)
    assert caplog.messages == [
        f"the task store {path} cannot be written: it was deleted, moved or replaced; put it back, or restart"
    ]


def test_a_file_that_was_put_back_is_written_again(file: SqliteFile, path: Path) -> None:
    moved = path.rename(path.with_name("elsewhere"))
    with pytest.raises(FileGone):
        file.check()
    moved.rename(path)
    file.check()


def test_a_file_that_is_not_in_its_place_may_still_be_read(file: SqliteFile, path: Path) -> None:
    path.unlink()
    with file.reading():
        pass


def test_reads_that_work_are_not_the_end_of_writes_that_fail(
    file: SqliteFile, path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path.unlink()
    for _ in range(3):
        with pytest.raises(BackendError), file.writing():
            pass
        with file.reading():
            pass
    assert len(caplog.messages) == 1


def test_a_full_file_is_reported(connection: sqlite3.Connection, file: SqliteFile) -> None:
    (pages,) = connection.execute("pragma page_count").fetchone()
    connection.execute(f"pragma max_page_count = {pages}")
    with pytest.raises(BackendError) as raised, file.writing():
        connection.execute("insert into kept values (zeroblob(100000))")
    assert what_is_wrong(raised.value.__cause__ or raised.value) == "the disk is full; make room on it"


def test_a_locked_file_is_reported(connection: sqlite3.Connection, file: SqliteFile, path: Path) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("begin exclusive")
        with pytest.raises(BackendError) as raised, file.writing():
            connection.execute("insert into kept values (1)")
    assert what_is_wrong(raised.value.__cause__ or raised.value) == "another program holds it; end that program"


def test_a_file_that_may_not_be_written_is_reported(connection: sqlite3.Connection, file: SqliteFile) -> None:
    connection.execute("pragma query_only = true")
    with pytest.raises(BackendError) as raised, file.writing():
        connection.execute("insert into kept values (1)")
    assert "make it and its folder writable" in (what_is_wrong(raised.value.__cause__ or raised.value) or "")


def test_what_is_no_failure_of_the_file_is_left_alone(file: SqliteFile) -> None:
    with pytest.raises(KeyError), file.reading():
        raise KeyError


def test_what_has_no_code_that_we_know_has_no_words() -> None:
    assert what_is_wrong(sqlite3.ProgrammingError("closed")) is None
    assert what_is_wrong(RuntimeError("no thread")) is None


def test_what_holds_or_fills_a_file_may_pass_and_what_damages_or_replaces_it_does_not(
    path: Path, file: SqliteFile, connection: sqlite3.Connection
) -> None:
    (pages,) = connection.execute("pragma page_count").fetchone()
    connection.execute(f"pragma max_page_count = {pages}")
    with pytest.raises(sqlite3.OperationalError) as full:
        connection.execute("insert into kept values (zeroblob(100000))")
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("begin immediate")
        with pytest.raises(sqlite3.OperationalError) as busy:
            connection.execute("begin immediate")
    with pytest.raises(sqlite3.OperationalError) as wrong:
        connection.execute("nonsense")
    replace(path)
    with pytest.raises(FileGone) as gone:
        file.check()
    assert [file.may_pass(raised.value) for raised in (full, busy, wrong, gone)] == [True, True, False, False]
