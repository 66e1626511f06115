"""What a graph that declares a context is given as one, and whether it can be.

Theory. A graph says with `context_schema` what its nodes read from `runtime.context`. LangGraph makes a dataclass or
a pydantic model of the dict that a run is given, and hands any other kind over as it is. Without a dict there is no
context at all, not even one of defaults. LangGraph's own server gives every run a dict, and so do we: an empty one.

- A context that cannot be made of nothing is refused at start: otherwise every call would fail.
- A dict is not checked by LangGraph, and a node may never read the key that is not there. So it is served, with a
  warning.
- `config_schema`, from before there was a context, is taken for a `context_schema` by LangGraph. Graphs of that time
  read their `config` only. One whose schema cannot be made of nothing is given no context, as it was then.
"""

import logging
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from typing import Any, NotRequired, get_origin, get_type_hints

from langgraph.prebuilt import ToolNode
from langgraph.pregel import Pregel
from langgraph.runtime import Runtime
from pydantic import BaseModel, ValidationError

from llamon_agent.domain.error_location import brief
from llamon_agent.domain.errors import ConfigError

log = logging.getLogger(__name__)

Context = Mapping[str, Any]
"""What a run is given, by the names of the schema's fields."""

_Graph = Pregel[Any, Any, Any, Any]


class _Given(dict[str, Any]):
    """A dict that counts though it is empty: LangGraph takes one that is false for none. Source: Runtime.merge."""

    def __bool__(self) -> bool:
        return True


class _NotMade(Exception):
    """A schema wants values that it is not given; it says why not, in words that may be shown."""


def check_context(graph: _Graph, target: str) -> None:
    """Say at start what a graph's context lacks. Raises: ConfigError, where every call would fail."""
    schema = _schema(graph)
    if schema is None:
        return
    try:
        _try(schema)
    except _NotMade as exc:
        told = f"The target {target!r}: its context {schema.__name__} {exc}"
        if not _reads_config_only(graph):
            raise ConfigError(f"{told}. Nothing gives it values here: let it have defaults.") from exc.__cause__
        log.warning("%s; it is given none", told)
        return
    if not _is_made(schema) and (keys := _required_keys(schema)):
        log.warning("The target %r: its context %s is an empty dict here, without %s", target, schema.__name__, keys)


def context_for(graph: _Graph) -> Context | None:
    """What each run of a graph is given as its context; None: nothing."""
    schema = _schema(graph)
    if schema is None:
        return None
    try:
        _try(schema)
    except _NotMade:
        return None if _reads_config_only(graph) else {}
    return {}


def as_given(context: Context | None) -> dict[str, Any] | None:
    """A context for one run, whose code may change it."""
    return None if context is None else _Given(context)


def runtime_for(graph: _Graph, context: Context | None) -> Runtime[Any]:
    """What code of a graph finds as its runtime in a run, for code that is run outside of one."""
    schema, given = _schema(graph), as_given(context)
    made = schema(**given) if schema is not None and given is not None and _is_made(schema) else given
    return Runtime(context=made, store=graph.store)


def _schema(graph: _Graph) -> type[Any] | None:
    """The class that a graph declares. Of what is no class, such as a union, LangGraph can make nothing."""
    schema = graph.context_schema
    return schema if isinstance(schema, type) else None


def _is_made(schema: type[Any]) -> bool:
    """Whether LangGraph makes a context of a dict. Source: langgraph.pregel.main._coerce_context."""
    return issubclass(schema, BaseModel) or is_dataclass(schema)


def _try(schema: type[Any]) -> None:
    """Make a context of nothing, as each run will. Raises: _NotMade."""
    if not _is_made(schema):
        return
    try:
        schema()
    except ValidationError as exc:
        names = dict.fromkeys(str(error["loc"][0]) for error in exc.errors(include_input=False) if error["loc"])
        raise _NotMade(_no_value(names) if names else f"cannot be made: {brief(exc)}") from exc
    except Exception as exc:  # the author's own code
        missing = [each.name for each in fields(schema) if _is_required(each)] if is_dataclass(schema) else []
        raise _NotMade(_no_value(missing) if missing else f"cannot be made: {brief(exc)}") from exc


def _is_required(field: Any) -> bool:
    return field.init and field.default is MISSING and field.default_factory is MISSING


def _no_value(names: Any) -> str:
    return "has no usable value for " + ", ".join(repr(name) for name in names)


def _required_keys(schema: type[Any]) -> str:
    """The keys that a TypedDict wants, in words; none of another kind.

    A key that is marked where annotations are kept as texts is not found in `__required_keys__`.
    """
    required: frozenset[str] = getattr(schema, "__required_keys__", frozenset())
    try:
        hints = get_type_hints(schema, include_extras=True)
    except Exception:  # noqa: BLE001 -- names that are there for a type checker only
        hints = {}
    return ", ".join(sorted(repr(key) for key in required if get_origin(hints.get(key)) is not NotRequired))


def _reads_config_only(graph: _Graph) -> bool:
    """Whether nodes take a config and none a runtime. LangGraph's own nodes take both, and say nothing."""
    graphs = [graph, *(each for _, each in graph.get_subgraphs(recurse=True))]
    nodes = [node.bound for each in graphs for node in getattr(each, "nodes", {}).values()]
    taken = {name for node in nodes if not isinstance(node, ToolNode) for name in getattr(node, "func_accepts", ())}
    return "config" in taken and "runtime" not in taken
