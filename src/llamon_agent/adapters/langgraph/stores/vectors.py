"""Search by meaning: the vectors of a store's items, kept as items beside them, and compared one by one.

LangGraph's own index needs an extension of the database: sqlite-vec, which Python's sqlite3 often cannot load, or
pgvector, which few servers have. This one needs nothing and is exact. A search reads all items below its namespace, so
it suits thousands of items for each caller, and not millions.
"""

from collections.abc import Sequence
from math import sqrt

from langchain_core.embeddings import Embeddings
from langgraph.store.base import BaseStore, Item, Op, PutOp, SearchItem, SearchOp, get_text_at_path, tokenize_path

Vector = list[float]

_PAGE = 1000

_VECTORS = "vectors"


class VectorIndex:
    """Vectors of the items of a store. Shape: fields are the paths in an item whose texts have vectors; "$" is all."""

    def __init__(self, inner: BaseStore, embeddings: Embeddings, fields: Sequence[str] = ("$",)) -> None:
        self._inner = inner
        self._embeddings = embeddings
        self._fields = tuple(fields)

    async def vectors_of(self, op: PutOp) -> PutOp:
        """The operation that keeps or deletes the vectors of an item. Shape: op is the item's own."""
        value = None
        if op.value is not None and op.index is not False:
            paths = self._fields if op.index is None else op.index
            texts = [text for path in paths for text in get_text_at_path(op.value, tokenize_path(path))]
            value = {_VECTORS: await self._embeddings.aembed_documents(texts)} if texts else None
        return op._replace(namespace=_beside(op.namespace), value=value, index=False)

    async def search(self, op: SearchOp, query: str) -> list[SearchItem]:
        """The items that an operation finds, the nearest to a query first, and those without vectors last."""
        target = await self._embeddings.aembed_query(query)
        found = await self._all(op)
        vectors = {
            (tuple(item.namespace[1:]), item.key): item.value[_VECTORS]
            for item in await self._all(op._replace(namespace_prefix=_beside(op.namespace_prefix), filter=None))
        }
        scored = [_scored(item, vectors.get((tuple(item.namespace[1:]), item.key), []), target) for item in found]
        scored.sort(key=lambda item: (item.score is None, -(item.score or 0.0)))
        return scored[op.offset : op.offset + op.limit]

    async def _all(self, op: SearchOp) -> list[SearchItem]:
        """All items that an operation would find, page by page."""
        items: list[SearchItem] = []
        more = True
        while more:
            page: Op = op._replace(limit=_PAGE, offset=len(items), query=None)
            found = (await self._inner.abatch([page]))[0]
            assert isinstance(found, list)
            items += [item for item in found if isinstance(item, SearchItem)]
            more = len(found) == _PAGE
        return items


def _beside(namespace: tuple[str, ...]) -> tuple[str, ...]:
    """Where the vectors of a namespace are. Shape: its first label, a digest, is never this one."""
    return (f"v-{namespace[0]}", *namespace[1:])


def _scored(item: Item, vectors: Sequence[Vector], target: Vector) -> SearchItem:
    """An item with the similarity of its nearest vector; None without vectors."""
    score = max((_cosine(vector, target) for vector in vectors), default=None)
    return SearchItem(item.namespace, item.key, item.value, item.created_at, item.updated_at, score)


def _cosine(one: Vector, other: Vector) -> float:
    size = sqrt(sum(x * x for x in one)) * sqrt(sum(x * x for x in other))
    return sum(x * y for x, y in zip(one, other, strict=True)) / size if size else 0.0
