"""From a target to a graph: `package.module:attr` or `./path/file.py:attr`.

The attribute is a compiled graph, a builder that is not compiled yet, or a factory of either, sync or async or a
context manager, as langgraph.json allows (see `factory`). A graph that has its own checkpointer
keeps it; one that was compiled with `checkpointer=False` stays without; every other one gets ours. A saver in memory,
as in every tutorial, gives way to ours if ours outlives the process, as on LangGraph's own platform. The graph that the
module holds is never changed: a copy gets our checkpointer.

A graph also gives the defaults of its card: its name, its module's docstring, its tools as skills, and the
fields that it takes and gives instead of messages.
"""

import asyncio
import inspect
import logging
from collections import defaultdict
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import partial
from typing import Any

from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.pregel import Pregel
from langgraph.store.memory import InMemoryStore

from llamon_agent.adapters.imports.failure import explain
from llamon_agent.adapters.imports.target import import_target, own_files
from llamon_agent.adapters.langgraph.context import check_context, runtime_for
from llamon_agent.adapters.langgraph.factory import Factory, GraphSource, call_to_look, call_to_run, factory_of
from llamon_agent.adapters.langgraph.field_schemas import fields_extension, fields_skill
from llamon_agent.adapters.langgraph.own_server import calls_of_own_server
from llamon_agent.adapters.langgraph.run_values import NO_VALUES, RunValues
from llamon_agent.adapters.langgraph.state import StateMapping, StateUse, check_memory, check_state
from llamon_agent.adapters.langgraph.stores.opening import index_of
from llamon_agent.adapters.langgraph.stores.owned import Table
from llamon_agent.adapters.langgraph.thread import Graph, Thread, subgraphs_of
from llamon_agent.adapters.langgraph.versions import warn_of_old_version
from llamon_agent.domain.caller import DEFAULT_PRINCIPAL
from llamon_agent.domain.errors import ConfigError
from llamon_agent.domain.message import JSON, TEXT
from llamon_agent.domain.profile import OUTPUT_MODES, SelfDescription, Skill

log = logging.getLogger(__name__)

_NOT_A_GRAPH = (
    "is no graph; a target is a compiled LangGraph graph, a StateGraph builder, or a function that returns one"
)
_OTHERS = "Any other Python agent, such as a function that takes the prompt, is served with --adapter custom."


async def load_graph(
    target: str,
    *,
    checkpointer: BaseCheckpointSaver[Any] | None,
    stores: Table | None = None,
    stack: AsyncExitStack | None = None,
    mapping: StateMapping | None = None,
    window_size: int | None = None,
    values: RunValues = NO_VALUES,
    agent: str = "NAME",
) -> GraphSource:
    """The graph of a target, ready to run, and checked against the mapping and the window; and how runs get theirs.

    Shape:  stores are the place for what its code keeps across conversations. values are those that are configured for
            its runs. stack keeps a factory's context manager open; without a stack there may be no such factory. agent
            is the name in a configuration, for the texts of errors.
    Raises: ConfigError, which names the target and the remedy; its cause is the error inside.
    """
    warn_of_old_version()
    found = await asyncio.to_thread(import_target, target)  # some take seconds, and an edge that reloads must go on
    await asyncio.to_thread(_warn_of_own_server, target)
    factory = None if isinstance(found, Pregel | StateGraph) else _factory(target, found)
    call = call_to_look(values.outside_of_runs, None if stores is None else stores.of(DEFAULT_PRINCIPAL))
    bare = _compiled(target, found if factory is None else await _made(target, factory, stack, call))
    equipment = Equipment(checkpointer, stores, is_per_run=factory is not None and factory.is_per_run)
    graph = equipment.put_into(bare)
    _report(target, bare, graph, equipment)
    check_state(graph, mapping or StateMapping(), target, agent)
    check_memory(graph, window_size, target)
    check_context(graph, target, values.context, agent)
    await _check_checkpointer(graph, target)
    if factory is None or not factory.is_per_run:
        return GraphSource(graph)
    return GraphSource(graph, partial(_make, target, factory, equipment, graph))


async def _make(
    target: str, factory: Factory, equipment: "Equipment", looked_at: Graph, stack: AsyncExitStack, thread: Thread
) -> Graph:
    """The graph of a run of a thread. Shape: looked_at is the one outside of runs, which has the same context."""
    call = call_to_run(thread, runtime_for(looked_at, thread.context).context)
    return equipment.put_into(_compiled(target, await factory.enter(stack, *call)))


def _warn_of_own_server(target: str) -> None:
    places = [f"{file}:{line}" for file in own_files(target) for line in calls_of_own_server(file)]
    if places:
        log.warning(
            "The target %r calls the LangGraph server that it runs in (%s); this edge has no such API, so these calls "
            "fail: give the client a url, or serve the project with LangGraph's own server",
            target,
            ", ".join(places),
        )


def _factory(target: str, found: Any) -> Factory:
    if not callable(found):
        raise ConfigError(f"The target {target!r} {_NOT_A_GRAPH}. {_OTHERS}")
    return factory_of(target, found, _OTHERS)


async def _made(target: str, factory: Factory, stack: AsyncExitStack | None, call: tuple[RunnableConfig, Any]) -> Any:
    """Call a factory to look at its graph. Raises: ConfigError."""
    try:
        return await factory.enter(stack, *call)
    except (Exception, SystemExit) as exc:  # the factory's own code, which may raise anything
        raise ConfigError(
            f"The target {target!r} was called as a factory of a graph and failed: {explain(exc)}. {_OTHERS}"
        ) from exc


def _compiled(target: str, made: Any) -> Graph:
    if isinstance(made, Pregel):
        return made
    if not isinstance(made, StateGraph):
        raise ConfigError(
            f"The target {target!r} was called as a factory, and what it returned, of type {type(made).__name__}, "
            f"{_NOT_A_GRAPH}. {_OTHERS}"
        )
    try:
        return made.compile()
    except ValueError as exc:
        log.warning("the graph of %r cannot be compiled: %s", target, exc)
        raise ConfigError(f"The target {target!r}: the graph cannot be compiled; the line above says why.") from exc


@dataclass(frozen=True, slots=True)
class Equipment:
    """What this edge gives to a graph.

    Shape: is_per_run: each run makes a graph of its own, so that a saver in memory that it makes would forget.
    """

    saver: BaseCheckpointSaver[Any] | None
    stores: Table | None
    is_per_run: bool = False

    def put_into(self, graph: Graph) -> Graph:
        """A graph with our checkpointer, and without a store of its own whose place ours takes."""
        update: dict[str, Any] = {}
        if self._takes_saver(graph.checkpointer):
            update["checkpointer"] = self.saver
        if self.stores is not None and self._takes_store(graph.store):
            self.stores.index = self.stores.index or index_of(graph.store, self.stores.inner)  # type: ignore[arg-type]
            update["store"] = None
        return graph.copy(update=update) if update else graph

    @property
    def outlives_process(self) -> bool:
        """Whether threads do."""
        return isinstance(self.saver, BaseCheckpointSaver) and not isinstance(self.saver, InMemorySaver)

    def _takes_saver(self, own: object) -> bool:
        if not isinstance(own, BaseCheckpointSaver):
            return own is not False
        return _is_memory(own) and self.saver is not None and (self.is_per_run or self.outlives_process)

    def _takes_store(self, own: object) -> bool:
        is_ours_in_memory = self.stores is not None and isinstance(self.stores.inner, InMemoryStore)
        return isinstance(own, InMemoryStore) and (self.is_per_run or not is_ours_in_memory)


def _report(target: str, bare: Graph, graph: Graph, equipment: Equipment) -> None:
    """Say once in the log which memories of a graph this edge replaces."""
    if equipment.outlives_process:
        _warn_of_inner_memory(target, bare)
    if isinstance(bare.checkpointer, BaseCheckpointSaver) and graph.checkpointer is not bare.checkpointer:
        name = type(bare.checkpointer).__name__
        log.info("the target %r: its threads are kept by this edge, not in the memory of its %s", target, name)
    if bare.store is not None and graph.store is None:
        name = type(bare.store).__name__
        log.info("the target %r: what its code stores is kept by this edge, not in its %s", target, name)


def _is_memory(saver: object) -> bool:
    """Whether it is LangGraph's saver in memory. A class made of it, or one with a file, may keep threads."""
    return type(saver) is InMemorySaver and type(saver.storage) is defaultdict


def _warn_of_inner_memory(target: str, graph: Graph) -> None:
    """Warn of graphs with a saver in memory that a node calls in its code.

    A graph that is itself a node uses the checkpointer of the graph around it. So does one that is called, unless the
    call gives a thread_id of its own.
    """
    inner = subgraphs_of(graph, recurse=True)
    are_nodes = {id(node.bound) for each in (graph, *(one for _, one in inner)) for node in each.nodes.values()}
    for name, subgraph in inner:
        if id(subgraph) not in are_nodes and _is_memory(subgraph.checkpointer):
            log.warning(
                "The target %r: the node %r calls a graph that has an %s of its own; threads that it keeps there end "
                "with this process",
                target,
                name,
                type(subgraph.checkpointer).__name__,
            )


async def _check_checkpointer(graph: Graph, target: str) -> None:
    """Read a thread that does not exist: so a missing async method shows at start, and not on the first call."""
    if not isinstance(graph.checkpointer, BaseCheckpointSaver):
        return
    try:
        await graph.checkpointer.aget_tuple({"configurable": {"thread_id": "llamon:start", "checkpoint_ns": ""}})
    except NotImplementedError as exc:
        name = type(graph.checkpointer).__name__
        raise ConfigError(
            f"The target {target!r}: its checkpointer {name} has no async methods; use its async kind (Async{name}), "
            "or compile without a checkpointer to get ours."
        ) from exc


_NAMELESS = "LangGraph"
"""LangGraph's name for a graph without a name."""

_MAX_CHARS = 500
"""How much of a docstring is used; a reader that chooses an agent does not read more."""


def introduce(graph: Graph, target: str | None, use: StateUse) -> SelfDescription:
    """The defaults of a graph's card.

    Shape: the docstring is that of the target's module; there is none without a target. use is of this graph.
    """
    fields, skill = fields_extension(graph, use), fields_skill(use)
    return SelfDescription(
        name=graph.name if graph.name and graph.name != _NAMELESS else None,
        description=_first_paragraph(_module_docstring(target)) if target else None,
        skills=(*((skill,) if skill else ()), *(_skill(tool) for tool in _tools(graph))),
        extensions=(fields,) if fields else (),
        output_modes=(TEXT, JSON) if use.gives_fields else OUTPUT_MODES,
    )


def _module_docstring(target: str) -> str:
    documentation = import_target(f"{target.rpartition(':')[0]}:__doc__")
    return documentation if isinstance(documentation, str) else ""


def _first_paragraph(text: str) -> str | None:
    """The first paragraph on one line, or None for none."""
    line = " ".join(inspect.cleandoc(text).partition("\n\n")[0].split())
    return (line if len(line) <= _MAX_CHARS else line[: _MAX_CHARS - 1] + "…") or None


def _tools(graph: Graph) -> list[BaseTool]:
    """The tools of a graph and its subgraphs, each name once."""
    graphs = [graph, *(subgraph for _, subgraph in subgraphs_of(graph, recurse=True))]
    nodes = [node.bound for each in graphs for node in each.nodes.values()]
    return list(
        {
            name: tool for node in nodes if isinstance(node, ToolNode) for name, tool in node.tools_by_name.items()
        }.values()
    )


def _skill(tool: BaseTool) -> Skill:
    name = " ".join(tool.name.replace("-", " ").replace("_", " ").split()).capitalize()
    return Skill(id=tool.name, name=name, description=_first_paragraph(tool.description) or name, tags=("tool",))
