"""What the stores in memory, in SQLite and in Postgres must do alike."""

import asyncio
import math
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from typing import Any

import pytest
from langgraph.store.base import InvalidNamespaceError
from tests.contract.graph_store import Opener, end_in, keys, swept

from llamon_agent.adapters.langgraph.checkpoints.access import FreeAccess
from llamon_agent.adapters.langgraph.stores.opening import StoreOptions
from llamon_agent.adapters.langgraph.stores.owned import Table
from llamon_agent.domain.errors import AgentError

MAX_WORKERS = 4


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


async def test_threads_that_wait_for_it_leave_no_worker_thread_that_it_needs(table: Table) -> None:
    store, all_in_use = table.of("ann"), threading.Barrier(MAX_WORKERS, timeout=5)

    def work(number: int) -> None:
        all_in_use.wait()
        store.put(("n",), f"k{number}", {})

    async with asyncio.timeout(5):
        with ThreadPoolExecutor(MAX_WORKERS) as workers:
            loop = asyncio.get_running_loop()
            loop.set_default_executor(workers)
            await asyncio.gather(*(asyncio.to_thread(work, number) for number in range(MAX_WORKERS)))
    assert len(await store.asearch(("n",), limit=100)) == MAX_WORKERS


async def test_a_thread_with_an_event_loop_of_its_own_uses_it(table: Table) -> None:
    store, loop_of_use = table.of("ann"), []

    class Noted(FreeAccess):
        def reading(self) -> AbstractContextManager[None]:
            loop_of_use.append(asyncio.get_running_loop())
            return super().reading()

    table.access = Noted()

    async def work() -> Any:
        await store.aput(("n",), "k", {"a": 1})
        return await asyncio.gather(*(store.aget(("n",), "k") for _ in range(20)))

    found = await asyncio.to_thread(lambda: asyncio.run(work()))
    assert [item.value for item in found] == [{"a": 1}] * 20
    assert set(loop_of_use) == {asyncio.get_running_loop()}


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


@pytest.mark.parametrize("value", ["text", 3, True, 1.5, ["a", {"b": 1}], {}, {"llamon": 1}], ids=repr)
async def test_a_value_that_is_no_object_is_kept_as_it_is(table: Table, value: Any) -> None:
    store = table.of("ann")
    await store.aput(("n",), "k", value)
    item = await store.aget(("n",), "k")
    assert item is not None
    assert [each.value for each in [item, *await store.asearch(("n",))]] == [value, value]


def deep(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


ODD = ["a\0b", "\ud800", math.nan, math.inf, 1 << 80, object(), {1: 2}, [["a\0"]], {"k\0": 1}, deep(101)]


@pytest.mark.parametrize("value", ODD, ids=repr)
async def test_a_value_that_cannot_be_kept_is_the_agents_error_everywhere(table: Table, value: Any) -> None:
    store = table.of("ann")
    with pytest.raises(AgentError, match="cannot be saved"):
        await store.aput(("n",), "k", {"odd": value})
    assert await store.aget(("n",), "k") is None
    await store.aput(("n",), "k", {"odd": "fine"})
    assert await keys(store) == ["k"]


class Words(str):
    """A text of a class of its own, as a message's `text` of LangChain is."""


async def test_values_of_other_classes_are_kept_as_plain_ones_everywhere(table: Table) -> None:
    store = table.of("ann")
    await store.aput(("n",), "k", {"text": Words("a"), Words("key"): [Words("b")]})
    found = await store.aget(("n",), "k")
    assert found is not None
    assert found.value == {"text": "a", "key": ["b"]}
    assert type(found.value["text"]) is str


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


# -- time


async def test_items_end_and_are_swept(opener: Opener) -> None:
    if opener.kind == "memory":
        return
    async with opener(options=StoreOptions(ttl_minutes=60.0)) as table:
        store = table.of("ann")
        await store.aput(("n",), "past", {})
        await end_in(table, -1)
        await store.aput(("n",), "present", {})
        await swept(table)
        assert await keys(store) == ["present"]
