"""One contract for the stores in memory, in SQLite and in Postgres."""

import asyncio
import math
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from langgraph.store.base import BaseStore, InvalidNamespaceError, Op, PutOp
from langgraph.store.memory import InMemoryStore
from psycopg_pool import AsyncConnectionPool

from llamon_agent.adapters.langgraph.checkpoints.access import Access, FreeAccess
from llamon_agent.adapters.langgraph.stores.opening import (
    FILE_NAME,
    StoreOptions,
    index_of,
    open_file,
    open_memory,
    sweep_once,
)
from llamon_agent.adapters.langgraph.stores.owned import Table
from llamon_agent.adapters.langgraph.stores.postgres import open_postgres
from llamon_agent.adapters.langgraph.stores.vectors import VectorIndex
from llamon_agent.domain.errors import AgentError, BackendError, ConfigError
from llamon_agent.store.sqlite.file import SqliteFile

KINDS = ("memory", "sqlite", "postgres")


class Opener:
    """Opens a kind of store; a second time with what the first one has kept."""

    def __init__(self, kind: str, folder: Path, url: str) -> None:
        self.kind = kind
        self._folder = folder
        self._url = url

    @asynccontextmanager
    async def __call__(self, agent: str = "demo", options: StoreOptions = StoreOptions()) -> AsyncIterator[Table]:
        async with AsyncExitStack() as stack:
            match self.kind:
                case "memory":
                    opened: Any = open_memory(agent, options)
                case "sqlite":
                    opened = open_file(
                        agent, self._folder / agent, options, lambda file: SqliteFile(file, "the store in")
                    )
                case _:
                    pool: AsyncConnectionPool[Any] = AsyncConnectionPool(
                        self._url, kwargs={"autocommit": True}, min_size=1, max_size=4, open=False
                    )
                    await stack.enter_async_context(pool)
                    opened = open_postgres(
                        pool, agent=agent, options=options, lock=nullcontext(), pipeline=True, access=FreeAccess()
                    )
            yield await stack.enter_async_context(opened)


@pytest.fixture(params=KINDS)
def opener(request: pytest.FixtureRequest, tmp_path: Path) -> Opener:
    url = request.getfixturevalue("database_url") if request.param == "postgres" else ""
    return Opener(request.param, tmp_path, url)


@pytest.fixture
async def table(opener: Opener) -> AsyncIterator[Table]:
    async with opener() as opened:
        yield opened


async def keys(store: BaseStore, prefix: tuple[str, ...] = (), **more: Any) -> list[str]:
    return sorted(item.key for item in await store.asearch(prefix, **more))


async def test_an_item_comes_back_as_it_was_put(table: Table) -> None:
    store = table.of("ann")
    await store.aput(("users", "1"), "likes", {"food": ["figs", 1, 2.5, None, True], "text": "a\nb %_*"})
    item = await store.aget(("users", "1"), "likes")
    assert item is not None
    assert (item.namespace, item.key) == (("users", "1"), "likes")
    assert item.value == {"food": ["figs", 1, 2.5, None, True], "text": "a\nb %_*"}
    assert await store.aget(("users", "2"), "likes") is None
    await store.adelete(("users", "1"), "likes")
    assert await store.aget(("users", "1"), "likes") is None


async def test_search_goes_by_namespace_filter_and_page(table: Table) -> None:
    store = table.of("ann")
    for number in range(5):
        await store.aput(("users", str(number % 2)), f"k{number}", {"odd": number % 2, "n": number})
    assert await keys(store) == ["k0", "k1", "k2", "k3", "k4"]
    assert await keys(store, ("users", "1")) == ["k1", "k3"]
    assert await keys(store, filter={"odd": 0}) == ["k0", "k2", "k4"]
    assert await keys(store, filter={"n": {"$gt": 2}}) == ["k3", "k4"]
    assert len(await store.asearch((), limit=2, offset=4)) == 1
    assert all(item.namespace[0] == "users" for item in await store.asearch(()))


ALIKE = [
    ("1", "10"),
    ("Ann", "ann"),
    ("a%", "ab"),
    ("a_b", "axb"),
    ("a*", "ab"),
    ("[a]", "a"),
    ("a", "a b"),
    ("é", "É"),
]


@pytest.mark.parametrize(("one", "other"), ALIKE)
async def test_namespaces_that_are_alike_are_two(table: Table, one: str, other: str) -> None:
    store = table.of("ann")
    for name in (one, other):
        await store.aput(("users", name), "k", {"of": name})
    for name in (one, other):
        assert [item.value["of"] for item in await store.asearch(("users", name))] == [name]
        assert await store.alist_namespaces(prefix=("users", name)) == [("users", name)]


async def test_namespaces_are_listed_without_what_is_in_front_of_them(table: Table) -> None:
    store = table.of("ann")
    for namespace in [("a",), ("a", "b"), ("a", "b", "c"), ("x", "b")]:
        await store.aput(namespace, "k", {})
    assert await store.alist_namespaces() == [("a",), ("a", "b"), ("a", "b", "c"), ("x", "b")]
    assert await store.alist_namespaces(prefix=("a",), max_depth=2) == [("a",), ("a", "b")]
    assert await store.alist_namespaces(suffix=("b",)) == [("a", "b"), ("x", "b")]
    assert await store.alist_namespaces(suffix=("*", "a")) == []
    assert await store.alist_namespaces(prefix=("*", "b"), limit=1, offset=1) == [("a", "b", "c")]


async def test_code_that_is_not_async_uses_it_in_a_thread(table: Table) -> None:
    store = table.of("ann")

    def work() -> Any:
        store.put(("n",), "k", {"a": 1})
        return store.get(("n",), "k"), store.search(("n",)), store.list_namespaces()

    item, found, namespaces = await asyncio.to_thread(work)
    assert (item.value, [each.key for each in found], namespaces) == ({"a": 1}, ["k"], [("n",)])


async def test_code_that_is_not_async_uses_it_on_the_loop_or_learns_why_not(table: Table) -> None:
    store = table.of("ann")
    if table.blocks:
        with pytest.raises(AgentError, match="await aput"):
            store.put(("n",), "k", {"a": 1})
        return
    store.put(("n",), "k", {"a": 1})
    item = store.get(("n",), "k")
    assert item is not None
    assert (item.namespace, item.value) == (("n",), {"a": 1})


async def test_many_at_once(table: Table) -> None:
    store = table.of("ann")
    await asyncio.gather(*(store.aput(("n",), f"k{number}", {"n": number}) for number in range(50)))
    assert len(await store.asearch(("n",), limit=100)) == 50


ODD = ["a\0b", "\ud800", math.nan, math.inf, 1 << 80, object(), {1: 2}, [["a\0"]], {"k\0": 1}]


@pytest.mark.parametrize("value", ODD, ids=repr)
async def test_a_value_that_cannot_be_kept_is_the_agents_error_everywhere(table: Table, value: Any) -> None:
    store = table.of("ann")
    with pytest.raises(AgentError, match="cannot be saved"):
        await store.aput(("n",), "k", {"odd": value})
    assert await store.aget(("n",), "k") is None
    await store.aput(("n",), "k", {"odd": "fine"})
    assert await keys(store) == ["k"]


@pytest.mark.parametrize("odd", ["a\0", "\ud800"], ids=["nul", "surrogate"])
async def test_a_name_that_cannot_be_kept_is_the_agents_error_everywhere(table: Table, odd: str) -> None:
    store = table.of("ann")
    for use in (
        lambda: store.aput(("n",), odd, {}),
        lambda: store.aput((odd,), "k", {}),
        lambda: store.aget((odd,), "k"),
        lambda: store.asearch((odd,)),
        lambda: store.asearch((), filter={"a": odd}),
    ):
        with pytest.raises((AgentError, InvalidNamespaceError)):  # newer versions of LangGraph refuse some themselves
            await use()


async def test_dates_become_text(table: Table) -> None:
    store = table.of("ann")
    await store.aput(("n",), "k", {"at": datetime(2026, 12, 1, tzinfo=UTC)})
    item = await store.aget(("n",), "k")
    assert item is not None
    assert item.value == {"at": "2026-12-01T00:00:00Z"}


async def test_a_namespace_that_langgraph_refuses_is_refused(table: Table) -> None:
    with pytest.raises(InvalidNamespaceError):
        await table.of("ann").aput(("a.b",), "k", {})


# -- callers and agents


OWNERS = ("ann", "an", "n", "", "%", "*", "_", "ann:bob", "tenant:3:ann:x", "principal", "안", "a" * 300)


async def test_no_caller_sees_anothers_items(table: Table) -> None:
    for owner in OWNERS:
        await table.of(owner).aput(("n",), "k", {"of": owner})
        await table.of(owner).aput(("n", owner or "none"), "own", {"of": owner})
    for owner in OWNERS:
        found = await table.of(owner).asearch(())
        assert {item.value["of"] for item in found} == {owner}
        assert (await table.of(owner).alist_namespaces())[0] == ("n",)
        assert len(await table.of(owner).alist_namespaces(suffix=("*",))) == 2


async def test_no_agent_sees_anothers_items_and_a_restart_loses_none(opener: Opener) -> None:
    if opener.kind == "memory":
        return
    async with opener("one") as table:
        await table.of("ann").aput(("n",), "k", {"of": "one"})
    async with opener("two") as table:
        assert await keys(table.of("ann")) == []
    async with opener("one") as table:
        assert await keys(table.of("ann")) == ["k"]


async def test_a_file_is_private(tmp_path: Path) -> None:
    async with open_file("demo", tmp_path / "demo", StoreOptions(), lambda _file: FreeAccess()) as table:
        await table.of("ann").aput(("n",), "k", {})
        assert {file.stat().st_mode & 0o777 for file in (tmp_path / "demo").iterdir()} == {0o600}


async def test_a_file_that_is_no_store_is_refused_at_start(tmp_path: Path) -> None:
    (tmp_path / FILE_NAME).write_text("no database, and long enough to be taken for one" * 50)
    with pytest.raises(ConfigError, match="cannot be opened"):
        async with open_file("demo", tmp_path, StoreOptions(), lambda _file: FreeAccess()):
            pass


async def test_a_store_that_is_away_is_an_outage(tmp_path: Path) -> None:
    def access_to(file: Path) -> Access:
        return SqliteFile(file, "the store in")

    async with open_file("demo", tmp_path / "demo", StoreOptions(), access_to) as table:
        await table.of("ann").aput(("n",), "k", {})
        (tmp_path / "demo" / FILE_NAME).rename(tmp_path / "away")
        with pytest.raises(BackendError):
            await table.of("ann").aput(("n",), "k", {})


# -- time


async def test_items_end_and_are_swept(opener: Opener) -> None:
    if opener.kind == "memory":
        return
    async with opener(options=StoreOptions(ttl_minutes=60.0)) as table:
        store = table.of("ann")
        await store.aput(("n",), "past", {}, ttl=-1)
        await store.aput(("n",), "present", {})
        await sweep_once(table.inner)
        assert await keys(store) == ["present"]


# -- search by meaning


async def embed(texts: Sequence[str]) -> list[list[float]]:
    """Two directions: about food, and about weather."""
    return [[float("food" in text), float("rain" in text), 0.1] for text in texts]


@pytest.fixture
async def indexed(opener: Opener, tmp_path: Path) -> AsyncIterator[Table]:
    module = tmp_path / f"embeds_{opener.kind}_{tmp_path.name}.py"
    module.write_text("from tests.unit.adapters.langgraph.stores.test_stores import embed\n")
    options = StoreOptions(embed=f"{module}:embed", fields=("text", "tags[*]"))
    async with opener(options=options) as opened:
        yield opened


async def test_a_query_finds_the_nearest_first(indexed: Table) -> None:
    store = indexed.of("ann")
    await store.aput(("n",), "figs", {"text": "food", "kind": 1})
    await store.aput(("n",), "clouds", {"text": "rain", "tags": ["a", "b"], "kind": 1})
    await store.aput(("n",), "plain", {"text": "rain"}, index=False)
    await store.aput(("m",), "other", {"text": "food"})
    found = await store.asearch(("n",), query="more food", limit=2)
    assert [item.key for item in found] == ["figs", "clouds"]
    assert found[0].score is not None
    assert found[0].score > 0.99
    assert [item.key for item in await store.asearch(("n",), query="rain", filter={"kind": 1})] == ["clouds", "figs"]
    assert [item.key for item in await store.asearch(("n",), query="rain")][-1] == "plain"
    assert await store.alist_namespaces() == [("m",), ("n",)]


async def test_vectors_change_and_go_with_their_items(indexed: Table) -> None:
    store = indexed.of("ann")
    await store.aput(("n",), "k", {"text": "food"})
    await store.aput(("n",), "k", {"text": "rain"})
    found = await store.asearch(("n",), query="rain")
    assert found[0].score is not None
    assert found[0].score > 0.99
    await store.adelete(("n",), "k")
    assert await store.asearch(("n",), query="rain") == []
    assert await indexed.of("bob").asearch((), query="rain") == []


async def test_without_an_index_a_query_is_ignored(table: Table) -> None:
    store = table.of("ann")
    await store.aput(("n",), "k", {"text": "food"})
    assert [item.key for item in await store.asearch(("n",), query="rain")] == ["k"]


async def test_an_index_of_a_graphs_own_store_goes_on(table: Table) -> None:
    own = InMemoryStore(index={"dims": 3, "embed": embed, "fields": ["text"]})
    index = index_of(own, table.inner)
    assert isinstance(index, VectorIndex)
    vectors: Op = await index.vectors_of(PutOp(("label", "n"), "k", {"text": "food"}))
    assert isinstance(vectors, PutOp)
    assert vectors.value == {"vectors": [[1.0, 0.0, 0.1]]}
    assert index_of(InMemoryStore(), table.inner) is None


async def test_embeddings_that_cannot_be_made_are_an_error_at_start(opener: Opener) -> None:
    with pytest.raises(ConfigError, match="makes no embeddings"):
        async with opener(options=StoreOptions(embed="nobody:nothing")):
            pass
