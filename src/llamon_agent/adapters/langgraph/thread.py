"""One LangGraph thread: what is saved of it, which questions it asks, and how it is repaired.

Theory. A thread's checkpoint holds the next step: its tasks, some of which may have ended, because a node's writes are
saved before the step is. It does not hold the reason: the thread may be paused by `interrupt()`, be stopped at a static
breakpoint, have crashed, have lost its process, or have been written from outside. So:

- a pause is a pending interrupt, or a next node at which the graph declares a breakpoint and which has not failed;
- any other next step is left over from a run that never ended: it is run if that run is continued, and it is cleared
  before the thread is used for anything else;
- a thread is new only if nothing was ever saved of it. One whose first turn crashed is not new.
"""

from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from langchain_core.messages import BaseMessage
from langchain_core.runnables import RunnableConfig
from langgraph.channels.last_value import LastValue
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END, START
from langgraph.pregel import Pregel
from langgraph.runtime import Runtime
from langgraph.store.base import BaseStore
from langgraph.types import Command, Overwrite, StateSnapshot, StateUpdate

from llamon_agent.adapters.langgraph.callbacks import StopInThread, StructuredOutput
from llamon_agent.adapters.langgraph.checkpoints.pruning import PrunedSaver
from llamon_agent.adapters.langgraph.context import Context, GivenContext, runtime_for
from llamon_agent.adapters.langgraph.hitl.formats import BREAKPOINT
from llamon_agent.adapters.langgraph.hitl.questions import json_safe, question_of, with_choices
from llamon_agent.adapters.langgraph.messages import (
    MESSAGES,
    entries_in,
    messages_in,
    readable_messages,
    with_tool_results,
)
from llamon_agent.adapters.langgraph.step_writer import StepRuntime
from llamon_agent.adapters.worker_threads import joining
from llamon_agent.domain.events import Question

Graph = Pregel[Any, Any, Any, Any]

Given = dict[str, Any] | Command[Any] | None
"""What a graph is run on: fresh input, answers, or None to go on from a breakpoint."""

STREAM_MODES: list[Any] = ["messages", "values", "custom", "tools"]
"""Untyped, as langgraph 1.2 knows "tools" (tool calls that start and end) but leaves it out of its StreamMode."""

_RUNTIME = "__pregel_runtime"
"""Where LangGraph keeps the runtime of a run. Source: langgraph's internal constants, CONFIG_KEY_RUNTIME."""

_NO_TASK = "00000000-0000-0000-0000-000000000000"
"""The task of what a command writes. Source: langgraph's internal constants, NULL_TASK_ID."""

_NONE: Mapping[str, Any] = {}

_MAX_CLEARINGS = 4
"""Clearing applies what finished nodes wrote. That may schedule other nodes, which have written nothing yet."""


@dataclass(frozen=True, slots=True)
class ThreadState:
    """What is saved of a thread, as far as a turn needs it.

    Shape: unfinished: a step is not over, though no question is pending: nodes of it are next, or all of them have
           ended and their writes are not yet part of the state. entries are its messages as the state has them.
    """

    exists: bool = False
    messages: tuple[BaseMessage, ...] = ()
    questions: tuple[Question, ...] = ()
    unfinished: bool = False
    entries: Sequence[Any] = field(default=(), compare=False, repr=False)

    @property
    def lacks_results(self) -> bool:
        """Whether a tool call has no result. Reads the whole history."""
        return with_tool_results(self.entries) is not None


@dataclass(frozen=True, slots=True)
class Thread:
    """A thread of a graph. Without a checkpointer it is always new, and needs no repair.

    Shape: context is the `runtime.context` of the graph's code; None where the graph declares none. store is what its
           code finds as its store; None if the graph has one of its own.

    One run at a time: the caller holds a lock per context from `read` to the run's end.
    """

    graph: Graph
    config: RunnableConfig
    context: Context | None = None
    store: BaseStore | None = None

    @property
    def is_saved(self) -> bool:
        """Whether there is a checkpointer, and so anything to read or to repair."""
        return bool(self.graph.checkpointer)

    async def read(self) -> ThreadState:
        """What is saved of it now."""
        if not self.is_saved:
            return ThreadState()
        snapshot = await self.graph.aget_state(self.config)
        questions = await self._questions(snapshot)
        return ThreadState(
            exists=snapshot.metadata is not None,
            messages=messages_in(snapshot.values),
            questions=questions,
            unfinished=bool(snapshot.tasks) and not questions,
            entries=entries_in(snapshot.values),
        )

    async def takes(self, given: Given) -> Given:
        """What the graph is to be run on, so that it takes this.

        LangGraph keeps the update of a command beside the checkpoint, with those of earlier commands, until a step has
        ended. A node that asks again ends none, and a field of one value takes no two. So the second one replaces the
        first, as a state that is updated.
        """
        checkpointer = self.graph.checkpointer
        if not isinstance(given, Command) or not given.update or not isinstance(checkpointer, BaseCheckpointSaver):
            return given
        saved = await checkpointer.aget_tuple(self.config)
        waiting = {name for task_id, name, _ in (saved and saved.pending_writes) or () if task_id == _NO_TASK}
        if any(type(self.graph.channels[name]) is LastValue for name in waiting & given.update.keys()):
            await self.graph.aupdate_state(self.config, given.update)
            return None
        return given

    def stream(self, given: Given, *, with_updates: bool = False) -> AsyncGenerator[Any]:
        """Run the graph: fresh input, answers, or None to go on from a breakpoint.

        Shape: (namespace, mode, chunk) of the modes in STREAM_MODES, and of "updates" where these are asked for;
               subgraphs are included.

        Durability is "sync": a step is saved before the next one begins, so that after a crash no node runs again if
        others had followed it. LangGraph's default, "async", saves a step while the next one runs.
        """
        runtime = StepRuntime(store=self.store or self.graph.store)
        config = _with_runtime(self.config, runtime)
        config["callbacks"] = [StructuredOutput(), StopInThread()]
        chunks = self.graph.astream(
            given,
            config,
            context=None if self.context is None else GivenContext(self.context),
            stream_mode=[*STREAM_MODES, "updates"] if with_updates else STREAM_MODES,
            subgraphs=True,
            durability="sync" if self.is_saved else None,
        )
        return joining(chunks)  # type: ignore[arg-type]

    async def messages_at_pause(self) -> tuple[BaseMessage, ...]:
        """The messages of the paused thread, and of the subgraphs it waits in, which become part of it when these end.

        Shape: subgraphs are nodes of the graph; graphs that a node or a tool calls in its own code do not count.
        """
        whole = await self.graph.aget_state(self.config, subgraphs=True)
        return tuple(_messages_within(self.graph, whole))

    async def delete(self) -> None:
        """Delete all that is saved of it and of its subgraphs. A checkpointer that cannot delete keeps it."""
        checkpointer = self.graph.checkpointer
        if isinstance(checkpointer, BaseCheckpointSaver):
            with suppress(NotImplementedError):
                await checkpointer.adelete_thread(self.config["configurable"]["thread_id"])

    async def prune(self, *, completed: str | None) -> bool:
        """Delete checkpoints that no later turn needs, if the checkpointer is this edge's; whether more are left."""
        checkpointer: object = self.graph.checkpointer
        if not isinstance(checkpointer, PrunedSaver):
            return False
        return await checkpointer.prune_thread(self.config["configurable"]["thread_id"], completed=completed)

    async def repair(self) -> None:
        """Leave the thread with no next step, no question, and a history that a provider accepts.

        The writes of finished nodes are kept; nodes that ran, waited or failed are dropped. Subgraphs with a memory of
        their own are repaired too; if they waited, they learn that their question is dropped.
        """
        if not self.is_saved:
            return
        await self._repair(self.config, self.graph)
        for name, subgraph in subgraphs_of(self.graph, recurse=True):
            if subgraph.checkpointer is True:
                # Its history is kept under its own name. Source: langgraph Pregel._own_checkpoint_config.
                within = _within(self.config, name)
                await self._drop_question(within, subgraph)
                await self._repair(within, subgraph)

    async def _drop_question(self, config: RunnableConfig, subgraph: Graph) -> None:
        """Notify a subgraph that asks for another agent, such as a remote one, that its question is dropped.

        Shape: such a subgraph has an attribute `on_question_dropped`, an async function of its state.
        """
        on_question_dropped = getattr(subgraph, "on_question_dropped", None)
        if on_question_dropped is not None and (snapshot := await self.graph.aget_state(config)).interrupts:
            await on_question_dropped(snapshot.values)

    async def _repair(self, config: RunnableConfig, graph: Graph) -> None:
        snapshot = await self.graph.aget_state(config)
        for _ in range(_MAX_CLEARINGS):
            if not (snapshot.tasks or snapshot.interrupts):
                break
            await self.graph.aupdate_state(config, None, as_node=END)
            snapshot = await self.graph.aget_state(config)
        whole = with_tool_results(entries_in(snapshot.values))
        if whole is not None and MESSAGES in graph.channels:
            # As START, so that no node of the graph is taken for the one that spoke; what this schedules is cleared at
            # once.
            mending = StateUpdate({MESSAGES: Overwrite(whole)}, START)
            await self.graph.abulk_update_state(self._as_in_a_run(config), [[mending], [StateUpdate(None, END)]])

    def _as_in_a_run(self, config: RunnableConfig) -> RunnableConfig:
        """A config for an update as START, which asks the graph's conditional edges where to go; they may take a
        runtime, and outside of a run LangGraph has none for them. It is not saved.
        """
        return _with_runtime(config, runtime_for(self.graph, self.context, self.store))

    async def _questions(self, snapshot: StateSnapshot) -> tuple[Question, ...]:
        if snapshot.interrupts:
            # By id, as a subgraph's question is both in its own task and in that of the node around it.
            return tuple({each.id: question_of(each) for each in snapshot.interrupts}.values())
        if not snapshot.next or not _declares_breakpoints(self.graph):
            return ()
        whole = await self.graph.aget_state(self.config, subgraphs=True)
        stops = await self._stops(self.graph, whole)
        return (_breakpoint(stops, snapshot),) if stops else ()

    async def _stops(self, graph: Graph, snapshot: StateSnapshot) -> list[str]:
        """The nodes before which the thread has stopped, as the graph, or a subgraph, declares a breakpoint there."""
        waiting = [task for task in snapshot.tasks if task.name in snapshot.next and task.error is None]
        stops = [task.name for task in waiting if _is_among(task.name, graph.interrupt_before_nodes)]
        if not stops and await self._stopped_after(graph, snapshot):
            stops = [task.name for task in waiting]
        subgraphs = dict(subgraphs_of(graph))
        for task in waiting:
            if isinstance(task.state, StateSnapshot) and task.name in subgraphs:
                stops += await self._stops(subgraphs[task.name], task.state)
        return stops

    async def _stopped_after(self, graph: Graph, snapshot: StateSnapshot) -> bool:
        """Whether there is a breakpoint after one of the nodes that ran last."""
        if not graph.interrupt_after_nodes or snapshot.parent_config is None:
            return False
        before = await self.graph.aget_state(snapshot.parent_config)
        return any(_is_among(task.name, graph.interrupt_after_nodes) for task in before.tasks)


def _with_runtime(config: RunnableConfig, runtime: Runtime[Any]) -> RunnableConfig:
    return {**config, "configurable": {**config["configurable"], _RUNTIME: runtime}}


def subgraphs_of(graph: Graph, *, recurse: bool = False) -> list[tuple[str, Graph]]:
    """The graphs that are nodes of a graph, each under its node's name; remote ones are their own server's affair."""
    found = graph.get_subgraphs(recurse=recurse)
    return [(name, subgraph) for name, subgraph in found if isinstance(subgraph, Pregel)]


def _messages_within(graph: Graph, snapshot: StateSnapshot) -> Iterator[BaseMessage]:
    yield from readable_messages(snapshot.values)
    for task in snapshot.tasks:
        node = graph.nodes.get(task.name)
        if node is not None and isinstance(node.bound, Pregel) and isinstance(task.state, StateSnapshot):
            yield from _messages_within(node.bound, task.state)


def thread_config(thread_id: str, values: Mapping[str, Any] = _NONE, **metadata: str) -> RunnableConfig:
    """The config of a thread.

    Shape: values are what else its code finds in `configurable`. The metadata is for traces, and holds only what we
           wrote ourselves.
    """
    return {"configurable": {**values, "thread_id": thread_id}, "metadata": metadata}


def _breakpoint(stops: list[str], snapshot: StateSnapshot) -> Question:
    """The question of a static breakpoint; the checkpoint in its id keeps an old answer from reaching a new pause."""
    checkpoint = (snapshot.config.get("configurable") or {}).get("checkpoint_id", "")
    last = messages_in(snapshot.values)[-1:]
    calls = [
        {"name": call["name"], "args": json_safe(call["args"])}
        for message in last
        for call in getattr(message, "tool_calls", [])
    ]
    listed = ", ".join(f"{call['name']} {call['args']}" for call in calls)
    question = f"The agent has stopped before {', '.join(stops)}" + (f" ({listed})" if listed else "") + "."
    asked = Question(
        id=f"{BREAKPOINT}:{','.join(stops)}:{checkpoint}",
        value={BREAKPOINT: stops, "question": question, "tool_calls": calls},
        schema={"type": "boolean"},
    )
    return with_choices(asked)


def _declares_breakpoints(graph: Graph) -> bool:
    graphs = [graph, *(subgraph for _, subgraph in subgraphs_of(graph, recurse=True))]
    return any(each.interrupt_before_nodes or each.interrupt_after_nodes for each in graphs)


def _is_among(name: str, nodes: Any) -> bool:
    return nodes == "*" or name in nodes


def _within(config: RunnableConfig, namespace: str) -> RunnableConfig:
    return {**config, "configurable": {**config["configurable"], "checkpoint_ns": namespace}}
