"""The section `data`: where tasks and threads are kept."""

from pathlib import Path
from typing import Annotated, Literal, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, SecretStr, model_validator

from llamon_agent.config.problems import Wrong
from llamon_agent.config.sections import Section
from llamon_agent.config.values import Duration, read_duration_s
from llamon_agent.domain.task import Retention


def _postgres_url(value: SecretStr) -> SecretStr:
    if urlsplit(value.get_secret_value()).scheme not in ("postgresql", "postgres"):
        raise Wrong("must be the address of a database, such as postgresql://user:password@host:5432/name")
    return value


PostgresUrl = Annotated[SecretStr, AfterValidator(_postgres_url)]


class PostgresConfig(Section):
    """Tasks and threads in a Postgres database; it needs llamon-agent[postgres]."""

    url: PostgresUrl
    """The database, as postgresql://USER:PASSWORD@HOST:PORT/NAME; libpq's options may follow: ?sslmode=..."""
    pool_min: Annotated[int, Field(ge=1, le=1000)] = 2
    """How many connections are kept open."""
    pool_max: Annotated[int, Field(ge=2, le=1000)] = 10
    """How many connections there may be."""
    prepare: bool = True
    """Whether a connection keeps settings and prepared statements. Off for a pooler that gives each transaction another
    connection."""
    pipeline: bool = True
    """Whether statements are sent without waiting for the answers to those before. Off for a pooler that does not
    support it."""

    @model_validator(mode="after")
    def _min_fits(self) -> Self:
        if self.pool_min > self.pool_max:
            raise Wrong("has a pool_min above its pool_max")
        return self


class RetentionConfig(Section):
    """How long finished things are kept, such as 30d, 24h or 10m."""

    tasks: Duration | None = None
    """How long a task is kept after its end, with its artifacts and webhooks. A conversation goes with its last task.
    Without it, forever; with `ephemeral`, an hour."""
    paused: Duration | None = None
    """How long a task may wait for its caller, before it fails. Without it, forever; with `ephemeral`, a day."""
    idempotency: Duration = "24h"
    """How long an idempotency key is remembered."""
    past_turns: Annotated[int, Field(ge=1)] | Literal["all"] = 1
    """How many turns before the last one a LangGraph thread can go back to. Checkpoints that this does not need are
    deleted when a task has ended. `all` deletes none. A checkpointer of a graph's own is left alone."""


_EPHEMERAL = RetentionConfig(tasks="1h", paused="24h")


class DataConfig(Section):
    """Where tasks and threads are kept."""

    folder: Path = Path("data")
    """The data folder. One process owns it."""
    postgres: PostgresConfig | None = None
    """A Postgres database that keeps tasks and threads. Without it, the data folder does."""
    ephemeral: bool = False
    """Keep everything in memory; a restart loses it."""
    durability: Literal["full", "normal"] = "full"
    """`full` survives a power cut, `normal` only a crash of the process, and is faster."""
    lease_s: Annotated[float, Field(ge=1, le=3600, allow_inf_nan=False)] = 15.0
    """After how many seconds without a renewed lease another process takes over the runs of a process."""
    max_attempts: Annotated[int, Field(ge=1, le=100)] = 3
    """How often a run is tried when its process dies during it."""
    retention: RetentionConfig = RetentionConfig()
    """How long finished things are kept."""

    @property
    def retained(self) -> Retention:
        """How long everything is kept; in memory nothing is kept forever."""
        given = self.retention
        otherwise = _EPHEMERAL if self.ephemeral else given
        return Retention(
            tasks_s=_seconds(given.tasks or otherwise.tasks),
            paused_s=_seconds(given.paused or otherwise.paused),
            keys_s=_seconds(given.idempotency),
        )

    @property
    def past_turns(self) -> int | None:
        """How many past turns of a thread are kept; None for all."""
        kept = self.retention.past_turns
        return None if kept == "all" else kept


def _seconds(duration: Duration | None) -> float | None:
    return None if duration is None else read_duration_s(duration)
