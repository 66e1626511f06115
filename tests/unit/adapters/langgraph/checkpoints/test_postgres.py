"""Threads in a real Postgres."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext
from typing import Any, TypedDict

import psycopg
import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt
from psycopg import sql
from psycopg_pool import AsyncConnectionPool
from tests.postgres_server import PostgresServer
from tests.unit.adapters.langgraph.scripted import agent_of, chat_graph, messages_of, plain

from llamon_agent.adapters.langgraph.checkpoints.access import Access
from llamon_agent.adapters.langgraph.checkpoints.postgres import AgentPostgresSaver, open_postgres_checkpoints
from llamon_agent.domain.errors import AgentError, ConfigError
from llamon_agent.store.postgres.pool import PostgresAccess


@asynccontextmanager
async def opened(
    url: str, agent: str = "demo", *, pipeline: bool = True, access: Access | None = None
) -> AsyncIterator[AgentPostgresSaver]:
    pool: AsyncConnectionPool[Any] = AsyncConnectionPool(
        url, kwargs={"autocommit": True}, min_size=1, max_size=4, open=False
    )
    async with pool:
        saver = await open_postgres_checkpoints(pool, agent=agent, lock=nullcontext(), pipeline=pipeline, access=access)
        assert isinstance(saver, AgentPostgresSaver)
        yield saver


def at(thread_id: str, **more: str) -> RunnableConfig:
    return {"configurable": {"thread_id": thread_id, "checkpoint_ns": "", **more}}


async def keep(saver: AgentPostgresSaver, thread_id: str) -> RunnableConfig:
    return await saver.aput(at(thread_id), empty_checkpoint(), {"source": "input", "step": 1, "parents": {}}, {})


async def threads_in(saver: AgentPostgresSaver) -> set[str]:
    return {found.config["configurable"]["thread_id"] async for found in saver.alist(None)}


@pytest.mark.parametrize("pipeline", [True, False])
async def test_a_thread_is_kept_over_a_restart(database_url: str, pipeline: bool) -> None:
    async with opened(database_url, pipeline=pipeline) as saver:
        await agent_of(chat_graph(plain("one"), saver)).invoke("q", thread_id="thread")
    async with opened(database_url, pipeline=pipeline) as saver:
        kept = await messages_of(chat_graph(plain(), saver))
    assert [message.content for message in kept] == ["q", "one"]


class Asked(TypedDict, total=False):
    said: str


async def test_a_question_waits_over_a_restart_and_the_graph_sees_its_own_thread(database_url: str) -> None:
    seen = []

    def ask(state: Asked, config: RunnableConfig) -> Asked:
        seen.append(config["configurable"]["thread_id"])
        return {"said": interrupt("which?")}

    builder = StateGraph(Asked)
    builder.add_node("ask", ask)
    builder.add_edge(START, "ask")
    builder.add_edge("ask", END)
    async with opened(database_url) as saver:
        await builder.compile(checkpointer=saver).ainvoke({}, at("thread"))
    async with opened(database_url) as saver:
        graph = builder.compile(checkpointer=saver)
        assert (await graph.aget_state(at("thread"))).interrupts[0].value == "which?"
        assert (await graph.ainvoke(Command(resume="this"), at("thread")))["said"] == "this"
    assert seen == ["thread", "thread"]


async def test_two_agents_that_are_asked_in_one_context_share_no_thread(database_url: str) -> None:
    async with opened(database_url, "one") as one, opened(database_url, "other") as other:
        await keep(one, "thread")
        assert await other.aget_tuple(at("thread")) is None
        assert await threads_in(other) == set()
        await keep(other, "thread")
        await other.adelete_thread("thread")
        assert await threads_in(one) == {"thread"}


@pytest.mark.parametrize("thread_id", ["", "demo:thread", "a\0b", "a\\0b", "\\", "\\\\0\0", "한국어'; drop table x"])
async def test_any_thread_id_is_kept_as_it_is(database_url: str, thread_id: str) -> None:
    async with opened(database_url) as saver:
        first = await keep(saver, thread_id)
        second = await saver.aput(first, empty_checkpoint(), {"source": "loop", "step": 2, "parents": {}}, {})
        await saver.aput_writes(second, [("said", "x")], "task")
        found = await saver.aget_tuple(at(thread_id))
        assert found is not None
        assert (found.config, found.parent_config) == (second, first)
        assert found.pending_writes == [("task", "said", "x")]
        assert second["configurable"]["thread_id"] == thread_id
        assert await threads_in(saver) == {thread_id}


async def test_threads_whose_ids_look_alike_in_the_database_are_different_ones(database_url: str) -> None:
    async with opened(database_url) as saver:
        for thread_id in ("a\0b", "a\\0b", "a\\\\0b", "demo:a"):
            await keep(saver, thread_id)
        assert await threads_in(saver) == {"a\0b", "a\\0b", "a\\\\0b", "demo:a"}
        await saver.aprune(["a\0b"], strategy="delete")
        assert await threads_in(saver) == {"a\\0b", "a\\\\0b", "demo:a"}


async def test_the_history_of_a_channel_is_found_with_and_without_a_checkpoints_id(database_url: str) -> None:
    async with opened(database_url) as saver:
        assert await saver.aget_delta_channel_history(config=at("none"), channels=["said"]) == {"said": {"writes": []}}
        first = await keep(saver, "thread")
        await saver.aput_writes(first, [("said", "x")], "task")
        await saver.aput(first, empty_checkpoint(), {"source": "loop", "step": 2, "parents": {}}, {})
        found = await saver.aget_tuple(at("thread"))
        assert found is not None
        by_thread = await saver.aget_delta_channel_history(config=at("thread"), channels=["said"])
        assert by_thread["said"]["writes"] == [("task", "said", "x")]
        assert await saver.aget_delta_channel_history(config=found.config, channels=["said"]) == by_thread


async def waiting_for_a_lock(connection: psycopg.AsyncConnection[Any]) -> None:
    found = None
    while found is None:
        found = await (await connection.execute("select 1 from pg_locks where not granted")).fetchone()


async def test_many_threads_of_one_agent_at_once_do_not_wait_for_each_other(database_url: str) -> None:
    async with opened(database_url) as saver, asyncio.timeout(5):
        assert isinstance(saver.conn, AsyncConnectionPool)
        async with saver.conn.connection() as busy, busy.transaction():
            await busy.execute("lock table checkpoint_writes in exclusive mode")
            stuck = asyncio.create_task(saver.aput_writes(at("slow", checkpoint_id="1"), [("said", "x")], "task"))
            await waiting_for_a_lock(busy)
            await keep(saver, "quick")
            assert await threads_in(saver) == {"quick"}
            assert not stuck.done()
        await stuck


async def test_the_error_for_a_user_that_may_make_no_tables_names_the_grant(
    postgres: PostgresServer, database_url: str
) -> None:
    name = psycopg.conninfo.conninfo_to_dict(database_url)["dbname"]
    postgres.execute(sql.SQL("revoke create on schema public from public"), str(name))
    with pytest.raises(ConfigError, match="grant this user create"):
        async with opened(postgres.url(str(name), user="locked", password="open-sesame")):
            pass


ODD = {
    "nul": "a\0b",
    "half": "a\ud800b",
    "infinite": float("-inf"),
    "text": "\\u0000",
    "none": None,
    "yes": True,
    "n": 3,
    "long": 10**5000,
    "longer than 64 bits": -(1 << 64),
}


async def test_what_is_no_json_to_the_database_comes_back_as_it_was_put(database_url: str) -> None:
    """Encoders of LangGraph's write a question mark for a lone surrogate, here as in a file."""
    async with opened(database_url) as saver:
        versions: Any = dict.fromkeys(ODD, "1")
        checkpoint: Any = {**empty_checkpoint(), "channel_values": dict(ODD), "channel_versions": versions}
        await saver.aput(at("t"), checkpoint, {"source": "input", "step": 1, "parents": {}}, versions)
        found = await saver.aget_tuple(at("t"))
        assert checkpoint["channel_values"] == ODD
    assert found is not None
    assert found.checkpoint["channel_values"] == {**ODD, "half": "a?b"}


async def test_a_value_that_the_database_refuses_is_no_outage(
    database_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    access = PostgresAccess()
    odd: Any = {"source": "input", "step": 1, "parents": {}, "share": float("nan")}
    async with opened(database_url, access=access) as saver:
        with pytest.raises(AgentError, match="holds a value that cannot be saved") as raised:
            await saver.aput(at("t"), empty_checkpoint(), odd, {})
        assert isinstance(raised.value.__cause__, psycopg.DataError)
        await keep(saver, "t")
    assert not caplog.records
