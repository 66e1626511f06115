"""Search by meaning in the stores in memory, in SQLite and in Postgres, whatever the embeddings do."""

import asyncio
import sqlite3
import threading
from collections.abc import AsyncIterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from langchain_core.embeddings import Embeddings
from langgraph.store.base import PutOp, SearchOp
from langgraph.store.memory import InMemoryStore
from tests.contract.graph_store import Opener, end_in, ends_within, keys

from llamon_agent.adapters.langgraph.stores.opening import StoreOptions, index_of
from llamon_agent.adapters.langgraph.stores.owned import Table
from llamon_agent.adapters.langgraph.stores.vectors import VectorIndex
from llamon_agent.domain.errors import AgentError, ConfigError

MAX_WORKERS = 4


async def embed(texts: Sequence[str]) -> list[list[float]]:
    """Two directions: about food, and about weather."""
    return [[float("food" in text), float("rain" in text), 0.1] for text in texts]


@pytest.fixture
async def indexed(opener: Opener, tmp_path: Path) -> AsyncIterator[Table]:
    module = tmp_path / f"embeds_{opener.kind}_{tmp_path.name}.py"
    module.write_text("from tests.unit.adapters.langgraph.stores.test_vectors import embed\n")
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
    table.index = index_of(own, table.inner)
    store = table.of("ann")
    await store.aput(("n",), "clouds", {"text": "rain", "more": "food"})
    await store.aput(("n",), "figs", {"text": "food"})
    assert [item.key for item in await store.asearch(("n",), query="food")] == ["figs", "clouds"]
    assert index_of(InMemoryStore(), table.inner) is None


async def test_embeddings_that_cannot_be_made_are_an_error_at_start(opener: Opener) -> None:
    with pytest.raises(ConfigError, match="makes no embeddings"):
        async with opener(options=StoreOptions(embed="nobody:nothing")):
            pass


class Made(Embeddings):
    """Embeddings that make what a test names, and that count how often they are asked; they are not async."""

    def __init__(self, vector: Any) -> None:
        self._vector = vector
        self.calls: list[int] = []

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        self.calls.append(len(texts))
        if isinstance(self._vector, Exception):
            raise self._vector
        return [list(self._vector) for _ in texts]

    def embed_query(self, text: str) -> list[float]:
        return self.embed_documents([text])[0]


FAILURES = [
    RuntimeError("secret"),
    sqlite3.OperationalError("the embeddings' own cache"),
    AgentError(),
    [float("nan"), 1.0],
    ["x", 1.0],
]


@pytest.mark.parametrize("vector", FAILURES, ids=repr)
async def test_embeddings_that_fail_are_the_agents_error(table: Table, vector: Any) -> None:
    store = table.of("ann")
    table.index = VectorIndex(table.inner, Made(vector))
    for use in (lambda: store.aput(("n",), "k", {"text": "food"}), lambda: store.asearch((), query="food")):
        with pytest.raises(AgentError, match="could not make the vectors"):
            await use()
    with pytest.raises(AgentError, match="could not make the vectors"):
        await asyncio.to_thread(store.put, ("n",), "k", {"text": "food"})
    assert await keys(store) == []


async def test_numbers_of_any_type_are_kept(table: Table) -> None:
    store = table.of("ann")
    table.index = VectorIndex(table.inner, Made([Fraction(3, 4), 1]))
    await store.aput(("n",), "k", {"text": "food"})
    (found,) = await store.asearch((), query="food")
    assert found.score == pytest.approx(1.0)


async def test_items_of_other_embeddings_come_last_until_they_are_put_again(
    table: Table, caplog: pytest.LogCaptureFixture
) -> None:
    store = table.of("ann")
    table.index = VectorIndex(table.inner, Made([1.0, 0.0, 0.0]))
    await store.aput(("n",), "old", {"text": "food"})
    table.index = VectorIndex(table.inner, Made([1.0, 0.0]))
    await store.aput(("n",), "new", {"text": "food"})
    for _ in range(2):
        found = await store.asearch(("n",), query="food")
        assert [(item.key, item.score is None) for item in found] == [("new", False), ("old", True)]
    assert caplog.text.count("vectors of another size") == 1


async def test_texts_of_operations_at_once_are_embedded_at_once(table: Table) -> None:
    store, made = table.of("ann"), Made([1.0, 0.0])
    table.index = VectorIndex(table.inner, made)
    await store.abatch([PutOp(("n",), f"k{number}", {"n": number}) for number in range(10)])
    assert made.calls == [10]
    found = await store.abatch([PutOp(("n",), "k0", None), SearchOp(("n",), query="q", limit=20)])
    assert isinstance(found[1], list)
    assert len(found[1]) == 10  # what is read is from before what is written
    assert len(await keys(store, ("n",), query="q", limit=20)) == 9


async def test_threads_that_wait_for_vectors_leave_no_worker_thread_that_these_need(table: Table) -> None:
    store, all_in_use = table.of("ann"), threading.Barrier(MAX_WORKERS, timeout=5)
    table.index = VectorIndex(table.inner, Made([1.0, 0.0]))

    def work(number: int) -> Any:
        all_in_use.wait()
        store.put(("n",), f"k{number}", {"text": "food"})
        return store.search(("n",), query="food")

    async with asyncio.timeout(5):
        with ThreadPoolExecutor(MAX_WORKERS) as workers:
            asyncio.get_running_loop().set_default_executor(workers)
            found = await asyncio.gather(*(asyncio.to_thread(work, number) for number in range(MAX_WORKERS)))
    assert all(item.score is not None for items in found for item in items)


async def test_code_that_is_not_async_searches_with_async_embeddings(indexed: Table) -> None:
    store = indexed.of("ann")

    def work() -> Any:
        store.put(("n",), "clouds", {"text": "rain"})
        store.put(("n",), "figs", {"text": "food"})
        return store.search(("n",), query="food")

    assert [item.key for item in await asyncio.to_thread(work)] == ["figs", "clouds"]


@pytest.mark.parametrize("refreshes", [True, False])
@pytest.mark.parametrize("is_read_by", ["get", "search", "query"])
async def test_a_use_puts_off_the_end_of_what_was_found_and_of_its_vectors_only(
    opener: Opener, is_read_by: str, refreshes: bool
) -> None:
    if opener.kind == "memory":
        return
    async with opener(options=StoreOptions(ttl_minutes=60.0, refresh_on_read=refreshes)) as table:
        store = table.of("ann")
        table.index = VectorIndex(table.inner, Made([1.0, 0.0]), ("text",))
        for key in ("used", "other"):
            await store.aput((key,), "k", {"text": key})
        await end_in(table, 1)
        match is_read_by:
            case "get":
                await store.aget(("used",), "k", refresh_ttl=True)
            case "search":
                await store.asearch(("used",), refresh_ttl=True)
            case _:
                await store.asearch(("used",), query="food", limit=1, refresh_ttl=True)
        # LangGraph's SQLite store puts nothing off if it is not configured so.
        assert await ends_within(table, 30) == (4 if opener.kind == "sqlite" and not refreshes else 2)
