"""Options that several commands share."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from llamon_agent.cli.exits import Usage

if TYPE_CHECKING:
    from llamon_agent.config.data import DataConfig

Switch = Annotated[bool, Parameter(negative="", show_default=False)]
"""Off unless it is given."""

AsJson = Annotated[bool, Parameter(name="--json", negative="", show_default=False)]
"""For programs: JSON on stdout and nothing else there."""

Token = Annotated[str | None, Parameter(env_var="LLAMON_TOKEN")]
"""A bearer token."""

DEFAULT_FILES = (Path("edge.yaml"), Path("configs/edge.yaml"))
"""Where a command looks for the configuration; the first that exists counts."""


def default_file() -> Path | None:
    """The configuration in the working folder, if there is one."""
    return next((path for path in DEFAULT_FILES if path.is_file()), None)


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class StoreOptions:
    """The options that say which edge's store is meant, as `llamon serve` has them."""

    config: Annotated[Path | None, Parameter(show_default=False)] = None
    """The edge's configuration file. Without it: edge.yaml or configs/edge.yaml, if there is one."""
    data: Annotated[Path | None, Parameter(show_default=False)] = None
    """The edge's data folder."""

    def load(self) -> "DataConfig":
        """Where tasks and threads are. Raises: Usage, ConfigError."""
        from llamon_agent.config.load import load_data_config  # not for the commands that only call agents

        flags: dict[str, Any] = {"data": {"folder": str(self.data)}} if self.data else {}
        data = load_data_config(self.config or default_file(), flags)
        if data.ephemeral:
            raise Usage("data.ephemeral: this edge keeps its tasks in memory, where no command can read them.")
        return data
