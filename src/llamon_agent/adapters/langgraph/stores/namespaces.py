"""Where a caller's items are in a table, and which namespaces a search or a list means.

Theory. Tables keep a namespace as one text, its labels joined with dots, and search it by a pattern in front. Older
versions of LangGraph search carelessly: `("users", "1")` also finds `("users", "10")`, an `_` is any character, and
SQLite does not tell `Ann` from `ann`. So labels are written in a form for which that is exact: of lower case, without
characters of a pattern, and each with an end that is no part of another. All versions then find the same.
"""

import re
from collections.abc import Sequence
from hashlib import sha256
from urllib.parse import unquote

from langgraph.store.base import ListNamespacesOp, MatchCondition

Namespace = tuple[str, ...]

_END = "/"
_OTHER = re.compile(r"[^a-z0-9-]")


def label_of(*names: str) -> str:
    """A label that no other names have. Shape: 64 hexadecimal digits."""
    return sha256("".join(f"{len(name)}:{name}" for name in names).encode("utf-8", "surrogatepass")).hexdigest()


def written(namespace: Namespace) -> Namespace:
    """A namespace as a table keeps it. Shape: texts that are UTF-8."""
    return tuple(_OTHER.sub(_in_hex, label) + _END for label in namespace)


def read(namespace: Namespace) -> Namespace:
    """The namespace that was written so."""
    return tuple(unquote(label.removesuffix(_END).replace("=", "%")) for label in namespace)


def listed(op: ListNamespacesOp, namespaces: Sequence[Namespace]) -> list[Namespace]:
    """The namespaces that an operation asks for, of all. Source: langgraph.store.memory, which works the same way."""
    fitting = [each for each in namespaces if all(_fits(condition, each) for condition in op.match_conditions or ())]
    depth = op.max_depth
    return sorted({each if depth is None else each[:depth] for each in fitting})[op.offset : op.offset + op.limit]


def _in_hex(character: re.Match[str]) -> str:
    """A character as its bytes, such as `=4a`."""
    return "".join(f"={byte:02x}" for byte in character[0].encode())


def _fits(condition: MatchCondition, namespace: Namespace) -> bool:
    path = tuple(condition.path)
    part = namespace[: len(path)] if condition.match_type == "prefix" else namespace[len(namespace) - len(path) :]
    return len(namespace) >= len(path) and all(wanted in ("*", is_) for wanted, is_ in zip(path, part, strict=True))
