"""A pruned thread goes on exactly like one of which everything was kept, on every store."""

import asyncio
import sqlite3
import tempfile
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, aclosing, asynccontextmanager, nullcontext
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langchain_core.messages import HumanMessage
from langgraph.func import entrypoint
from langgraph.types import interrupt
from psycopg_pool import AsyncConnectionPool
from tests.integration.pruned_graph import Conversation, ManyThings, one_node
from tests.unit.adapters.langgraph.scripted import agent_of, config_of, turn
from tests.unit.runs.serving import ask, serving

from llamon_agent.adapters.langgraph.checkpoints.memory import PrunedMemory
from llamon_agent.adapters.langgraph.checkpoints.postgres import open_postgres_checkpoints
from llamon_agent.adapters.langgraph.checkpoints.pruning import MOST_AT_ONCE
from llamon_agent.adapters.langgraph.checkpoints.sqlite import FILE_NAME, open_checkpoints
from llamon_agent.domain.task import TaskState, answer_text

STORES = ["memory", "sqlite", "postgres"]


@asynccontextmanager
async def opened(
    store: str, folder: Path, url: str, *, past_turns: int | None = 1, small_bytes: int = 0
) -> AsyncIterator[Any]:
    if store != "postgres":
        async with open_checkpoints(store, folder, past_turns=past_turns) as saver:  # type: ignore[arg-type]
            saver.small_bytes = small_bytes  # type: ignore[union-attr]
            yield saver
        return
    async with AsyncConnectionPool[Any](url, kwargs={"autocommit": True}, min_size=1, max_size=2, open=False) as pool:
        saver = await open_postgres_checkpoints(
            pool, agent=folder.name, lock=nullcontext(), pipeline=True, past_turns=past_turns
        )
        saver.small_bytes = small_bytes
        yield saver


@pytest.fixture
def url(request: pytest.FixtureRequest, store: str) -> str:
    return str(request.getfixturevalue("database_url")) if store == "postgres" else ""


async def ids_in(saver: Any) -> list[tuple[str, str]]:
    """The checkpoints that are kept: the namespace and the id of each."""
    found = [each.config["configurable"] async for each in saver.alist({"configurable": {"thread_id": "thread"}})]
    return [(each["checkpoint_ns"], each["checkpoint_id"]) for each in found]


async def rows_of(saver: Any) -> int:
    """The rows of all tables together, beside the checkpoints themselves: writes and values."""
    if isinstance(saver, PrunedMemory):
        return sum(map(len, saver.writes.values())) + len(saver.blobs)
    if hasattr(saver.conn, "execute_fetchall"):
        (found,) = await saver.conn.execute_fetchall("select count(*) from writes")
        return int(found[0])
    tables = "(select count(*) from checkpoint_writes) + (select count(*) from checkpoint_blobs)"
    async with saver.conn.connection() as connection:
        found = await (await connection.execute(f"select {tables}")).fetchone()
        return int(found[0])


@pytest.mark.parametrize("store", STORES)
async def test_a_thread_stays_small_and_remembers_all(store: str, tmp_path: Path, url: str) -> None:
    async with opened(store, tmp_path, url) as saver:
        talk = Conversation(saver, ManyThings(), prunes=True)
        for text in ("one", "two"):
            await talk.say(text)
        kept, rows = await ids_in(saver), await rows_of(saver)
        for text in ("three", "four"):
            await talk.say(text)
        assert sorted(namespace for namespace, _ in kept) == ["", "", "counting", "counting"]
        assert len(await ids_in(saver)) == len(kept)
        assert await rows_of(saver) == rows
        values, _, _ = await talk.state()
    assert [text for _, text, _ in values["messages"]][::2] == ["one", "two", "three", "four"]
    assert [each for each in values["log"] if each.startswith("call")] == [f"call {turn}" for turn in (1, 2, 3, 4)]


@pytest.mark.parametrize("store", STORES)
async def test_kept_turns_can_be_gone_back_to(store: str, tmp_path: Path, url: str) -> None:
    async with opened(store, tmp_path, url, past_turns=2) as saver, opened("memory", tmp_path, "") as whole_saver:
        pruned = Conversation(saver, ManyThings(), prunes=True)
        whole = Conversation(whole_saver, ManyThings(), prunes=False)
        for text in ("one", "two", "three", "four", "five"):
            assert await pruned.say(text) == await whole.say(text)
        third = whole.ends["t3"]
        assert await pruned.past() == [*whole.ends.values()][:-4:-1]
        assert await pruned.say_after(third, "again") == await whole.say_after(third, "again")


@pytest.mark.parametrize("store", STORES)
async def test_everything_is_kept_where_that_is_configured(store: str, tmp_path: Path, url: str) -> None:
    async with opened(store, tmp_path, url, past_turns=None) as saver:
        pruned = Conversation(saver, ManyThings(), prunes=True)
        await pruned.say("one")
        first = await ids_in(saver)
        await pruned.say("two")
        assert set(first) < set(await ids_in(saver))


@pytest.mark.parametrize("store", ["sqlite", "postgres"])
async def test_a_small_thread_is_left_until_it_has_grown(store: str, tmp_path: Path, url: str) -> None:
    async with opened(store, tmp_path, url, small_bytes=32_000) as saver:
        agent = agent_of(one_node(saver))
        async with serving(agent) as service:
            await ask(service, context="thread")
            await service.idle(agent)
            assert len(await ids_in(saver)) == 3
            await ask(service, "x" * 32_000, context="thread")
            await service.idle(agent)
            assert len(await ids_in(saver)) == 2


@pytest.mark.parametrize("store", ["sqlite", "postgres"])
async def test_a_question_waits_over_pruning_and_a_restart(store: str, tmp_path: Path, url: str) -> None:
    things = ManyThings()
    async with opened(store, tmp_path, url) as saver:
        talk = Conversation(saver, things, prunes=True)
        await talk.say("one")
        await talk.say("ask")
        await talk.compact()
    async with opened(store, tmp_path, url) as saver:
        after = talk.in_new_process(saver)
        await after.say("yes")
        values, questions, upcoming = await after.state()
        assert len(await ids_in(saver)) == 4
    assert (values["log"][-1], questions, upcoming) == ("yes", [], ())


async def test_two_threads_and_two_agents_do_not_prune_each_other(database_url: str, tmp_path: Path) -> None:
    async with opened("postgres", tmp_path, database_url) as saver:
        talk = Conversation(saver, ManyThings(), prunes=False)
        await talk.say("one")
        before = await ids_in(saver)
        await saver.prune_thread("other", completed="t1")
        async with opened("postgres", tmp_path / "another", database_url) as another:
            await another.prune_thread("thread", completed="t1")
        assert await ids_in(saver) == before


STEPS = st.lists(
    st.sampled_from(
        ["say", "say", "say ask", "say fail", "say ask fail", "die", "die ask", "die fail", "cancel", "compact", "lose"]
    ),
    max_size=12,
)


async def play(talk: Conversation, steps: list[str]) -> list[Any]:
    """What came of each step."""
    outcomes = []
    for number, step in enumerate(steps):
        verb, _, what = step.partition(" ")
        text = f"{what} {number}"
        match verb:
            case "cancel" if not talk.is_paused:
                continue
            case "cancel":
                outcomes.append(await talk.cancel())
            case "lose":
                outcomes.append(await talk.lose())
            case "compact":
                outcomes.append(await talk.compact())
            case "die":
                outcomes.append(await talk.die(text))
            case _:
                outcomes.append(await talk.say(text))
    return outcomes


@pytest.mark.parametrize("store", STORES)
@given(steps=STEPS, has_changes=st.booleans(), past_turns=st.integers(1, 3))
@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_pruned_thread_goes_on_like_a_whole_one(
    store: str, url: str, steps: list[str], has_changes: bool, past_turns: int
) -> None:
    async def both() -> None:
        async with AsyncExitStack() as stack:
            folders = [stack.enter_context(tempfile.TemporaryDirectory()) for _ in range(2)]
            pruned_saver, whole_saver = [
                await stack.enter_async_context(opened(store, Path(folder), url, past_turns=kept))
                for folder, kept in zip(folders, (past_turns, None), strict=True)
            ]
            pruned = Conversation(pruned_saver, ManyThings(has_changes=has_changes), prunes=True)
            whole = Conversation(whole_saver, ManyThings(has_changes=has_changes), prunes=False)
            assert await play(pruned, steps) == await play(whole, steps)
            turns = past_turns if whole.is_paused else past_turns + 1
            assert [end for end in [*whole.ends.values()][-turns:] if end not in await pruned.past()] == []

    asyncio.run(both())


async def test_sixty_turns_of_4_kb_stay_under_3_mb(tmp_path: Path) -> None:
    async with opened("sqlite", tmp_path, "") as saver:
        agent = agent_of(one_node(saver))
        for number in range(60):
            task_id = f"t{number}"
            async with aclosing(agent.run(turn("x" * 2000, task=task_id, message_id=str(number)))) as events:
                assert [event async for event in events]
            await agent.prune_thread("thread", completed=task_id)
        assert len((await agent.graph.aget_state(config_of())).values["messages"]) == 120
    assert (tmp_path / FILE_NAME).stat().st_size < 3_000_000


async def test_a_pruning_that_fails_deletes_nothing(tmp_path: Path) -> None:
    async with opened("sqlite", tmp_path, "") as saver:
        talk = Conversation(saver, ManyThings(), prunes=False)
        await talk.say("one")
        before, rows = await ids_in(saver), await rows_of(saver)
        await saver.conn.execute(
            "create trigger kept before delete on checkpoints when old.checkpoint_ns != ''"
            " begin select raise(abort, 'kept'); end"
        )
        await saver.conn.commit()
        with pytest.raises(sqlite3.IntegrityError):
            await saver.prune_thread("thread", completed="t1")
        assert (await ids_in(saver), await rows_of(saver)) == (before, rows)
        await saver.conn.execute("drop trigger kept")
        await saver.conn.commit()
        assert not await saver.prune_thread("thread", completed="t1")
        assert sorted(namespace for namespace, _ in await ids_in(saver)) == ["", "counting"]


@pytest.mark.parametrize("store", ["sqlite", "postgres"])
async def test_a_long_thread_is_pruned_in_several_writes(store: str, tmp_path: Path, url: str) -> None:
    async with opened(store, tmp_path, url) as saver:
        whole = Conversation(saver, ManyThings(), prunes=False)
        while len(await ids_in(saver)) <= MOST_AT_ONCE + 10:
            await whole.say("again")
        before = len(await ids_in(saver))
        assert await saver.prune_thread("thread", completed=None)
        assert len(await ids_in(saver)) == before - MOST_AT_ONCE
        after = await whole.state()
        while await saver.prune_thread("thread", completed=None):
            pass
        assert len(await ids_in(saver)) < MOST_AT_ONCE
        assert await whole.state() == after


@pytest.mark.parametrize("store", STORES)
async def test_the_service_prunes_a_thread_when_its_task_has_ended(store: str, tmp_path: Path, url: str) -> None:
    async with opened(store, tmp_path, url) as saver:
        agent = agent_of(one_node(saver))
        async with serving(agent) as service:
            for _ in range(3):
                assert (await ask(service, context="thread")).status.state is TaskState.COMPLETED
            await service.idle(agent)
        assert len(await ids_in(saver)) == 2


@pytest.mark.parametrize("store", STORES)
async def test_a_function_keeps_what_it_has_saved(store: str, tmp_path: Path, url: str) -> None:
    async with opened(store, tmp_path, url) as saver:

        @entrypoint(checkpointer=saver)
        async def counting(text: str, *, previous: int | None = None) -> Any:
            count = (previous or 0) + 1
            said = interrupt(text) if text == "ask" else text
            return entrypoint.final(value=f"{said} {count}", save=count)

        agent = agent_of(counting)
        async with serving(agent) as service:
            for text in ("one", "two"):
                await ask(service, text, context="thread")
            asked = await ask(service, "ask", context="thread")
            while await agent.prune_thread("thread", completed=None):
                pass
            task = await ask(service, "yes", task=asked.id)
            await service.idle(agent)
        assert answer_text(task.artifacts) == "yes 3"
        assert {namespace for namespace, _ in await ids_in(saver)} == {""}
        assert len(await ids_in(saver)) == 2


async def test_a_number_that_json_does_not_have_keeps_no_thread_from_being_pruned(tmp_path: Path) -> None:
    async with opened("sqlite", tmp_path, "") as saver:
        for number in range(3):
            config: Any = {"configurable": {"thread_id": "thread", "limit": float("nan")}, "metadata": {}}
            config["metadata"]["task_id"] = f"t{number}"
            await one_node(saver).ainvoke({"messages": [HumanMessage("hi")]}, config)
        assert not await saver.prune_thread("thread", completed="t2")
        assert len(await ids_in(saver)) == 2
