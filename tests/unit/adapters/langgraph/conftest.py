"""Both checkpointers, for tests where the saved state matters."""

from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.base import BaseCheckpointSaver

from llamon_agent.adapters.langgraph.checkpoints.sqlite import open_checkpoints


@pytest.fixture(params=["memory", "sqlite"])
async def saver(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncGenerator[BaseCheckpointSaver[Any]]:
    async with open_checkpoints(request.param, tmp_path) as opened:
        assert opened is not None
        yield opened
