"""What every inspection shows, as a suite: its own tests inherit it, and give the store that it looks at."""

from collections.abc import Callable
from contextlib import AbstractContextManager

import pytest
from tests.contract.push_store import a_push
from tests.contract.task_store import a_full_task, a_key, a_task, next_of

from llamon_agent.domain.task import TaskState
from llamon_agent.runs.inspection import Inspection, TaskFilter
from llamon_agent.runs.ports.store import Store

Look = Callable[[], AbstractContextManager[Inspection]]

S = TaskState


async def fill(store: Store) -> None:
    """Tasks of several owners, agents and contexts, whose order by id is not that by time."""
    await store.create(a_task("1", owner="ann", agent="demo", context_id="c1", state=S.COMPLETED, at_ms=300))
    await store.create(a_task("2", owner="ann", agent="words", context_id="c1", state=S.FAILED, at_ms=100))
    await store.create(a_task("3", owner="bob\0\\", agent="demo", context_id="c2", state=S.WORKING, at_ms=200))


class InspectionContract:
    """Inherit it, and override `store` and `look`, both of one place that is empty."""

    @pytest.fixture
    def store(self) -> Store:
        raise NotImplementedError

    @pytest.fixture
    def look(self) -> Look:
        raise NotImplementedError

    async def test_the_latest_come_newest_first_whoever_owns_them(self, store: Store, look: Look) -> None:
        await fill(store)
        with look() as stored:
            assert [task.id for task in stored.latest(TaskFilter(), limit=9)] == ["1", "3", "2"]
            assert [task.id for task in stored.latest(TaskFilter(), limit=2)] == ["1", "3"]

    async def test_all_come_by_id(self, store: Store, look: Look) -> None:
        await fill(store)
        with look() as stored:
            assert [task.id for task in stored.every(TaskFilter())] == ["1", "2", "3"]

    @pytest.mark.parametrize(
        ("wanted", "found"),
        [
            (TaskFilter(owner="ann"), ["1", "2"]),
            (TaskFilter(owner="bob\0\\"), ["3"]),
            (TaskFilter(agent="demo"), ["1", "3"]),
            (TaskFilter(context_id="c2"), ["3"]),
            (TaskFilter(states=(S.WORKING, S.FAILED)), ["2", "3"]),
            (TaskFilter(since_ms=200), ["1", "3"]),
            (TaskFilter(before_ms=200), ["2"]),
            (TaskFilter(owner="ann", agent="demo", context_id="c1", states=(S.COMPLETED,)), ["1"]),
            (TaskFilter(owner="nobody"), []),
        ],
    )
    async def test_every_filter_narrows_alike(
        self, store: Store, look: Look, wanted: TaskFilter, found: list[str]
    ) -> None:
        await fill(store)
        with look() as stored:
            assert [task.id for task in stored.every(wanted)] == found
            assert sorted(task.id for task in stored.latest(wanted, limit=9)) == found
            assert stored.count(wanted) == len(found)

    async def test_a_task_is_found_by_its_id_as_it_is_stored(self, store: Store, look: Look) -> None:
        await store.create(a_full_task("full"))
        with look() as stored:
            assert stored.find("full") == a_full_task("full")
            assert stored.find("other") is None

    async def test_the_facts_count_what_there_is(self, store: Store, look: Look) -> None:
        await fill(store)
        await store.create(a_task("4", state=S.WORKING), key=a_key())
        await store.put_push(a_push(task_id="4"))
        with look() as stored:
            facts = stored.facts()
        assert facts.states == {S.COMPLETED: 1, S.FAILED: 1, S.WORKING: 2}
        assert (facts.webhooks, facts.keys, facts.pending) == (1, 1, 0)
        assert facts.size_bytes > 0

    async def test_more_tasks_than_fit_at_once_are_all_read(self, store: Store, look: Look) -> None:
        made = [f"{number:03}" for number in range(250)]
        for task_id in made:
            await store.create(a_task(task_id))
        with look() as stored:
            assert [task.id for task in stored.every(TaskFilter())] == made

    async def test_it_is_looked_at_while_it_is_written(self, store: Store, look: Look) -> None:
        await store.create(a_task("1"))
        with look() as stored:
            await store.save(next_of(a_task("1"), S.COMPLETED), expect=1)
            found = stored.find("1")
        assert found is not None
        assert found.status.state is S.COMPLETED
