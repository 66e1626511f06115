"""What every `TaskStore` must do that several processes can have open, at once or one after the other. A suite of its
own, inherited in the same way as `TaskStoreContract`.
"""

import asyncio
from collections.abc import Sequence

import msgspec
import pytest
from tests.contract.task_store import MINE, a_key, a_task, a_turn, conflicts, next_of

from llamon_agent.domain.errors import Conflict
from llamon_agent.domain.task import Task, TaskQuery, TaskState
from llamon_agent.runs.ports.store import Abandoned, TaskStore

_PATIENCE_S = 5


def abandoned_ids(found: Sequence[Abandoned]) -> list[str]:
    """The ids of what was taken over, in its order."""
    return [each.task.id for each in found]


class LeaseContract:
    """Inherit it, and override `store` and `other` with two processes' stores of the same data, which is empty. Both
    are open already, and closed afterwards.
    """

    @pytest.fixture
    def store(self) -> TaskStore:
        raise NotImplementedError("override the store fixture")

    @pytest.fixture
    def other(self) -> TaskStore:
        raise NotImplementedError("override the other fixture")

    @pytest.fixture(autouse=True)
    async def both_are_known(self, store: TaskStore, other: TaskStore) -> None:
        assert await store.renew(until_ms=100)
        assert await other.renew(until_ms=1_000)

    async def test_every_holder_has_a_name_of_its_own(self, store: TaskStore, other: TaskStore) -> None:
        assert store.holder != other.holder
        assert store.is_durable
        assert other.is_durable

    async def test_totals_are_right_whoever_writes(self, store: TaskStore, other: TaskStore) -> None:
        async def live(each: TaskStore, task: Task) -> None:
            await each.create(task, turn=a_turn(task.id))
            for state in (TaskState.INPUT_REQUIRED, TaskState.WORKING, TaskState.COMPLETED):
                task, seq = next_of(task, state), task.seq
                await each.save(task, expect=seq)

        made = [a_task(f"task-{number}", owner="ann" if number % 2 else "bob") for number in range(80)]
        async with asyncio.timeout(_PATIENCE_S):
            await asyncio.gather(*[live((store, other)[n % 3 == 0], task) for n, task in enumerate(made)])
            await asyncio.gather(*[each.prune(before_ms=5_000, limit=15) for each in (store, other)])
        for owner in ("ann", "bob"):
            page = await store.list(TaskQuery(owner=owner, agent="demo", limit=100))
            assert page.total == len(page.tasks)
            assert (
                await other.list(TaskQuery(owner=owner, agent="demo", state=TaskState.COMPLETED))
            ).total == page.total

    async def test_a_living_holders_run_is_left_alone(self, store: TaskStore, other: TaskStore) -> None:
        await store.create(a_task(), turn=a_turn())
        assert await other.take_over(now_ms=99, limit=10) == ()

    async def test_a_run_whose_holder_died_comes_with_its_turn_once(self, store: TaskStore, other: TaskStore) -> None:
        await store.create(a_task(), turn=a_turn())
        assert await other.take_over(now_ms=100, limit=10) == (Abandoned(task=a_task(), turn=a_turn(), attempt=2),)
        assert await other.take_over(now_ms=100, limit=10) == ()

    async def test_the_runs_of_a_released_holder_can_be_taken_over_at_once(
        self, store: TaskStore, other: TaskStore
    ) -> None:
        await store.create(a_task(), turn=a_turn())
        await store.release_holder()
        assert abandoned_ids(await other.take_over(now_ms=0, limit=10)) == ["task-1"]

    async def test_what_another_one_holds_is_not_held(self, store: TaskStore, other: TaskStore) -> None:
        await store.create(a_task(), turn=a_turn())
        assert await other.held(excluding=(), limit=10) == ()
        await other.take_over(now_ms=100, limit=10)
        assert await store.held(excluding=(), limit=10) == ()
        assert await other.held(excluding=(), limit=10) == (a_task(),)

    async def test_a_renewed_lease_holds(self, store: TaskStore, other: TaskStore) -> None:
        await store.create(a_task(), turn=a_turn())
        assert await store.renew(until_ms=200)
        assert await other.take_over(now_ms=199, limit=10) == ()
        assert abandoned_ids(await other.take_over(now_ms=200, limit=10)) == ["task-1"]

    async def test_a_lease_that_ran_out_unnoticed_is_renewed(self, store: TaskStore, other: TaskStore) -> None:
        holder = store.holder
        assert await store.renew(until_ms=5_000)
        assert store.holder == holder
        assert await other.take_over(now_ms=4_000, limit=10) == ()

    async def test_a_holder_that_was_ended_learns_it_once_and_gets_a_new_name(
        self, store: TaskStore, other: TaskStore
    ) -> None:
        before = store.holder
        await other.take_over(now_ms=100, limit=10)
        assert not await store.renew(until_ms=5_000)
        assert store.holder not in (before, other.holder)
        assert await store.renew(until_ms=5_000)
        await store.create(a_task(), turn=a_turn())
        assert await other.take_over(now_ms=4_000, limit=10) == ()

    async def test_a_process_that_was_taken_over_overwrites_nothing(self, store: TaskStore, other: TaskStore) -> None:
        await store.create(a_task(), turn=a_turn())
        await other.take_over(now_ms=100, limit=10)
        for late in (next_of(a_task()), next_of(a_task(), TaskState.COMPLETED)):
            with pytest.raises(Conflict):
                await store.save(late, expect=1)
        with pytest.raises(Conflict):
            await store.save(next_of(a_task()), expect=1, turn=a_turn())
        assert await other.get("ann", "demo", "task-1") == a_task()
        await other.save(next_of(a_task(), TaskState.COMPLETED), expect=1)

    async def test_no_other_process_writes_into_a_living_holders_run(self, store: TaskStore, other: TaskStore) -> None:
        await store.create(a_task(), turn=a_turn())
        with pytest.raises(Conflict):
            await other.save(next_of(a_task(), TaskState.CANCELED), expect=1)
        assert await store.get("ann", "demo", "task-1") == a_task()

    @pytest.mark.parametrize("state", sorted(set(TaskState) - {TaskState.SUBMITTED, TaskState.WORKING}))
    async def test_a_settled_task_has_no_holder(self, store: TaskStore, other: TaskStore, state: TaskState) -> None:
        await store.create(a_task(), turn=a_turn())
        await store.save(next_of(a_task(), state), expect=1)
        await store.create(a_task("task-2", state=state), turn=a_turn("task-2"))
        assert await other.take_over(now_ms=10_000, limit=10) == ()

    async def test_whoever_answers_a_paused_task_holds_it(self, store: TaskStore, other: TaskStore) -> None:
        await store.create(a_task(), turn=a_turn())
        paused = next_of(a_task(), TaskState.INPUT_REQUIRED)
        await store.save(paused, expect=1)
        answered = next_of(paused)
        await other.save(answered, expect=paused.seq, turn=a_turn())
        with pytest.raises(Conflict):
            await store.save(next_of(answered, TaskState.COMPLETED), expect=answered.seq)
        await other.release_holder()
        assert await store.take_over(now_ms=0, limit=10) == (Abandoned(task=answered, turn=a_turn(), attempt=2),)

    async def test_a_save_without_a_turn_keeps_the_one_before(self, store: TaskStore, other: TaskStore) -> None:
        await store.create(a_task(), turn=a_turn())
        await store.save(next_of(a_task()), expect=1)
        (found,) = await other.take_over(now_ms=100, limit=10)
        assert found == Abandoned(task=next_of(a_task()), turn=a_turn(), attempt=2)

    async def test_a_save_with_a_turn_counts_anew(self, store: TaskStore, other: TaskStore) -> None:
        await store.create(a_task(), turn=a_turn())
        await other.take_over(now_ms=100, limit=10)
        new = msgspec.structs.replace(a_turn(), prompt="new")
        await other.save(next_of(a_task()), expect=1, turn=new)
        await other.release_holder()
        assert await store.take_over(now_ms=0, limit=10) == (Abandoned(task=next_of(a_task()), turn=new, attempt=2),)

    async def test_every_takeover_is_one_more_attempt(self, store: TaskStore, other: TaskStore) -> None:
        await store.create(a_task(), turn=a_turn())
        for attempt in (2, 3, 4):
            await store.release_holder()
            (found,) = await other.take_over(now_ms=0, limit=10)
            assert found.attempt == attempt
            store, other = other, store
            assert not await other.renew(until_ms=100)

    async def test_what_was_never_begun_has_not_been_tried(self, store: TaskStore, other: TaskStore) -> None:
        waiting = a_task(state=TaskState.SUBMITTED)
        await store.create(waiting, turn=a_turn())
        assert await other.take_over(now_ms=100, limit=10) == (Abandoned(task=waiting, turn=a_turn(), attempt=1),)

    async def test_what_is_taken_over_comes_oldest_first_and_in_batches(
        self, store: TaskStore, other: TaskStore
    ) -> None:
        for name, at_ms in [("c", 3), ("a", 1), ("e", 4), ("b", 1), ("d", 4)]:
            await store.create(a_task(name, owner=name, at_ms=at_ms), turn=a_turn(name))
        batches = [abandoned_ids(await other.take_over(now_ms=100, limit=2)) for _ in range(4)]
        assert batches == [["a", "b"], ["c", "d"], ["e"], []]

    async def test_one_task_may_be_taken_over_and_the_others_left(self, store: TaskStore, other: TaskStore) -> None:
        for name in "abc":
            await store.create(a_task(name), turn=a_turn(name))
        assert abandoned_ids(await other.take_over(now_ms=100, limit=9, task_id="b")) == ["b"]
        assert abandoned_ids(await other.take_over(now_ms=100, limit=9, task_id="b")) == []
        assert abandoned_ids(await other.take_over(now_ms=100, limit=9)) == ["a", "c"]

    async def test_two_that_take_over_at_once_share_without_overlap(self, store: TaskStore, other: TaskStore) -> None:
        for number in range(30):
            await store.create(a_task(f"task-{number}"), turn=a_turn(f"task-{number}"))
        await store.release_holder()
        assert not await store.renew(until_ms=1_000)  # somebody else now
        async with asyncio.timeout(_PATIENCE_S):
            taken = await asyncio.gather(*[each.take_over(now_ms=10, limit=10) for each in (store, other) * 3])
        assert sorted(name for found in taken for name in abandoned_ids(found)) == sorted(
            f"task-{number}" for number in range(30)
        )

    async def test_of_two_that_prune_at_once_one_reports_the_context(self, store: TaskStore, other: TaskStore) -> None:
        for number in range(40):
            await store.create(a_task(f"task-{number}", context_id=f"c{number // 2}", state=TaskState.COMPLETED))
        async with asyncio.timeout(_PATIENCE_S):
            pruned = await asyncio.gather(*[each.prune(before_ms=10_000, limit=1) for each in (store, other) * 20])
        told = sorted(context_id for each in pruned for _, _, context_id in each.contexts)
        assert told == sorted(f"c{number}" for number in range(20))

    async def test_of_two_saves_with_one_key_at_once_exactly_one_wins(self, store: TaskStore, other: TaskStore) -> None:
        tasks = [a_task(f"{place}-{number}") for number in range(10) for place in range(2)]
        for task in tasks:
            await store.create(task)
        writes = [
            each.save(next_of(task), expect=1, key=a_key())
            for task, each in zip(tasks, (store, other) * 10, strict=True)
        ]
        assert await conflicts(writes) == len(writes) - 1
        kept = await other.find_key("ann", "demo", "key-1")
        assert kept is not None
        assert [task.id for task in (await other.list(MINE)).tasks if task.seq == 2] == [kept.task_id]

    async def test_of_two_with_one_key_at_once_exactly_one_wins(self, store: TaskStore, other: TaskStore) -> None:
        writes = [
            each.create(a_task(f"{place}-{number}"), turn=a_turn(f"{place}-{number}"), key=a_key())
            for number in range(10)
            for place, each in enumerate((store, other))
        ]
        assert await conflicts(writes) == len(writes) - 1
        assert (await other.list(MINE)).total == 1
