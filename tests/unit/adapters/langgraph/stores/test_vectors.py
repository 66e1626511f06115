"""Search by meaning in the stores in memory, in SQLite and in Postgres, whatever the embeddings do."""

from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest
from langgraph.store.memory import InMemoryStore
from tests.contract.graph_store import Opener

from llamon_agent.adapters.langgraph.stores.opening import StoreOptions, index_of
from llamon_agent.adapters.langgraph.stores.owned import Table
from llamon_agent.domain.errors import ConfigError


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
