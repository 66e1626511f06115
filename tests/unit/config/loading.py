"""Configurations that a test writes down."""

from collections.abc import Callable
from typing import Any

import pytest

from llamon_agent.config.edge import EdgeConfig
from llamon_agent.domain.errors import ConfigError

Load = Callable[..., EdgeConfig]
"""Loads a file of this text, named edge.yaml, with these flags."""

ECHO = "a2a: {adapter: echo}\n"
URL = "postgresql://llamon:secret@db:5432/llamon?sslmode=require"


def problems(load: Load, text: str = "", **flags: Any) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        load(text, **flags)
    return caught.value.public.splitlines()


def names(config: EdgeConfig) -> list[str]:
    return [spec.target.name for spec in config.agent_specs()]
