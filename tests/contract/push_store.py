"""What every `PushStore` must do, as a test suite. The tests of a store inherit it, besides `TaskStoreContract`:

class TestMyPushStore(PushStoreContract):
    @pytest.fixture
    async def store(self) -> AsyncIterator[Store]:
        store = await MyStore.open(...)
        yield store
        await store.close()
"""

import asyncio

import pytest
from tests.contract.task_store import a_task, next_of

from llamon_agent.domain.errors import BackendError
from llamon_agent.domain.task import TERMINAL, PushConfig, Task, TaskPushConfig, TaskState
from llamon_agent.runs.ports.store import Store

_PATIENCE_S = 5


def a_push(
    id: str = "push-1",  # noqa: A002 -- named as on PushConfig
    *,
    task_id: str = "task-1",
    owner: str = "ann",
    agent: str = "demo",
    url: str = "https://hooks.example/a",
    told_seq: int = 0,
) -> TaskPushConfig:
    """A small webhook, to be made special by what a test names."""
    config = PushConfig(id=id, url=url, version="1.0")
    return TaskPushConfig(owner=owner, agent=agent, task_id=task_id, config=config, told_seq=told_seq)


def a_full_push() -> TaskPushConfig:
    """A webhook that uses every field, with values that a careless store bends."""
    config = PushConfig(
        id="it's; drop table push --",
        url="https://hooks.example/한국어?a=%00&b=1#x",
        version="0.3",
        token="a token",
        schemes=("Bearer", "Basic"),
        credentials='"secret"',
    )
    return TaskPushConfig(owner="ann", agent="demo", task_id="task-1", config=config, told_seq=2**40)


async def told(store: Store) -> dict[str, int]:
    """What each webhook of the task was told of, by its id."""
    return {push.config.id: push.told_seq for push in await store.list_push("ann", "demo", "task-1")}


async def untold(store: Store) -> list[tuple[str, str]]:
    """Task and id of what is still to be told."""
    return [(push.task_id, push.config.id) for push in await store.undelivered()]


async def keep(store: Store, task: Task, *pushes: TaskPushConfig) -> None:
    """A task and its webhooks."""
    await store.create(task)
    for push in pushes:
        await store.put_push(push)


class PushStoreContract:
    """Inherit it, and override `store` with an empty one that is closed afterwards."""

    @pytest.fixture
    def store(self) -> Store:
        raise NotImplementedError("override the store fixture")

    # put, list

    async def test_a_webhook_comes_back_as_it_went_in(self, store: Store) -> None:
        await keep(store, a_task(), a_full_push())
        assert await store.list_push("ann", "demo", "task-1") == (a_full_push(),)

    async def test_the_webhooks_of_a_task_come_by_id(self, store: Store) -> None:
        pushes = [a_push("b"), a_push("é"), a_push("B"), a_push("a")]
        await keep(store, a_task(), *pushes)
        assert [push.config.id for push in await store.list_push("ann", "demo", "task-1")] == ["B", "a", "b", "é"]

    async def test_a_webhook_with_the_id_of_another_takes_its_place(self, store: Store) -> None:
        later = a_push(url="https://hooks.example/b", told_seq=1)
        await keep(store, a_task(), a_push(told_seq=5), a_push("other"), later)
        assert await store.list_push("ann", "demo", "task-1") == (a_push("other"), later)

    async def test_the_same_id_at_another_task_is_another_webhook(self, store: Store) -> None:
        await keep(store, a_task(), a_push())
        await keep(store, a_task("task-2"), a_push(task_id="task-2", told_seq=3))
        assert await store.list_push("ann", "demo", "task-1") == (a_push(),)
        assert await store.list_push("ann", "demo", "task-2") == (a_push(task_id="task-2", told_seq=3),)

    @pytest.mark.parametrize(("owner", "agent"), [("bob", "demo"), ("ann", "other"), ("", ""), ("ANN", "demo")])
    async def test_another_owners_or_agents_webhooks_are_not_listed(self, store: Store, owner: str, agent: str) -> None:
        await keep(store, a_task(), a_push())
        assert await store.list_push(owner, agent, "task-1") == ()

    async def test_an_unknown_task_has_no_webhooks(self, store: Store) -> None:
        assert await store.list_push("ann", "demo", "task-1") == ()

    # delete

    async def test_a_deleted_webhook_is_gone_and_the_others_stay(self, store: Store) -> None:
        await keep(store, a_task(), a_push("a"), a_push("b"))
        for _ in range(2):  # the second time there is none, which is fine
            await store.delete_push("ann", "demo", "task-1", "a")
        assert await store.list_push("ann", "demo", "task-1") == (a_push("b"),)
        assert await untold(store) == [("task-1", "b")]

    @pytest.mark.parametrize(("owner", "agent"), [("bob", "demo"), ("ann", "other")])
    async def test_a_webhook_of_another_owner_is_not_deleted(self, store: Store, owner: str, agent: str) -> None:
        await keep(store, a_task(), a_push())
        await store.delete_push(owner, agent, "task-1", "push-1")
        assert await told(store) == {"push-1": 0}

    async def test_a_webhook_can_be_set_again_after_it_was_deleted(self, store: Store) -> None:
        await keep(store, a_task(), a_push(told_seq=7))
        await store.delete_push("ann", "demo", "task-1", "push-1")
        await store.put_push(a_push())
        assert await told(store) == {"push-1": 0}

    # told

    async def test_the_delivered_number_never_goes_back(self, store: Store) -> None:
        await keep(store, a_task(), a_push("a"), a_push("b"))
        for seq in (3, 2, 3, 0):
            await store.mark_delivered("task-1", "a", seq)
        assert await told(store) == {"a": 3, "b": 0}

    async def test_of_many_deliveries_at_once_the_highest_number_counts(self, store: Store) -> None:
        await keep(store, a_task(), a_push())
        async with asyncio.timeout(_PATIENCE_S):
            await asyncio.gather(*(store.mark_delivered("task-1", "push-1", seq) for seq in (5, 20, 1, 19)))
        assert await told(store) == {"push-1": 20}

    async def test_telling_a_webhook_that_is_gone_brings_nothing_back(self, store: Store) -> None:
        await store.mark_delivered("task-1", "push-1", 3)
        assert await told(store) == {}

    # untold

    async def test_a_webhook_of_a_task_that_goes_on_is_undelivered(self, store: Store) -> None:
        states = [state for state in TaskState if state not in TERMINAL]
        for state in states:
            await keep(store, a_task(state, owner=state, state=state), a_push(task_id=state, owner=state, told_seq=1))
        assert await untold(store) == [(state, "push-1") for state in sorted(states)]

    async def test_of_a_task_that_has_ended_only_the_undelivered_are_left(self, store: Store) -> None:
        ended = a_task(state=TaskState.COMPLETED, seq=5)
        await keep(store, ended, a_push("behind", told_seq=4), a_push("new"), a_push("told", told_seq=5))
        assert await untold(store) == [("task-1", "behind"), ("task-1", "new")]
        assert await store.undelivered() == (a_push("behind", told_seq=4), a_push("new"))

    async def test_a_webhook_that_got_the_end_is_delivered(self, store: Store) -> None:
        task = a_task()
        await keep(store, task, a_push())
        await store.mark_delivered("task-1", "push-1", task.seq)
        assert await untold(store) == [("task-1", "push-1")]
        ended = next_of(task, TaskState.FAILED)
        await store.save(ended, expect=task.seq)
        assert await untold(store) == [("task-1", "push-1")]
        await store.mark_delivered("task-1", "push-1", ended.seq)
        assert await untold(store) == []

    async def test_a_webhook_that_is_set_again_is_undelivered_again(self, store: Store) -> None:
        await keep(store, a_task(state=TaskState.COMPLETED, seq=5), a_push())
        await store.mark_delivered("task-1", "push-1", 5)
        await store.put_push(a_push())
        assert await untold(store) == [("task-1", "push-1")]

    async def test_a_webhook_without_a_task_is_never_delivered(self, store: Store) -> None:
        await store.put_push(a_push())
        assert await untold(store) == []

    # close

    async def test_a_closed_store_keeps_no_webhooks(self, store: Store) -> None:
        await keep(store, a_task(), a_push())
        await store.close()
        for call in (
            store.put_push(a_push("late")),
            store.list_push("ann", "demo", "task-1"),
            store.delete_push("ann", "demo", "task-1", "push-1"),
            store.mark_delivered("task-1", "push-1", 1),
            store.undelivered(),
        ):
            with pytest.raises(BackendError):
                await call
