"""A task that exits does not take the process with it.

An event loop lets SystemExit and KeyboardInterrupt out of any task and stops. That is right for a script; in an edge, a
graph's node runs as a task, and a library that calls `sys.exit()` in there would end everybody's work. Our signals
are handlers on the loop and never raise, so inside a task these two are some agent's failure, and become one.
"""

import asyncio
from collections.abc import Coroutine, Generator
from contextvars import Context
from typing import Any, TypeVar

T = TypeVar("T")


class AgentExited(RuntimeError):
    """Code of an agent tried to end the process."""


class _Contained(Coroutine[Any, Any, T]):
    """A coroutine whose exits are errors."""

    __slots__ = ("_inner",)

    def __init__(self, inner: Coroutine[Any, Any, T]) -> None:
        self._inner = inner

    def send(self, value: Any) -> Any:
        try:
            return self._inner.send(value)
        except (SystemExit, KeyboardInterrupt) as exc:
            raise AgentExited from exc

    def throw(self, *error: Any) -> Any:
        try:
            return self._inner.throw(*error)
        except (SystemExit, KeyboardInterrupt) as exc:
            raise AgentExited from exc

    def close(self) -> None:
        self._inner.close()

    def __await__(self) -> Generator[Any, Any, T]:
        return self._inner.__await__()


def contained_task(
    loop: asyncio.AbstractEventLoop,
    coroutine: Coroutine[Any, Any, T] | Generator[Any, None, T],
    *,
    context: Context | None = None,
    **more: Any,
) -> asyncio.Task[T]:
    """A task factory, for `loop.set_task_factory`."""
    if isinstance(coroutine, Coroutine):
        coroutine = _Contained(coroutine)
    return asyncio.Task(coroutine, loop=loop, context=context, **more)
