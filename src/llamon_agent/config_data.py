"""The section `data`: where tasks and threads are kept."""

from pathlib import Path
from typing import Annotated, Literal, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, SecretStr, model_validator

from llamon_agent.config_problems import Wrong
from llamon_agent.config_section import Section


def _postgres_url(value: SecretStr) -> SecretStr:
    if urlsplit(value.get_secret_value()).scheme not in ("postgresql", "postgres"):
        raise Wrong("must be the address of a database, such as postgresql://user:password@host:5432/name")
    return value


PostgresUrl = Annotated[SecretStr, AfterValidator(_postgres_url)]


class PostgresConfig(Section):
    """Tasks and threads in a Postgres database; it needs llamon-agent[postgres]."""

    url: PostgresUrl
    """The database, as postgresql://USER:PASSWORD@HOST:PORT/NAME; whatever libpq takes may follow, such as ?sslmode=..."""
    pool_min: Annotated[int, Field(ge=1, le=1000)] = 2
    """How many connections are kept open."""
    pool_max: Annotated[int, Field(ge=2, le=1000)] = 10
    """How many connections there may be."""
    prepare: bool = True
    """Whether a connection keeps settings and prepared statements. Off for a pooler that gives each transaction another
    connection."""
    pipeline: bool = True
    """Whether statements are sent without waiting for the answers to those before. Off for a pooler that cannot do that.
    """

    @model_validator(mode="after")
    def _min_fits(self) -> Self:
        if self.pool_min > self.pool_max:
            raise Wrong("has a pool_min above its pool_max")
        return self


class DataConfig(Section):
    """Where tasks and threads are kept."""

    folder: Path = Path("data")
    """The data folder. One process owns it."""
    postgres: PostgresConfig | None = None
    """A Postgres database that keeps tasks and threads. Without it, the data folder does."""
    ephemeral: bool = False
    """Keep everything in memory; a restart forgets it."""
    durability: Literal["full", "normal"] = "full"
    """`full` survives a power cut, `normal` only a crash of the process, and is faster."""
