"""What is wrong with a database is told once, with what helps."""

import psycopg
import pytest
from psycopg_pool import PoolTimeout

from llamon_agent.domain.errors import BackendError
from llamon_agent.store.postgres.pool import PostgresAccess, what_is_wrong


@pytest.mark.parametrize(
    ("failure", "helps"),
    [
        (psycopg.OperationalError("the connection is lost"), "start it"),
        (PoolTimeout("no connection in time"), "start it"),
        (ConnectionRefusedError(), "start it"),
        (psycopg.errors.AdminShutdown(), "start it"),
        (psycopg.errors.CannotConnectNow(), "start it"),
        (psycopg.errors.ReadOnlySqlTransaction(), "the address of the primary"),
        (psycopg.errors.DiskFull(), "make room on it"),
        (psycopg.errors.TooManyConnections(), "raise its max_connections"),
        (psycopg.errors.QueryCanceled(), "see what it is busy with"),
        (TimeoutError(), "see what it is busy with"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else None,
)
def test_what_is_wrong_is_told_once_with_what_helps(
    failure: Exception, helps: str, caplog: pytest.LogCaptureFixture
) -> None:
    access = PostgresAccess()
    for _ in range(2):
        with pytest.raises(BackendError) as raised, access.writing():
            raise failure
        assert (raised.value.public, raised.value.__cause__) == (BackendError.public, failure)
    (told,) = caplog.messages
    assert told.startswith("the database cannot be written: ")
    assert helps in told


def test_what_may_be_our_own_fault_is_told_with_its_traceback(caplog: pytest.LogCaptureFixture) -> None:
    failure = psycopg.errors.UndefinedTable()
    assert what_is_wrong(failure) is None
    assert what_is_wrong(psycopg.ProgrammingError("no statement")) is None
    for _ in range(2):
        with pytest.raises(BackendError), PostgresAccess().reading():
            raise failure
    assert [record.exc_info and record.exc_info[1] for record in caplog.records] == [failure] * 2


def test_what_is_no_failure_of_the_database_is_left_alone() -> None:
    with pytest.raises(KeyError), PostgresAccess().reading():
        raise KeyError
