"""The memory store keeps the contracts."""

from collections.abc import AsyncIterator

import pytest
from tests.contract.push_store import PushStoreContract
from tests.contract.task_store import TaskStoreContract, a_full_task

from llamon_agent.runs.ports.store import Store, TaskStore
from llamon_agent.store.memory import MemoryTaskStore


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
