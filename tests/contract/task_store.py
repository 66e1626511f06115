"""What every `TaskStore` must do, as a test suite. The tests of a store inherit it and say how one is made:

    class TestMyStore(TaskStoreContract):
        @pytest.fixture
        async def store(self) -> AsyncIterator[TaskStore]:
            store = await MyStore.open(...)
            yield store
            await store.close()

A store that several processes can have open, at once or one after the other, passes the suite in `lease` too.
"""

import asyncio
from collections.abc import Awaitable, Sequence

import msgspec
import pytest

from llamon_agent.domain.caller import Caller
from llamon_agent.domain.errors import BackendError, Conflict, KeyTaken
from llamon_agent.domain.message import Data, Message, Raw, Role, Text, Url
from llamon_agent.domain.task import TERMINAL, Artifact, Task, TaskPage, TaskQuery, TaskState, TaskStatus
from llamon_agent.runs.ports.agent import Turn
from llamon_agent.runs.ports.store import IdempotencyKey, Pruned, Remembered, TaskStore

_PATIENCE_S = 5


def a_task(
    id: str = "task-1",  # noqa: A002 -- named as on Task
    *,
    owner: str = "ann",
    agent: str = "demo",
    context_id: str = "context-1",
    state: TaskState = TaskState.WORKING,
    at_ms: int = 1_000,
    seq: int = 1,
) -> Task:
    """A small task, to be made special by what a test names."""
    status = TaskStatus(state=state, at_ms=at_ms)
    return Task(
        id=id, context_id=context_id, owner=owner, agent=agent, status=status, seq=seq, created_ms=min(at_ms, 1_000)
    )


def next_of(task: Task, state: TaskState = TaskState.WORKING, *, at_ms: int | None = None) -> Task:
    """The task one event later."""
    status = TaskStatus(state=state, at_ms=task.status.at_ms if at_ms is None else at_ms)
    return msgspec.structs.replace(task, status=status, seq=task.seq + 1)


def a_full_task(id: str = "task-1") -> Task:  # noqa: A002 -- named as on Task
    """A task that uses every field, with values that a careless store bends."""
    odd = {"big": 2**70, "float": 1.0, "null": None, "nested": [{"": "\x00 \U0001f600 한국어"}]}
    parts = (
        Text(text="", metadata=odd),
        Raw(data=b"\x00\xff", filename="a.bin"),
        Url(url="http://h/x"),
        Data(data=None),
    )
    message = Message(
        message_id="m", role=Role.AGENT, parts=parts, context_id="c", task_id=id, metadata=odd, extensions=("x",)
    )
    return Task(
        id=id,
        context_id='a context\'s "name"; drop table task',
        owner="ann",
        agent="demo",
        status=TaskStatus(state=TaskState.INPUT_REQUIRED, at_ms=1_700_000_000_001, message=message),
        seq=3,
        created_ms=1_700_000_000_000,
        history=(message, message),
        artifacts=(Artifact(artifact_id="a", parts=parts, name="n", description="d", metadata=odd, extensions=("x",)),),
        metadata=odd,
    )


def a_turn(task_id: str = "task-1") -> Turn:
    """A turn that uses every field, with values that a careless store bends."""
    message = a_full_task(task_id).history[0]
    return Turn(
        task_id=task_id,
        context_id="c",
        thread_id="t",
        session_id="s",
        message=message,
        prompt="\x00 \U0001f600",
        prefill=(message, message),
        history_received=7,
        answers=True,
        asked=({"id": "q", "value": None},),
        metadata={"big": 2**70, "null": None},
        attempt=2,
        answer_id="answer-3",
        caller=Caller(principal="ann", tenant="\x00 blue", scopes=("read",)),
    )


def a_key(value: str = "key-1", digest: str = "d", *, at_ms: int = 1_000) -> IdempotencyKey:
    """A key, to be made special by what a test names."""
    return IdempotencyKey(value=value, digest=digest, at_ms=at_ms)


def ids(page: TaskPage) -> list[str]:
    """The ids on a page, in its order."""
    return [task.id for task in page.tasks]


async def all_pages(store: TaskStore, query: TaskQuery) -> list[TaskPage]:
    """Turn the pages of a query to the last."""
    pages = [await store.list(query)]
    while pages[-1].more:
        last = pages[-1].tasks[-1]
        pages.append(await store.list(msgspec.structs.replace(query, after=(last.status.at_ms, last.id))))
    return pages


async def conflicts(writes: Sequence[Awaitable[None]]) -> int:
    """Begin all writes at once; how many of them ended in a Conflict. Any other error is raised."""
    async with asyncio.timeout(_PATIENCE_S):
        outcomes = await asyncio.gather(*writes, return_exceptions=True)
    for outcome in outcomes:
        if outcome is not None and not isinstance(outcome, Conflict):
            raise outcome
    return sum(outcome is not None for outcome in outcomes)


MINE = TaskQuery(owner="ann", agent="demo")

_LATER = ((), (TaskState.INPUT_REQUIRED,), (TaskState.INPUT_REQUIRED, TaskState.WORKING), (TaskState.COMPLETED,))
"""What tasks may go through after their beginning."""


class TaskStoreContract:
    """Inherit it, and override `store` with an empty one that is closed afterwards."""

    @pytest.fixture
    def store(self) -> TaskStore:
        raise NotImplementedError("override the store fixture")

    # reached

    async def test_a_store_is_reached_while_it_is_open_whatever_is_in_it(self, store: TaskStore) -> None:
        await store.reached()
        await store.create(a_task())
        await store.reached()
        await store.close()
        with pytest.raises(BackendError):
            await store.reached()

    # create, get

    async def test_a_task_comes_back_as_it_went_in(self, store: TaskStore) -> None:
        await store.create(a_full_task())
        assert await store.get("ann", "demo", "task-1") == a_full_task()

    async def test_an_unknown_task_is_none(self, store: TaskStore) -> None:
        assert await store.get("ann", "demo", "task-1") is None

    @pytest.mark.parametrize(("owner", "agent"), [("bob", "demo"), ("ann", "other"), ("", ""), ("ANN", "demo")])
    async def test_another_owners_or_agents_task_is_none(self, store: TaskStore, owner: str, agent: str) -> None:
        await store.create(a_task())
        assert await store.get(owner, agent, "task-1") is None

    async def test_an_id_is_taken_once_whoever_asks(self, store: TaskStore) -> None:
        await store.create(a_task())
        for second in (a_task(), a_task(seq=2), a_task(owner="bob", agent="other")):
            with pytest.raises(Conflict):
                await store.create(second)
        assert await store.get("ann", "demo", "task-1") == a_task()
        assert await store.get("bob", "other", "task-1") is None

    async def test_many_creates_of_one_id_at_once_keep_exactly_one(self, store: TaskStore) -> None:
        made = [a_task(seq=seq) for seq in range(1, 21)]
        assert await conflicts([store.create(task) for task in made]) == len(made) - 1
        assert await store.get("ann", "demo", "task-1") in made

    # save

    async def test_a_save_replaces_the_whole_task(self, store: TaskStore) -> None:
        full = a_full_task()
        await store.create(a_task(context_id=full.context_id))
        await store.save(full, expect=1)
        assert await store.get("ann", "demo", "task-1") == full

    @pytest.mark.parametrize("expect", [0, 1, 3, -1])
    async def test_a_save_that_expects_another_seq_writes_nothing(self, store: TaskStore, expect: int) -> None:
        task = a_task(seq=2)
        await store.create(task)
        with pytest.raises(Conflict):
            await store.save(next_of(task, TaskState.COMPLETED), expect=expect)
        assert await store.get("ann", "demo", "task-1") == task

    async def test_a_task_that_was_never_created_is_not_saved(self, store: TaskStore) -> None:
        with pytest.raises(Conflict):
            await store.save(a_task(seq=2), expect=1)
        assert await store.get("ann", "demo", "task-1") is None

    @pytest.mark.parametrize("state", sorted(TERMINAL))
    @pytest.mark.parametrize("then", list(TaskState))
    async def test_a_terminal_task_is_never_overwritten(
        self, store: TaskStore, state: TaskState, then: TaskState
    ) -> None:
        await store.create(a_task())
        ended = next_of(a_task(), state)
        await store.save(ended, expect=1)
        with pytest.raises(Conflict):
            await store.save(next_of(ended, then), expect=ended.seq)
        assert await store.get("ann", "demo", "task-1") == ended

    async def test_a_task_may_be_terminal_from_the_start(self, store: TaskStore) -> None:
        rejected = a_task(state=TaskState.REJECTED)
        await store.create(rejected)
        with pytest.raises(Conflict):
            await store.save(next_of(rejected), expect=1)

    async def test_of_many_saves_at_once_exactly_one_wins(self, store: TaskStore) -> None:
        await store.create(a_task())
        rivals = [next_of(a_task(), state, at_ms=at_ms) for at_ms in range(10) for state in sorted(TERMINAL)]
        assert await conflicts([store.save(rival, expect=1) for rival in rivals]) == len(rivals) - 1
        assert await store.get("ann", "demo", "task-1") in rivals

    async def test_one_callers_conflict_leaves_the_others_alone(self, store: TaskStore) -> None:
        await store.create(a_task("taken"))
        writes = [store.create(a_task("taken" if number % 3 == 0 else f"new-{number}")) for number in range(30)]
        assert await conflicts(writes) == 10
        assert (await store.list(MINE)).total == 21

    async def test_two_hundred_writers_at_once_all_get_an_answer(self, store: TaskStore) -> None:
        async def live(number: int) -> None:
            task = a_task(f"task-{number}", at_ms=number)
            await store.create(task)
            for state in (TaskState.WORKING, TaskState.COMPLETED):
                task, seq = next_of(task, state), task.seq
                await store.save(task, expect=seq)

        assert await conflicts([live(number) for number in range(200)]) == 0
        page = await store.list(TaskQuery(owner="ann", agent="demo", state=TaskState.COMPLETED, limit=200))
        assert [(task.id, task.seq) for task in page.tasks] == [(f"task-{n}", 3) for n in reversed(range(200))]

    async def test_a_cancelled_writer_does_not_take_others_with_it(self, store: TaskStore) -> None:
        writers = [asyncio.create_task(store.create(a_task(f"task-{number}"))) for number in range(20)]
        await asyncio.sleep(0)
        for writer in writers[::2]:
            writer.cancel()
        assert await conflicts(writers[1::2]) == 0
        await asyncio.gather(*writers[::2], return_exceptions=True)
        assert {f"task-{number}" for number in range(1, 20, 2)} <= set(ids(await store.list(MINE)))
        await store.create(a_task("later"))

    # list

    async def test_an_empty_list_has_no_more(self, store: TaskStore) -> None:
        assert await store.list(MINE) == TaskPage(tasks=(), total=0, more=False)

    async def test_a_listed_task_is_the_whole_task(self, store: TaskStore) -> None:
        await store.create(a_full_task())
        assert (await store.list(MINE)).tasks == (a_full_task(),)

    async def test_only_the_owners_tasks_of_the_agent_are_listed(self, store: TaskStore) -> None:
        await store.create(a_task("mine"))
        await store.create(a_task("theirs", owner="bob"))
        await store.create(a_task("elsewhere", agent="other"))
        for context_id in (None, "context-1"):
            page = await store.list(TaskQuery(owner="ann", agent="demo", context_id=context_id))
            assert (ids(page), page.total) == (["mine"], 1)

    @pytest.mark.parametrize(
        ("query", "found"),
        [
            (TaskQuery(owner="ann", agent="demo"), ["d", "c", "b", "a"]),
            (TaskQuery(owner="ann", agent="demo", context_id="one"), ["c", "a"]),
            (TaskQuery(owner="ann", agent="demo", context_id=""), []),
            (TaskQuery(owner="ann", agent="demo", state=TaskState.WORKING), ["c", "a"]),
            (TaskQuery(owner="ann", agent="demo", changed_since_ms=20), ["d", "c", "b"]),
            (TaskQuery(owner="ann", agent="demo", changed_since_ms=41), []),
            (TaskQuery(owner="ann", agent="demo", changed_since_ms=0, limit=4), ["d", "c", "b", "a"]),
            (TaskQuery(owner="ann", agent="demo", context_id="two", state=TaskState.FAILED), ["d"]),
            (TaskQuery(owner="ann", agent="demo", context_id="one", changed_since_ms=11), ["c"]),
        ],
    )
    async def test_every_filter_narrows_the_list_and_its_total(
        self, store: TaskStore, query: TaskQuery, found: list[str]
    ) -> None:
        await store.create(a_task("a", context_id="one", at_ms=10))
        await store.create(a_task("b", context_id="two", at_ms=20, state=TaskState.COMPLETED))
        await store.create(a_task("c", context_id="one", at_ms=30))
        await store.create(a_task("d", context_id="two", at_ms=40, state=TaskState.FAILED))
        page = await store.list(query)
        assert (ids(page), page.total, page.more) == (found, len(found), False)

    async def test_the_newest_status_comes_first_and_equal_times_go_by_id(self, store: TaskStore) -> None:
        for name, at_ms in [("b", 5), ("é", 5), ("a", 5), ("B", 5), ("old", 4), ("new", 6)]:
            await store.create(a_task(name, at_ms=at_ms))
        assert ids(await store.list(MINE)) == ["new", "é", "b", "a", "B", "old"]

    async def test_a_saved_task_moves_to_its_new_place(self, store: TaskStore) -> None:
        for name, at_ms in [("a", 1), ("b", 2)]:
            await store.create(a_task(name, at_ms=at_ms))
        await store.save(next_of(a_task("a", at_ms=1), TaskState.FAILED, at_ms=3), expect=1)
        assert ids(await store.list(MINE)) == ["a", "b"]
        assert ids(await store.list(TaskQuery(owner="ann", agent="demo", state=TaskState.WORKING))) == ["b"]

    @pytest.mark.parametrize("context_id", [None, "context-1"])
    @pytest.mark.parametrize("limit", [1, 2, 3, 6, 7, 100])
    async def test_pages_join_to_the_whole_list(self, store: TaskStore, context_id: str | None, limit: int) -> None:
        for number in range(6):
            await store.create(a_task(f"task-{number}", at_ms=number // 3))
        await store.create(a_task("elsewhere", context_id="context-2", owner="bob"))
        pages = await all_pages(store, TaskQuery(owner="ann", agent="demo", context_id=context_id, limit=limit))
        assert [name for page in pages for name in ids(page)] == [f"task-{number}" for number in reversed(range(6))]
        assert {page.total for page in pages} == {6}
        assert all(len(page.tasks) == limit for page in pages[:-1])

    async def test_turning_pages_while_tasks_change_shows_every_unchanged_task_once(self, store: TaskStore) -> None:
        for number in range(6):
            await store.create(a_task(f"task-{number}", at_ms=number))
        query = TaskQuery(owner="ann", agent="demo", limit=2)
        first = await store.list(query)
        await store.save(next_of(first.tasks[1], at_ms=100), expect=1)  # the page's last task leaves its place
        await store.create(a_task("new", at_ms=101))
        last = first.tasks[-1]
        rest = await all_pages(store, msgspec.structs.replace(query, after=(last.status.at_ms, last.id)))
        assert [name for page in [first, *rest] for name in ids(page)] == [f"task-{n}" for n in reversed(range(6))]
        assert {page.total for page in rest} == {7}

    async def test_totals_are_right_while_many_write_at_once(self, store: TaskStore) -> None:
        async def live(number: int) -> None:
            task = a_task(f"task-{number}", owner="ann" if number % 3 else "bob", state=TaskState.SUBMITTED)
            await store.create(task)
            for state in (TaskState.WORKING, *_LATER[number % len(_LATER)]):
                task, seq = next_of(task, state, at_ms=number), task.seq
                await store.save(task, expect=seq)

        rivals = [store.create(a_task("task-1")) for _ in range(5)]
        assert await conflicts([*(live(number) for number in range(60)), *rivals]) == 5
        await store.prune(before_ms=30, limit=7)
        for owner in ("ann", "bob", "nobody"):
            query = TaskQuery(owner=owner, agent="demo", limit=100)
            kept = (await store.list(query)).tasks
            assert (await store.list(query)).total == len(kept)
            for state in TaskState:
                of_state = [task.id for task in kept if task.status.state is state]
                page = await store.list(msgspec.structs.replace(query, state=state))
                assert (ids(page), page.total) == (of_state, len(of_state))

    async def test_a_total_counts_what_is_pruned_no_more(self, store: TaskStore) -> None:
        for number in range(3):
            await store.create(a_task(f"task-{number}", at_ms=number, state=TaskState.COMPLETED))
        await store.prune(before_ms=2, limit=10)
        for query in (MINE, msgspec.structs.replace(MINE, state=TaskState.COMPLETED)):
            assert (await store.list(query)).total == 1
        await store.prune(before_ms=3, limit=10)
        assert await store.list(MINE) == TaskPage(tasks=(), total=0, more=False)

    @pytest.mark.parametrize("state", [None, TaskState.WORKING])
    async def test_pages_of_a_filter_are_whole_too(self, store: TaskStore, state: TaskState | None) -> None:
        for number in range(9):
            rare = TaskState.FAILED if number % 2 else TaskState.WORKING
            await store.create(a_task(f"task-{number}", at_ms=number, state=rare, context_id=f"c{number % 3}"))
        for context_id in (None, "c1"):
            query = TaskQuery(owner="ann", agent="demo", state=state, context_id=context_id, changed_since_ms=2)
            whole = await store.list(query)
            pages = await all_pages(store, msgspec.structs.replace(query, limit=1))
            assert [name for page in pages for name in ids(page)] == ids(whole)
            assert {page.total for page in pages} == {whole.total} == {len(whole.tasks)}

    @pytest.mark.parametrize(("max_bytes", "sizes"), [(1, [1, 1, 1, 1]), (2_500, [2, 1, 1]), (100_000, [4])])
    async def test_a_page_ends_once_it_is_full_of_bytes(
        self, store: TaskStore, max_bytes: int, sizes: list[int]
    ) -> None:
        for number, chars in enumerate((3_000, 3_000, 1_500, 1_500)):
            message = Message(message_id="m", role=Role.USER, parts=(Text(text="x" * chars),))
            await store.create(msgspec.structs.replace(a_task(f"task-{number}", at_ms=number), history=(message,)))
        for context_id in (None, "context-1"):
            query = TaskQuery(owner="ann", agent="demo", context_id=context_id, max_bytes=max_bytes)
            pages = await all_pages(store, query)
            assert [len(page.tasks) for page in pages] == sizes
            assert sum(page.size_bytes for page in pages) > 9_000
            assert [name for page in pages for name in ids(page)] == [f"task-{number}" for number in (3, 2, 1, 0)]
            assert {page.total for page in pages} == {4}

    # paused in

    async def test_the_task_that_waits_in_a_context_is_found_until_it_is_answered(self, store: TaskStore) -> None:
        assert await store.paused_in("ann", "demo", "context-1") is None
        await store.create(a_task("ended", state=TaskState.COMPLETED))
        asking = a_task("asks", state=TaskState.INPUT_REQUIRED)
        await store.create(asking)
        for at_ms in range(3):
            await store.create(a_task(f"more-{at_ms}", at_ms=at_ms, context_id="context-2"))
        assert await store.paused_in("ann", "demo", "context-1") == asking
        for elsewhere in (("bob", "demo", "context-1"), ("ann", "other", "context-1"), ("ann", "demo", "context-2")):
            assert await store.paused_in(*elsewhere) is None
        await store.save(next_of(asking), expect=asking.seq)
        assert await store.paused_in("ann", "demo", "context-1") is None

    async def test_of_several_tasks_that_wait_in_a_context_the_newest_is_found(self, store: TaskStore) -> None:
        for name, at_ms, state in (("a", 1, "input-required"), ("c", 3, "auth-required"), ("b", 2, "input-required")):
            await store.create(a_task(name, at_ms=at_ms, state=TaskState(state)))
        found = await store.paused_in("ann", "demo", "context-1")
        assert found is not None
        assert found.id == "c"

    # keys

    async def test_a_key_stands_for_the_task_it_was_created_with(self, store: TaskStore) -> None:
        assert await store.find_key("ann", "demo", "key-1") is None
        await store.create(a_task(), turn=a_turn(), key=a_key())
        assert await store.find_key("ann", "demo", "key-1") == Remembered(digest="d", task_id="task-1")

    @pytest.mark.parametrize(("owner", "agent"), [("bob", "demo"), ("ann", "other")])
    async def test_a_key_is_its_owners_and_its_agents_alone(self, store: TaskStore, owner: str, agent: str) -> None:
        await store.create(a_task(), key=a_key())
        assert await store.find_key(owner, agent, "key-1") is None
        await store.create(a_task("task-2", owner=owner, agent=agent), key=a_key(digest="other"))
        assert await store.find_key(owner, agent, "key-1") == Remembered(digest="other", task_id="task-2")
        assert await store.find_key("ann", "demo", "key-1") == Remembered(digest="d", task_id="task-1")

    async def test_a_create_whose_key_is_taken_says_by_what_and_writes_nothing(self, store: TaskStore) -> None:
        await store.create(a_task(), key=a_key())
        with pytest.raises(KeyTaken) as raised:
            await store.create(a_task("task-2"), key=a_key(digest="other"))
        assert (raised.value.task_id, raised.value.digest) == ("task-1", "d")
        assert await store.get("ann", "demo", "task-2") is None

    async def test_a_create_whose_id_is_taken_leaves_no_key(self, store: TaskStore) -> None:
        await store.create(a_task())
        with pytest.raises(Conflict):
            await store.create(a_task(), key=a_key())
        assert await store.find_key("ann", "demo", "key-1") is None

    async def test_of_many_creates_with_one_key_at_once_exactly_one_wins(self, store: TaskStore) -> None:
        made = [a_task(f"task-{number}") for number in range(20)]
        assert await conflicts([store.create(task, key=a_key()) for task in made]) == len(made) - 1
        (kept,) = (await store.list(MINE)).tasks
        assert await store.find_key("ann", "demo", "key-1") == Remembered(digest="d", task_id=kept.id)

    async def test_a_save_may_bring_a_key_of_its_own(self, store: TaskStore) -> None:
        await store.create(a_task(), key=a_key())
        await store.save(next_of(a_task()), expect=1, turn=a_turn(), key=a_key("key-2"))
        assert await store.find_key("ann", "demo", "key-2") == Remembered(digest="d", task_id="task-1")
        assert await store.find_key("ann", "demo", "key-1") == Remembered(digest="d", task_id="task-1")

    async def test_a_save_whose_key_is_taken_writes_nothing(self, store: TaskStore) -> None:
        await store.create(a_task(), key=a_key())
        await store.create(a_task("task-2"))
        with pytest.raises(KeyTaken) as raised:
            await store.save(next_of(a_task("task-2")), expect=1, key=a_key(digest="other"))
        assert (raised.value.task_id, raised.value.digest) == ("task-1", "d")
        assert await store.get("ann", "demo", "task-2") == a_task("task-2")

    async def test_a_save_that_conflicts_leaves_no_key(self, store: TaskStore) -> None:
        await store.create(a_task())
        with pytest.raises(Conflict) as raised:
            await store.save(next_of(a_task()), expect=7, key=a_key())
        assert not isinstance(raised.value, KeyTaken)
        assert await store.find_key("ann", "demo", "key-1") is None

    async def test_keys_are_forgotten_by_age_and_their_tasks_stay(self, store: TaskStore) -> None:
        for number in range(4):
            await store.create(a_task(f"task-{number}"), key=a_key(f"key-{number}", at_ms=number))
        assert await store.forget_keys(before_ms=3, limit=2) == 2
        assert await store.forget_keys(before_ms=3, limit=2) == 1
        assert await store.forget_keys(before_ms=3, limit=2) == 0
        kept = [number for number in range(4) if await store.find_key("ann", "demo", f"key-{number}")]
        assert (kept, (await store.list(MINE)).total) == ([3], 4)
        await store.create(a_task("again"), key=a_key("key-0"))

    # prune

    async def test_tasks_that_wait_for_long_come_oldest_first_and_in_batches(self, store: TaskStore) -> None:
        for at_ms, state in ((400, TaskState.INPUT_REQUIRED), (200, TaskState.AUTH_REQUIRED), (300, TaskState.WORKING)):
            await store.create(a_task(f"{state}-{at_ms}", owner=f"owner-{at_ms}", state=state, at_ms=at_ms))
        await store.create(a_task("late", state=TaskState.INPUT_REQUIRED, at_ms=500))
        waiting = await store.paused_before(before_ms=500, limit=10)
        assert [task.id for task in waiting] == ["auth-required-200", "input-required-400"]
        assert await store.paused_before(before_ms=500, limit=1) == waiting[:1]

    async def test_what_ended_before_is_pruned_oldest_first_and_in_batches(self, store: TaskStore) -> None:
        for number in reversed(range(5)):
            await store.create(
                a_task(f"task-{number}", at_ms=number, state=TaskState.COMPLETED, context_id=f"c{number}")
            )
        first = await store.prune(before_ms=4, limit=3)
        assert first.task_ids == ("task-0", "task-1", "task-2")
        assert sorted(first.contexts) == [("ann", "demo", "c0"), ("ann", "demo", "c1"), ("ann", "demo", "c2")]
        assert (await store.prune(before_ms=4, limit=3)).task_ids == ("task-3",)
        assert await store.prune(before_ms=4, limit=3) == Pruned()
        assert ids(await store.list(MINE)) == ["task-4"]

    async def test_only_what_has_ended_is_pruned(self, store: TaskStore) -> None:
        for state in TaskState:
            await store.create(a_task(f"task-{state}", state=state))
        pruned = await store.prune(before_ms=10_000, limit=100)
        assert set(pruned.task_ids) == {f"task-{state}" for state in TERMINAL}
        assert {task.status.state for task in (await store.list(MINE)).tasks} == set(TaskState) - TERMINAL

    async def test_a_context_is_reported_once_it_has_no_task_left(self, store: TaskStore) -> None:
        for number, context_id in enumerate(["one", "two", "one", "two"]):
            await store.create(a_task(f"t{number}", at_ms=number, state=TaskState.FAILED, context_id=context_id))
        await store.create(a_task("paused", at_ms=0, state=TaskState.INPUT_REQUIRED, context_id="two"))
        await store.create(a_task("theirs", at_ms=9, owner="bob", context_id="one"))
        assert (await store.prune(before_ms=5, limit=1)).contexts == ()
        assert (await store.prune(before_ms=5, limit=9)).contexts == (("ann", "demo", "one"),)

    async def test_a_pruned_task_takes_its_keys_along(self, store: TaskStore) -> None:
        await store.create(a_task(), key=a_key())
        await store.create(a_task("stays"), key=a_key("key-2"))
        await store.save(next_of(a_task(), TaskState.COMPLETED), expect=1, key=a_key("key-3"))
        await store.prune(before_ms=10_000, limit=10)
        assert [await store.find_key("ann", "demo", f"key-{number}") for number in (1, 3)] == [None, None]
        assert await store.find_key("ann", "demo", "key-2") is not None
        await store.create(a_task("new"), key=a_key())

    # holders

    async def test_a_holder_lives_on_as_long_as_it_renews(self, store: TaskStore) -> None:
        holder = store.holder
        for until_ms in (1, 2, 1):
            assert await store.renew(until_ms=until_ms)
        assert store.holder == holder

    async def test_a_holder_takes_over_nothing_from_itself(self, store: TaskStore) -> None:
        await store.renew(until_ms=1)
        await store.create(a_task(), turn=a_turn())
        assert await store.take_over(now_ms=10, limit=10) == ()
        assert await store.renew(until_ms=11)

    async def test_a_holder_gets_the_tasks_it_holds_except_those_it_works_on(self, store: TaskStore) -> None:
        await store.renew(until_ms=1)
        for name in ("a", "b", "c", "ended"):
            await store.create(a_task(name), turn=a_turn())
        await store.create(a_task("nobody's"))
        await store.save(next_of(a_task("ended"), TaskState.COMPLETED), expect=1)
        held = {task.id for task in await store.held(excluding=["b", "nobody's"], limit=10)}
        assert held == ({"a", "c"} if store.is_durable else set())
        assert len(await store.held(excluding=(), limit=2)) == (2 if store.is_durable else 0)

    async def test_letting_go_twice_is_fine(self, store: TaskStore) -> None:
        await store.renew(until_ms=1)
        await store.release_holder()
        await store.release_holder()

    # close

    async def test_a_store_closes_twice_and_is_then_away(self, store: TaskStore) -> None:
        await store.create(a_task())
        await store.close()
        await store.close()
        for call in (
            store.create(a_task("late")),
            store.save(next_of(a_task()), expect=1),
            store.get("ann", "demo", "task-1"),
            store.list(MINE),
            store.find_key("ann", "demo", "key"),
            store.renew(until_ms=1),
            store.release_holder(),
            store.take_over(now_ms=1, limit=1),
            store.held(excluding=(), limit=1),
            store.prune(before_ms=1, limit=1),
            store.forget_keys(before_ms=1, limit=1),
        ):
            with pytest.raises(BackendError) as raised:
                await call
            assert not isinstance(raised.value, Conflict)
