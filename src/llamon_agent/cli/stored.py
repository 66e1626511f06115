"""Where the operator's commands find what an edge has stored."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from llamon_agent.cli.exits import Usage
from llamon_agent.cli.serve import default_file
from llamon_agent.config_data import DataConfig
from llamon_agent.config_loading import load_data_config


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Place:
    """The options that say which edge's store is meant, as `llamon serve` has them."""

    config: Annotated[Path | None, Parameter(show_default=False)] = None
    """The edge's configuration file. Without it: edge.yaml or configs/edge.yaml, if there is one."""
    data: Annotated[Path | None, Parameter(show_default=False)] = None
    """The edge's data folder."""

    def found(self) -> DataConfig:
        """Where tasks and threads are. Raises: Usage, ConfigError."""
        flags: dict[str, Any] = {"data": {"folder": str(self.data)}} if self.data else {}
        data = load_data_config(self.config or default_file(), flags)
        if data.ephemeral:
            raise Usage("data.ephemeral: this edge keeps its tasks in memory, where no command can look.")
        return data
