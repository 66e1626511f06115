"""What only the wiring knows."""

import sys

import pytest

from llamon_agent.app import open_edge
from llamon_agent.config import A2aConfig, DataConfig, EdgeConfig
from llamon_agent.domain.errors import ConfigError


async def test_a_model_without_langchain_is_told_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "llamon_agent.adapters.model.load", None)
    config = EdgeConfig(a2a=A2aConfig(adapter="model", target="openai:m"), data=DataConfig(ephemeral=True))
    with pytest.raises(ConfigError, match=r"install llamon-agent\[model\]"):
        async with open_edge(config):
            pass
