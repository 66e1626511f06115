"""Which context a graph gets that declares one, and whether it can be made.

Theory. With `context_schema` a graph declares what its nodes read from `runtime.context`. LangGraph makes a dataclass
or a pydantic model of the dict that a run gets, and hands over any other kind as it is. Without a dict there is no
context at all, not even one of defaults. LangGraph's own server gives every run a dict, and so do we: an empty one.

- Its values are those of `langgraph.context` in the configuration. A field that is named as the caller's id is filled
  with that, see run_values.
- A context that cannot be made of these is refused at start: otherwise every call would fail.
- LangGraph does not check a context that is a dict, and a node may never read the missing key. So such a graph is
  served, with a warning.
- LangGraph takes `config_schema`, the older declaration, for a `context_schema`. Graphs of that time read their
  `config` only. If their schema cannot be made of these values, they get no context, as it was then.
"""

import logging
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any, NotRequired, get_origin, get_type_hints

from langgraph.prebuilt import ToolNode
from langgraph.pregel import Pregel
from langgraph.runtime import Runtime
from langgraph.store.base import BaseStore
from pydantic import BaseModel, ValidationError

from llamon_agent.adapters.imports.failure import explain
from llamon_agent.adapters.langgraph.schema import required_fields
from llamon_agent.domain.caller import DEFAULT_PRINCIPAL
from llamon_agent.domain.errors import ConfigError

log = logging.getLogger(__name__)

Context = Mapping[str, Any]
"""The values of a context, by the names of the schema's fields."""

NO_CONTEXT: Context = {}

USER_IDS = frozenset({"user_id", "langgraph_user_id", "langgraph_auth_user_id"})
"""The names by which graphs read the caller's id, langmem's and LangGraph's among them."""

_Graph = Pregel[Any, Any, Any, Any]


class GivenContext(dict[str, Any]):
    """The context of one run, whose code may change it.

    It is true even if it is empty: LangGraph takes a false one for none. Source: Runtime.merge.
    """

    def __bool__(self) -> bool:
        return True


class _NotMade(Exception):
    """A schema requires values that it does not get. Its text may be shown."""


def check_context(graph: _Graph, target: str, given: Context = NO_CONTEXT, agent: str = "NAME") -> None:
    """Report, at start, what a graph's context lacks.

    Shape:  given is what is configured for it; agent is the name in a configuration.
    Raises: ConfigError: every call would fail.
    """
    schema = _schema(graph)
    if schema is None:
        if given:
            log.warning("The target %r declares no context, so langgraph.context reaches nothing", target)
        return
    made_of = _with_ids(schema, given)
    try:
        _try(schema, made_of)
    except _NotMade as exc:
        problem = f"The target {target!r}: its context {schema.__name__} {exc}"
        if not _reads_config_only(graph):
            raise ConfigError(
                f"{problem}. Set agents.{agent}.langgraph.context, or give it defaults."
            ) from exc.__cause__
        log.warning("%s; it gets none", problem)
        return
    if not _is_made(schema) and (keys := _required_keys(schema) - made_of.keys()):
        listed = ", ".join(sorted(map(repr, keys)))
        log.warning("The target %r: its context %s is without %s here", target, schema.__name__, listed)


def context_for(graph: _Graph, given: Context = NO_CONTEXT) -> Context | None:
    """The context that each run of a graph gets, but for what is its caller's; None: none.

    Shape: given is what is configured for it.
    """
    schema = _schema(graph)
    if schema is None:
        return None
    made_of = _with_ids(schema, given)
    try:
        _try(schema, made_of)
    except _NotMade:
        return None if _reads_config_only(graph) else made_of
    return made_of


def context_fields(graph: _Graph) -> frozenset[str]:
    """The names of the fields that a graph's context declares."""
    schema = _schema(graph)
    return frozenset() if schema is None else _fields_of(schema)


def _with_ids(schema: type[Any], given: Context) -> Context:
    """The values, and the default caller's id under the names that mean one: code outside of a run has no other."""
    return {**dict.fromkeys(_fields_of(schema) & USER_IDS, DEFAULT_PRINCIPAL), **given}


def _fields_of(schema: type[Any]) -> frozenset[str]:
    if issubclass(schema, BaseModel):
        return frozenset(schema.model_fields)
    if is_dataclass(schema):
        return frozenset(field.name for field in fields(schema) if field.init)
    return frozenset(getattr(schema, "__annotations__", {}))


def runtime_for(graph: _Graph, context: Context | None, store: BaseStore | None = None) -> Runtime[Any]:
    """The runtime that a graph's code has in a run, for code that is called outside of one.

    Shape: store is the one that it gets if it has none of its own.
    """
    schema, given = _schema(graph), None if context is None else GivenContext(context)
    made = schema(**given) if schema is not None and given is not None and _is_made(schema) else given
    return Runtime(context=made, store=graph.store or store)


def _schema(graph: _Graph) -> type[Any] | None:
    """The class that a graph declares. LangGraph can make nothing of other types, such as a union."""
    schema = graph.context_schema
    return schema if isinstance(schema, type) else None


def _is_made(schema: type[Any]) -> bool:
    """Whether LangGraph makes a context of a dict. Source: langgraph.pregel.main._coerce_context."""
    return issubclass(schema, BaseModel) or is_dataclass(schema)


def _try(schema: type[Any], given: Context) -> None:
    """Make a context of its values, as each run will. Raises: _NotMade."""
    if not _is_made(schema):
        return
    try:
        schema(**given)
    except ValidationError as exc:
        names = dict.fromkeys(str(error["loc"][0]) for error in exc.errors(include_input=False) if error["loc"])
        raise _NotMade(_no_value(names) if names else f"cannot be made: {explain(exc)}") from exc
    except Exception as exc:  # the author's own code
        missing = [name for name in required_fields(schema) if name not in given] if is_dataclass(schema) else []
        raise _NotMade(_no_value(missing) if missing else f"cannot be made: {explain(exc)}") from exc


def _no_value(names: Any) -> str:
    return "has no usable value for " + ", ".join(repr(name) for name in names)


def _required_keys(schema: type[Any]) -> frozenset[str]:
    """The keys that a TypedDict requires; empty for other classes.

    With annotations that are kept as strings, `__required_keys__` also holds keys that are marked NotRequired.
    """
    required: frozenset[str] = getattr(schema, "__required_keys__", frozenset())
    try:
        hints = get_type_hints(schema, include_extras=True)
    except Exception:  # noqa: BLE001 -- names that only a type checker has
        hints = {}
    return frozenset(key for key in required if get_origin(hints.get(key)) is not NotRequired)


def _reads_config_only(graph: _Graph) -> bool:
    """Whether nodes take a config and none takes a runtime. LangGraph's own nodes take both, so they do not count."""
    graphs = [graph, *(each for _, each in graph.get_subgraphs(recurse=True))]
    nodes = [node.bound for each in graphs for node in getattr(each, "nodes", {}).values()]
    taken = {name for node in nodes if not isinstance(node, ToolNode) for name in getattr(node, "func_accepts", ())}
    return "config" in taken and "runtime" not in taken
