import asyncio
import os
from pathlib import Path

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from tests.unit.adapters.langgraph.scripted import agent_of, chat_graph, messages_of, plain

from llamon_agent.adapters.langgraph.checkpoints import open_checkpoints
from llamon_agent.domain.errors import ConfigError


async def test_sqlite_keeps_a_thread_over_a_restart(tmp_path: Path) -> None:
    folder = tmp_path / "made" / "on demand"
    async with open_checkpoints("sqlite", folder) as saver:
        await agent_of(chat_graph(plain("one"), saver)).invoke("q", thread_id="thread")
    async with open_checkpoints("sqlite", folder) as saver:
        kept = await messages_of(chat_graph(plain(), saver))
    assert [message.content for message in kept] == ["q", "one"]


async def test_memory_and_none_touch_no_disk(tmp_path: Path) -> None:
    async with open_checkpoints("memory", tmp_path) as memory, open_checkpoints("none", tmp_path) as none:
        assert isinstance(memory, InMemorySaver)
        assert none is None
    assert os.listdir(tmp_path) == []


async def test_a_data_folder_that_cannot_be_made_is_a_config_error(tmp_path: Path) -> None:
    await asyncio.to_thread((tmp_path / "file").write_text, "")
    with pytest.raises(ConfigError, match="cannot be made"):
        async with open_checkpoints("sqlite", tmp_path / "file" / "folder"):
            pass
