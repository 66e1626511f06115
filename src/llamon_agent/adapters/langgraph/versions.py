"""What the versions of LangGraph differ in, from the lowest that is allowed to the newest: each difference once, here.

Theory. Many projects are held at the version that they were written for. The rest of the adapter uses what all of the
versions have; names that came later are looked up here.

- langgraph-checkpoint 3.0 has no list of the types that come back from a checkpoint as what they were: all do.
- An answer that does not fit the schema of its question is marked as such since 1.2.15. Before, no question had one.
- Before 1.2.20 two questions that one node asks in turn have the same id. So an answer that names the first, and comes
  late, is taken for the second. Before 1.2.14 a question of a subgraph is listed until all questions of its step are
  answered. Neither can be mended from outside, so there is a warning at the start.
"""

import logging
import re
from collections.abc import Iterable
from functools import cache
from importlib import import_module
from importlib.metadata import version

from langgraph import errors

log = logging.getLogger(__name__)

IDS_ARE_UNIQUE = (1, 2, 20)
"""The first version in which each question has an id of its own."""

_SAFE_TYPES = "SAFE_MSGPACK_TYPES"

_RELEASE = re.compile(r"\d+(?:\.\d+)*")


def add_safe_types(types: Iterable[type]) -> None:
    """Let types come back from a checkpoint as what they were. Safe to call twice."""
    try:
        serde = import_module("langgraph.checkpoint.serde._msgpack")
    except ModuleNotFoundError:
        return
    if (known := getattr(serde, _SAFE_TYPES, None)) is not None:
        setattr(serde, _SAFE_TYPES, known | {(each.__module__, each.__name__) for each in types})


def only_known_types() -> bool:
    """Whether LangGraph is told to make no objects of classes that it does not know, when it reads a checkpoint."""
    try:
        serde = import_module("langgraph.checkpoint.serde._msgpack")
    except ModuleNotFoundError:
        return False
    return bool(getattr(serde, "STRICT_MSGPACK_ENABLED", False))


def is_invalid_resume(exc: BaseException) -> bool:
    """Whether an error says that an answer does not fit its question's schema, which is then asked again."""
    marked = getattr(errors, "is_invalid_resume", None)
    return marked is not None and marked(exc)


@cache  # once in a process, and not for each graph
def warn_of_old_version() -> None:
    """Warn, at start, if LangGraph is so old that an answer may be taken for another question's."""
    installed = version("langgraph")
    if _release(installed) < IDS_ARE_UNIQUE:
        log.warning(
            "langgraph %s gives the questions of one node the same id, so a late answer may be taken for the next "
            "question; with langgraph %s or newer it is not",
            installed,
            ".".join(map(str, IDS_ARE_UNIQUE)),
        )


def _release(text: str) -> tuple[int, ...]:
    found = _RELEASE.match(text)
    return tuple(int(number) for number in found[0].split(".")) if found else ()
