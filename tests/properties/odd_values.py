"""Values that one store or another does not like, made at random, and three stores side by side."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import msgspec
from hypothesis import strategies as st
from tests.postgres_server import PostgresServer

from llamon_agent.domain.errors import CallerError, Conflict
from llamon_agent.runs.ports.store import Store
from llamon_agent.store.memory import MemoryTaskStore
from llamon_agent.store.postgres.pool import PoolOptions, open_pool
from llamon_agent.store.postgres.store import PostgresTaskStore
from llamon_agent.store.sqlite.store import SqliteTaskStore


class Words(str):
    """A text of a class of its own, as LangChain has them."""


class Count(int):
    """A number of a class of its own, as numpy has them."""


def nested(depth: int) -> Any:
    value: Any = "end"
    for level in range(depth):
        value = [value] if level % 2 else {"in": value}
    return value


SAID: list[Any] = [None]
"""The value that is said next, by every agent alike."""


def extreme(name: str) -> Any:
    """By its name, as Python itself does not print such values."""
    return 10**5000 if name == "5000 digits" else nested(int(name.removesuffix(" deep")))


NUMBERS = st.sampled_from([float("nan"), float("inf"), float("-inf"), -0.0, 5e-324, 1 << 63, -(1 << 63) - 1, 10**400])
TEXTS = st.text(st.sampled_from("a\\'%?\0\x1f\ud83d\ude00\udc80\uffff한"), max_size=4) | st.sampled_from(
    ["\\u0000", "\\ud800", "long " * 20_000]
)
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | TEXTS.map(Words)
    | st.integers(0, 3).map(Count)
    | st.booleans()
    | NUMBERS
    | TEXTS
    | st.sampled_from([b"\xff", object()])
    | st.sampled_from(["80 deep", "300 deep", "940 deep", "980 deep", "5000 deep", "5000 digits"]).map(extreme),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(TEXTS | st.sampled_from([1, None, 2.5]), inner, max_size=2)
    ),
    max_leaves=3,
)


async def result(work: Callable[[], Awaitable[object]]) -> object:
    """What comes of a call: its value, or the error that a caller would see, which is never an outage."""
    try:
        return msgspec.to_builtins(await work())
    except (CallerError, Conflict) as exc:
        return type(exc).__name__, exc.public


def three_stores(postgres: PostgresServer, folder: Path) -> Iterator[tuple[asyncio.Runner, tuple[Store, ...]]]:
    """Empty stores of each kind, and the loop that they belong to."""
    name = postgres.make_database()
    with asyncio.Runner() as runner:
        opened = AsyncExitStack()

        async def start() -> tuple[Store, ...]:
            pool = await opened.enter_async_context(open_pool(PoolOptions(url=postgres.url(name), pool_min=1)))
            stores = (
                MemoryTaskStore(),
                SqliteTaskStore.open(folder / "tasks.sqlite"),
                await PostgresTaskStore.open(pool),
            )
            for store in stores:
                opened.push_async_callback(store.close)
            return stores

        yield runner, runner.run(start())
        runner.run(opened.aclose())
    postgres.drop_database(name)
