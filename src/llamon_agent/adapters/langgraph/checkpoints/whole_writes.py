"""What a node has written counts if the node has come to its end: of one that was cut off, nothing is kept.

Theory. A node writes in several pieces: what it returns, then where its conditional edges lead. If it is stopped or
fails between two of them, LangGraph saves the pieces that there are together with the error, and takes every task of
which anything is saved for finished. Who goes on from there would never run that node again, nor learn where it leads:
the run would seem to be over, in the middle of its work. So only the error is saved, and the node begins anew.

A task whose error a handler of the graph has taken is LangGraph's own affair, and is saved as it is.
"""

from collections.abc import Awaitable, Callable, Sequence
from functools import update_wrapper
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import WRITES_IDX_MAP, BaseCheckpointSaver
from langgraph.checkpoint.serde.types import ERROR

from llamon_agent.adapters.langgraph.thread import Graph

Writes = Sequence[tuple[str, Any]]
"""A task's writes: the channel of each and its value."""

_TAKEN_BY_A_HANDLER = "__error_source_node__"
"""Source: langgraph's internal constants, and PregelRunner.commit."""


def save_whole_writes_only(graph: Graph) -> None:
    """Let a graph's checkpointer, which its subgraphs borrow, keep of each task all or nothing. Safe to call twice."""
    saver = graph.checkpointer
    if isinstance(saver, BaseCheckpointSaver) and not isinstance(saver.aput_writes, _WholeWrites):
        saver.aput_writes = _WholeWrites(saver.aput_writes)  # type: ignore[method-assign]


class _WholeWrites:
    """A checkpointer's own function; LangGraph offers no hook around it. Shape: with the signature of that."""

    def __init__(self, save: Callable[..., Awaitable[None]]) -> None:
        update_wrapper(self, save)
        self._save = save

    async def __call__(self, config: RunnableConfig, writes: Writes, *task: Any, **named: Any) -> None:
        await self._save(config, whole(writes), *task, **named)


def whole(writes: Writes) -> Writes:
    """What of a task's writes may be kept: all of one that has finished, and of another one what has become of it."""
    channels = {channel for channel, _ in writes}
    if ERROR not in channels or _TAKEN_BY_A_HANDLER in channels:
        return writes
    return [(channel, value) for channel, value in writes if channel in WRITES_IDX_MAP]
