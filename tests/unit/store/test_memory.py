"""The memory store keeps the contracts."""

from collections.abc import AsyncIterator

import msgspec
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


async def test_a_task_is_kept_as_a_database_would_read_it_and_is_not_copied_again() -> None:
    store, task = MemoryTaskStore(), msgspec.structs.replace(a_full_task(), metadata={"x": (1, float("nan"))})
    await store.create(task)
    found = await store.get(task.owner, task.agent, task.id)
    assert found == msgspec.structs.replace(task, metadata={"x": [1, None]})
    assert await store.get(task.owner, task.agent, task.id) is found
