"""Uses of a database by all who keep something there, and what helps where it is away."""

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import psycopg

from llamon_agent.domain.errors import BackendError
from llamon_agent.store.outage import Outage

_log = logging.getLogger(__name__)

_UNREACHED = "it is not reached; start it, or see to the way there"

_WRONG: Mapping[str, str] = {
    "25006": "it takes no writes; see why it is read-only, or give the address of the primary",
    "53100": "its disk is full; make room on it",
    "53300": "it has no connection left; raise its max_connections, or lower data.postgres.pool_max",
    "57014": "it takes too long; see what it is busy with",
    "57P01": _UNREACHED,
    "57P02": _UNREACHED,
    "57P03": _UNREACHED,
}
"""What is wrong and what helps, by SQLSTATE. Source: PostgreSQL, appendix A."""


class PostgresAccess:
    """How a database does. Belongs to one event loop."""

    def __init__(self) -> None:
        self.reads = Outage("the database", "read", _log)
        self.writes = Outage("the database", "written", _log)

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Around a use that reads. Raises: BackendError, where the database is what fails."""
        with _used(self.reads):
            yield

    @contextmanager
    def looking(self) -> Iterator[None]:
        """Around a look whether it can be used, of which the log hears nothing. Raises: BackendError."""
        if self.writes.is_on:
            raise BackendError()
        try:
            yield
        except (psycopg.Error, OSError) as exc:
            raise BackendError() from exc

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Around a use that writes. Raises: BackendError, where the database is what fails."""
        with _used(self.writes):
            yield


def what_is_wrong(exc: BaseException) -> str | None:
    """What is wrong with a database and what helps; None where that is not known."""
    if isinstance(exc, TimeoutError):
        return _WRONG["57014"]
    if isinstance(exc, OSError):
        return _UNREACHED
    state = getattr(exc, "sqlstate", None)
    if state is None:  # a connection that broke or never came to be has none
        return _UNREACHED if isinstance(exc, psycopg.OperationalError) else None
    return _WRONG.get(state)


@contextmanager
def _used(outage: Outage) -> Iterator[None]:
    try:
        yield
    except (psycopg.Error, OSError) as exc:  # TimeoutError is an OSError
        outage.failed(what_is_wrong(exc), exc)
        raise BackendError() from exc
    outage.over()
