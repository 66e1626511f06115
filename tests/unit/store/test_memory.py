"""The memory store keeps the contracts."""

from collections.abc import AsyncIterator

import pytest

from llamon_agent.runs.ports.store import Store, TaskStore
from llamon_agent.store.memory import MemoryTaskStore
from llamon_agent.testing.push_contract import PushStoreContract
from llamon_agent.testing.store_contract import TaskStoreContract, a_full_task


class TestMemoryTaskStore(TaskStoreContract):
    @pytest.fixture
    async def store(self) -> AsyncIterator[TaskStore]:
        store = MemoryTaskStore()
        yield store
        await store.close()


class TestMemoryPushStore(PushStoreContract):
    @pytest.fixture
    async def store(self) -> AsyncIterator[Store]:
        store = MemoryTaskStore()
        yield store
        await store.close()


async def test_a_task_is_not_copied() -> None:
    store, task = MemoryTaskStore(), a_full_task()
    await store.create(task)
    assert await store.get(task.owner, task.agent, task.id) is task
