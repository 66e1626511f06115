"""Names a failure in an agent's code by its kind and its place, as its own words may hold secrets."""

import sysconfig
import traceback
from pathlib import Path
from types import FrameType

from llamon_agent.domain.errors import AgentError, LlamonError

_INSTALLED = ("site-packages", "dist-packages")
_NOT_THEIRS = (sysconfig.get_path("stdlib"), str(Path(__file__).parents[1]), "<")


def brief(error: BaseException) -> str:
    """An error in a few words: `ValueError at ./graph.py:18`."""
    return f"{type(error).__name__} at {where(error)}"


def with_cause(error: LlamonError) -> str:
    """The public text of an error, and for the log what caused it."""
    return error.public if error.__cause__ is None else f"{error.public} ({brief(error.__cause__)})"


def worth_a_trace(error: LlamonError) -> LlamonError | None:
    """The error, where a log line should show its traceback; None where the line says all.

    An agent's code that raises AgentError says on purpose why it does not answer. That a backend is away is logged
    where it was met.
    """
    first: BaseException = error
    while first.__cause__ is not None:
        first = first.__cause__
    return error if isinstance(error, AgentError) and not isinstance(first, AgentError) else None


def where(error: BaseException) -> str:
    """The file and line where an error comes from: the last frame outside of libraries and this package.

    A syntax error knows its place itself, since none of its code ran.
    """
    if isinstance(error, SyntaxError) and error.filename:
        return f"{error.filename}:{error.lineno}"
    return _last_of(traceback.extract_tb(error.__traceback__))


def where_in(frame: FrameType) -> str:
    """The file and line that a thread is at, outside of libraries and this package."""
    return _last_of(traceback.extract_stack(frame))


def _last_of(frames: traceback.StackSummary) -> str:
    if not frames:
        return "a place that is not known"
    last = next((frame for frame in reversed(frames) if _is_theirs(frame.filename)), frames[-1])
    return f"{last.filename}:{last.lineno}"


def _is_theirs(filename: str) -> bool:
    return not filename.startswith(_NOT_THEIRS) and not any(folder in filename for folder in _INSTALLED)
