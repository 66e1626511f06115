"""How a graph's failure becomes the agent's, and what its caller reads of it: a text of ours, never the error's own."""

from collections.abc import Iterator
from contextlib import contextmanager
from traceback import walk_tb

from langgraph.errors import GraphRecursionError

from llamon_agent.adapters.langgraph.checkpoints.access import NOT_KEPT
from llamon_agent.domain.errors import AgentError, BackendError


class Unfinished(Exception):
    """The stream ended, no question is pending, and yet nodes are next."""


class NoMemory(Exception):
    """A graph without a checkpointer has raised an interrupt."""


@contextmanager
def agent_errors() -> Iterator[None]:
    """Every error inside is the agent's, except that the storage of its threads is not available."""
    try:
        yield
    except BackendError:
        raise
    except Exception as exc:  # a checkpointer may be the agent author's, too
        raise AgentError(public_text(exc)) from exc


def public_text(error: Exception) -> str | None:
    """The caller's text of a failure, and never the error's own; None is our general text."""
    match error:
        case AgentError(public=public):  # from inside the graph; its author wrote it for the caller
            return public
        case GraphRecursionError():
            return "The agent did not finish within its limit of steps."
        case Unfinished():
            return "The agent stopped before it was finished."
        case NoMemory():
            return "The agent asked for input, but it keeps no state to go on from; it needs a checkpointer."
    return NOT_KEPT if _failed_to_save(error) else None


def _failed_to_save(error: Exception) -> bool:
    """Whether it was raised while a value was encoded for a checkpoint: the agent's state, or what it asks.

    Its type does not show that, as the encoder raises TypeError. Source: langgraph SerializerProtocol.dumps_typed.
    """
    return any(frame.f_code.co_name == "dumps_typed" for frame, _line in walk_tb(error.__traceback__))
