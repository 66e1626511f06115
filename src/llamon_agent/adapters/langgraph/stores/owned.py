"""One caller's part of an agent's store, which looks like a whole store to the graph's code.

Theory. All callers share a table. So each namespace is kept below a label made of the agent and the caller's owner: a
digest of fixed length, so that no two are equal, none begins another, and none holds a character that a table takes for
a pattern. The code never sees the label, in no result and no list.

Code may use a store from the event loop and from threads, and with methods that are async or not; a thread may have an
event loop of its own. What is not on the table's loop goes there, because its connections and the report of its outages
belong to it. A table needs no worker thread: each of them may be one that waits for it.
"""

import asyncio
from collections.abc import Coroutine, Iterable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from copy import copy
from typing import Any, TypeVar

from langgraph.store.base import (
    BaseStore,
    GetOp,
    Item,
    ListNamespacesOp,
    MatchCondition,
    Op,
    PutOp,
    Result,
    SearchOp,
)

from llamon_agent.adapters.langgraph.checkpoints.access import Access
from llamon_agent.adapters.langgraph.stores.namespaces import Namespace, label_of, listed, read, written
from llamon_agent.adapters.langgraph.stores.values import NOT_KEPT, in_object, keepable, out_of_object
from llamon_agent.adapters.langgraph.stores.vectors import Embedded, VectorIndex
from llamon_agent.domain.errors import AgentError

AnyItem = TypeVar("AnyItem", bound=Item)

Results = list[Result]

_MAX_NAMESPACES = 100_000

_NOT_ON_THE_LOOP = "This store needs its async methods here: await aput, aget and asearch in async code."


class Table:
    """What the stores of all callers of an agent share.

    Shape: inner keeps the items; blocks says that its methods that are not async must not be called on the event loop;
           refused are its errors that say that it cannot keep a value.
    """

    def __init__(
        self,
        inner: BaseStore,
        *,
        agent: str,
        access: Access,
        index: VectorIndex | None = None,
        blocks: bool = False,
        refused: tuple[type[Exception], ...] = (),
    ) -> None:
        self.inner = inner
        self.access = access
        self.index = index
        self.blocks = blocks
        self.refused = refused
        self._agent = agent
        self._loop = asyncio.get_running_loop()

    def of(self, owner: str) -> "OwnedStore":
        """The store of a caller."""
        return OwnedStore(self, label_of(self._agent, owner))

    @property
    def is_on_loop(self) -> bool:
        """Whether the caller of this runs on the event loop of the table."""
        try:
            return asyncio.get_running_loop() is self._loop
        except RuntimeError:
            return False

    def from_thread(self, work: Coroutine[Any, Any, Results]) -> Future[Results]:
        """Run a coroutine on the loop, from another thread."""
        return asyncio.run_coroutine_threadsafe(work, self._loop)


class OwnedStore(BaseStore):
    """A caller's part of a table. Raises: AgentError, for a value that cannot be kept; BackendError."""

    def __init__(self, table: Table, label: str) -> None:
        self._table = table
        self._label = label
        self.supports_ttl = table.inner.supports_ttl
        self.ttl_config = table.inner.ttl_config

    def batch(self, ops: Iterable[Op]) -> Results:
        table, given = self._table, list(ops)
        inward = [self._inward(op) for op in given]
        if not table.is_on_loop:
            embedded = None if table.index is None or table.index.is_async_only else table.index.embed(inward)
            return self._outward(given, table.from_thread(self._carry_out(inward, embedded)).result())
        if table.blocks or table.index is not None:
            raise AgentError(_NOT_ON_THE_LOOP)
        with self._accessing(inward):
            return self._outward(given, table.inner.batch(inward))

    async def abatch(self, ops: Iterable[Op]) -> Results:
        given = list(ops)
        work = self._carry_out([self._inward(op) for op in given])
        on_loop = work if self._table.is_on_loop else asyncio.wrap_future(self._table.from_thread(work))
        return self._outward(given, await on_loop)

    async def _carry_out(self, ops: Sequence[Op], embedded: Embedded | None = None) -> Results:
        """The results of operations on the table. Shape: embedded are their vectors, if they are already made."""
        index = self._table.index
        if index is not None and embedded is None:
            embedded = await index.aembed(ops)
        with self._accessing(ops):
            if index is not None and embedded is not None:
                return await index.carry_out(ops, embedded)
            return await self._table.inner.abatch(ops)

    @contextmanager
    def _accessing(self, ops: Sequence[Op]) -> Iterator[None]:
        """Around a use of the table. Raises: BackendError; AgentError, if the table works but refuses a value."""
        access, refused = self._table.access, None
        with access.writing() if any(isinstance(op, PutOp) for op in ops) else access.reading():
            try:
                yield
            except self._table.refused as exc:
                refused = exc
        if refused is not None:
            raise AgentError(NOT_KEPT) from refused

    def _inward(self, op: Op) -> Op:
        """An operation on the table. Raises: AgentError: it names or holds what cannot be kept."""
        match op:
            case ListNamespacesOp():
                mine = MatchCondition(match_type="prefix", path=(self._label,))
                return ListNamespacesOp(match_conditions=(mine,), max_depth=None, limit=_MAX_NAMESPACES)
            case SearchOp(namespace_prefix=prefix, filter=wanted):
                query = None if self._table.index is None else op.query
                return op._replace(namespace_prefix=self._inner(prefix), filter=keepable(wanted), query=query)
            case PutOp(namespace=namespace, key=key, value=value):
                kept = in_object(keepable(value))
                return op._replace(namespace=self._inner(namespace), key=keepable(key), value=kept)
            case GetOp(namespace=namespace, key=key):
                return op._replace(namespace=self._inner(namespace), key=keepable(key))
        raise TypeError(f"{type(op).__name__} is no operation of a store")

    def _inner(self, namespace: Namespace) -> Namespace:
        return (self._label, *written(keepable(namespace)))

    def _outward(self, ops: Sequence[Op], results: Sequence[Result]) -> Results:
        return [_outer_result(op, result) for op, result in zip(ops, results, strict=True)]


def _outer_result(op: Op, result: Any) -> Result:
    """A result as the graph's code gets it: without the label."""
    if isinstance(op, ListNamespacesOp):
        return listed(op, [read(namespace[1:]) for namespace in result])
    if isinstance(result, list):
        return [_outer(item) for item in result]
    return _outer(result) if isinstance(result, Item) else None


def _outer(item: AnyItem) -> AnyItem:
    """An item without the label in front of its namespace, and with the value that was put."""
    found = copy(item)
    found.namespace = read(item.namespace[1:])
    found.value = out_of_object(item.value)
    return found
