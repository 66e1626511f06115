"""A graph that saves nothing may be part of one that saves each step before the next begins.

Theory. We ask for `durability="sync"`, and LangGraph hands that on to every graph that runs inside, whether it is a
node or a node calls it. Behind each step the loop of such a graph waits for its save, `_put_checkpoint_fut`. A graph
that was compiled with `checkpointer=False`, as trustcall and langmem compile theirs, has made none, so the attribute
is not there, and the run fails.

A node's code is not known before it runs, so nobody can tell which graphs it will call, and what they inherit is set
inside of LangGraph. So the loops that save nothing are given a save that is done. Those that save find nothing new.
Source: langgraph 1.2, `Pregel.astream` and `Pregel.stream`, "wait for checkpoint".
"""

from collections.abc import Generator
from typing import Any

from langgraph.pregel import _loop

_SAVE = "_put_checkpoint_fut"


def let_graphs_save_nothing() -> None:
    """Let loops without a checkpointer wait for nothing. Safe to call twice, or where LangGraph has mended it."""
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
        """What a loop that is not async asks."""
