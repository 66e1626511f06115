"""Two changes of how LangGraph saves, made from outside, as it offers no hook for them.

1. Of a node that did not come to its end, no write is kept. A node writes in several pieces: what it returns, then
   where its conditional edges lead. If it is stopped or fails between two of them, LangGraph saves the pieces so far
   together with the error, and takes every task with a saved piece for finished. A later run would not run that node
   again, nor learn where it leads: the run would seem to be over in the middle of its work. So only the error is saved,
   and the node begins anew. If a handler of the graph has taken the error, the task is saved as it is.

2. A graph without a checkpointer may run inside one that saves each step before the next begins. We ask for
   `durability="sync"`, and LangGraph hands that on to every graph inside, whether it is a node or a node calls it.
   After each step the loop of such a graph waits for its save, `_put_checkpoint_fut`. A graph that was compiled with
   `checkpointer=False`, as trustcall and langmem compile theirs, has no such attribute, and the run fails. Which graphs
   a node will call is not known before it runs. So all loops that save nothing get a save that is done.
   Source: langgraph 1.2, `Pregel.astream` and `Pregel.stream`, "wait for checkpoint".
"""

from collections.abc import Awaitable, Callable, Generator, Sequence
from functools import update_wrapper
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import WRITES_IDX_MAP, BaseCheckpointSaver
from langgraph.checkpoint.serde.types import ERROR
from langgraph.pregel import _loop

from llamon_agent.adapters.langgraph.thread import Graph

Writes = Sequence[tuple[str, Any]]
"""A task's writes: the channel of each and its value."""

_TAKEN_BY_A_HANDLER = "__error_source_node__"
"""Source: langgraph's internal constants, and PregelRunner.commit."""

_SAVE = "_put_checkpoint_fut"


def save_whole_writes_only(graph: Graph) -> None:
    """Let a graph's checkpointer, which its subgraphs share, keep all or nothing of each task. Safe to call twice."""
    saver = graph.checkpointer
    if isinstance(saver, BaseCheckpointSaver) and not isinstance(saver.aput_writes, _WholeWrites):
        saver.aput_writes = _WholeWrites(saver.aput_writes)  # type: ignore[method-assign]


class _WholeWrites:
    """Wraps a checkpointer's own `aput_writes`. Shape: with the same signature."""

    def __init__(self, save: Callable[..., Awaitable[None]]) -> None:
        update_wrapper(self, save)
        self._save = save

    async def __call__(self, config: RunnableConfig, writes: Writes, *task: Any, **named: Any) -> None:
        await self._save(config, whole_writes(writes), *task, **named)


def whole_writes(writes: Writes) -> Writes:
    """The writes of a task that may be kept: all if it has finished, else only what it ended with."""
    channels = {channel for channel, _ in writes}
    if ERROR not in channels or _TAKEN_BY_A_HANDLER in channels:
        return writes
    return [(channel, value) for channel, value in writes if channel in WRITES_IDX_MAP]


def allow_unsaved_graphs() -> None:
    """Let loops without a checkpointer wait for nothing. Safe to call twice, or where LangGraph has fixed it."""
    loops = getattr(_loop, "PregelLoop", None)
    if loops is not None and not hasattr(loops, _SAVE):
        setattr(loops, _SAVE, _NothingToSave())


class _NothingToSave:
    """A save that is done: as an attribute of loops that save nothing, and of no others."""

    def __get__(self, loop: Any, _kind: type | None = None) -> "_NothingToSave":
        if loop is not None and loop.checkpointer:
            raise AttributeError(_SAVE)
        return self

    def __await__(self) -> Generator[Any, None, None]:
        return
        yield

    def result(self) -> None:
        """For loops that are not async."""
