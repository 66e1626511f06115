"""Search by meaning: the vectors of a store's items, kept as items beside them, and compared one by one.

LangGraph's own index needs an extension of the database: sqlite-vec, which Python's sqlite3 often cannot load, or
pgvector, which few servers have. This one needs nothing and is exact. A search reads all items below its namespace, so
it suits thousands of items for each caller, and not millions.

Vectors are made before the table is used: a failure of the embeddings is the agent's, and no outage of the storage. A
thread that uses the store makes them itself, as it may hold the last worker thread that another one would need.
"""

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import isfinite, sqrt
from typing import NamedTuple

from langchain_core.embeddings import Embeddings
from langgraph.store.base import (
    BaseStore,
    GetOp,
    Item,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
    get_text_at_path,
)
from langgraph.store.base.embed import EmbeddingsLambda

from llamon_agent.domain.errors import AgentError

NOT_EMBEDDED = "The agent could not make the vectors that its store needs."
"""The caller's error text if the embeddings fail."""

Vector = list[float]

_PAGE = 1000

_VECTORS = "vectors"

log = logging.getLogger(__name__)


class Embedded(NamedTuple):
    """The vectors of the texts in operations, by text."""

    documents: Mapping[str, Vector]
    queries: Mapping[str, Vector]


class VectorIndex:
    """Vectors of the items of a store. Shape: fields are the paths in an item whose texts have vectors; "$" is all."""

    def __init__(self, inner: BaseStore, embeddings: Embeddings, fields: Sequence[str] = ("$",)) -> None:
        self._inner = inner
        self._embeddings = embeddings
        self._fields = tuple(fields)
        self._has_warned = False

    @property
    def is_async_only(self) -> bool:
        """Whether its vectors can be made on the event loop only."""
        return isinstance(self._embeddings, EmbeddingsLambda) and getattr(self._embeddings, "func", None) is None

    def embed(self, ops: Sequence[Op]) -> Embedded:
        """Make the vectors that operations need in this thread. Raises: AgentError."""
        texts, queries = self._texts_of(ops)
        with _embedding():
            documents = self._embeddings.embed_documents(texts) if texts else []
            targets = [self._embeddings.embed_query(query) for query in queries]
            return Embedded(_by_text(texts, documents), _by_text(queries, targets))

    async def aembed(self, ops: Sequence[Op]) -> Embedded:
        """Make the vectors that operations need on the event loop. Raises: AgentError."""
        texts, queries = self._texts_of(ops)
        with _embedding():
            documents = await self._embeddings.aembed_documents(texts) if texts else []
            targets = [await self._embeddings.aembed_query(query) for query in queries]
            return Embedded(_by_text(texts, documents), _by_text(queries, targets))

    async def carry_out(self, ops: Sequence[Op], embedded: Embedded) -> list[Result]:
        """The results of operations. As in LangGraph's stores, what they read is from before what they write."""
        searches = {n: op for n, op in enumerate(ops) if isinstance(op, SearchOp) and op.query}
        results: dict[int, Result] = {
            n: list(await self._search(op, embedded.queries[op.query or ""])) for n, op in searches.items()
        }
        others = {n: op for n, op in enumerate(ops) if n not in searches}
        vectors = [self._vectors_of(op, embedded.documents) for op in others.values() if isinstance(op, PutOp)]
        found = await self._inner.abatch([*others.values(), *vectors])
        results |= dict(zip(others, found, strict=False))  # there are results for the vectors, too
        ordered = [results[n] for n in range(len(ops))]
        await self._postpone(ops, ordered)
        return ordered

    def _texts_of(self, ops: Sequence[Op]) -> tuple[list[str], list[str]]:
        """The texts to keep and the queries whose vectors operations need, each once."""
        texts = [text for op in ops if isinstance(op, PutOp) for text in self._documents_of(op)]
        queries = [op.query for op in ops if isinstance(op, SearchOp) and op.query]
        return list(dict.fromkeys(texts)), list(dict.fromkeys(queries))

    def _documents_of(self, op: PutOp) -> list[str]:
        if op.value is None or op.index is False:
            return []
        paths = self._fields if op.index is None else op.index
        return [text for path in paths for text in get_text_at_path(op.value, path)]

    def _vectors_of(self, op: PutOp, documents: Mapping[str, Vector]) -> PutOp:
        """The operation that keeps or deletes the vectors of an item. Shape: op is the item's own."""
        texts = self._documents_of(op)
        value = {_VECTORS: [documents[text] for text in texts]} if texts else None
        return op._replace(namespace=_beside(op.namespace), value=value, index=False)

    async def _search(self, op: SearchOp, target: Vector) -> list[SearchItem]:
        """The items that an operation finds, the nearest to its query first, and those without vectors last."""
        found = await self._all(op)
        beside = await self._all(op._replace(namespace_prefix=_beside(op.namespace_prefix), filter=None))
        vectors = {(item.namespace, item.key): self._fitting(item.value[_VECTORS], target) for item in beside}
        scored = [_scored(item, vectors.get((_beside(item.namespace), item.key), []), target) for item in found]
        scored.sort(key=lambda item: (item.score is None, -(item.score or 0.0)))
        return scored[op.offset : op.offset + op.limit]

    def _fitting(self, vectors: Sequence[Vector], target: Vector) -> list[Vector]:
        """Those that can be compared with a query's: others were made by other embeddings."""
        fitting = [vector for vector in vectors if len(vector) == len(target)]
        if len(fitting) < len(vectors) and not self._has_warned:
            self._has_warned = True
            log.warning(
                "a graph's store has vectors of another size than its embeddings make now; searches by meaning find "
                "their items last until these are put again"
            )
        return fitting

    async def _all(self, op: SearchOp) -> list[SearchItem]:
        """All items that an operation would find, page by page. Reading them is no use of them yet."""
        items: list[SearchItem] = []
        more = True
        while more:
            page: Op = op._replace(limit=_PAGE, offset=len(items), query=None, refresh_ttl=False)
            found = (await self._inner.abatch([page]))[0]
            assert isinstance(found, list)
            items += [item for item in found if isinstance(item, SearchItem)]
            more = len(found) == _PAGE
        return items

    async def _postpone(self, ops: Sequence[Op], results: Sequence[Result]) -> None:
        """Put the end of what was read off, together with that of its vectors."""
        if not self._inner.ttl_config:
            return
        reads: list[Op] = []
        for op, result in zip(ops, results, strict=True):
            if not isinstance(op, GetOp | SearchOp) or not op.refresh_ttl:
                continue
            for item in _items_in(result):
                reads += [GetOp(item.namespace, item.key), GetOp(_beside(item.namespace), item.key)]
        if reads:
            await self._inner.abatch(reads)


@contextmanager
def _embedding() -> Iterator[None]:
    try:
        yield
    except Exception as exc:  # the code of a provider's package, which may raise anything
        raise AgentError(NOT_EMBEDDED) from exc


def _by_text(texts: Sequence[str], made: Iterable[Vector]) -> dict[str, Vector]:
    """Raises: ValueError, TypeError: these are no vectors, or not one for each text."""
    return dict(zip(texts, map(_vector, made), strict=True))


def _vector(made: Vector) -> Vector:
    """A vector of plain numbers: some embeddings make numbers of types that no table can keep."""
    vector = [float(number) for number in made]
    if not all(map(isfinite, vector)):
        raise ValueError("a vector has a number that is not finite")
    return vector


def _beside(namespace: tuple[str, ...]) -> tuple[str, ...]:
    """Where the vectors of a namespace are. Shape: its first label, a digest, is never this one."""
    return (f"v-{namespace[0]}", *namespace[1:])


def _items_in(result: Result) -> list[Item]:
    items = result if isinstance(result, list) else [result]
    return [item for item in items if isinstance(item, Item)]


def _scored(item: Item, vectors: Sequence[Vector], target: Vector) -> SearchItem:
    """An item with the similarity of its nearest vector; None without vectors."""
    score = max((_cosine(vector, target) for vector in vectors), default=None)
    return SearchItem(item.namespace, item.key, item.value, item.created_at, item.updated_at, score)


def _cosine(one: Vector, other: Vector) -> float:
    size = sqrt(sum(x * x for x in one)) * sqrt(sum(x * x for x in other))
    return sum(x * y for x, y in zip(one, other, strict=True)) / size if size else 0.0
