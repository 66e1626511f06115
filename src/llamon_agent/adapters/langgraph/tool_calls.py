"""Answers reach the tool that asked: each call of a ToolNode becomes a LangGraph task of its own.

Theory. Several calls in one ToolNode share one task, and LangGraph gives a task's answers to its interrupts in the
order in which they are raised. Calls run at the same time, so that order depends on timing: on the second run another
tool may ask first, and gets the answer to the first tool's question (langgraph issue 6533). An id does not help, as the
calls share it. And when one of them has asked, the whole node runs again, so the work of the other calls is done twice.

A task has its own interrupts and its own saved result. So if a node has several calls, each is run as a task: it asks
under an id of its own, all questions are asked at once, and a call that is done is not run again when another is
answered. Nodes with one call, which is all that create_agent makes, are left as they are.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from contextvars import ContextVar
from dataclasses import replace
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.config import get_config
from langgraph.errors import GraphInterrupt
from langgraph.func import task
from langgraph.prebuilt import ToolNode
from langgraph.types import Interrupt

from llamon_agent.adapters.langgraph.thread import Graph, subgraphs_of

_calls: ContextVar["_Calls"] = ContextVar("llamon_tool_calls")


def separate_tool_calls(graph: Graph) -> None:
    """Give every call of every ToolNode in a graph and its subgraphs a task of its own. Safe to call twice."""
    for each in [graph, *(subgraph for _, subgraph in subgraphs_of(graph, recurse=True))]:
        for node in each.nodes.values():
            if isinstance(node.bound, ToolNode) and not isinstance(node.bound.afunc, _SeparatedNode):
                _separate(node.bound)


class _Calls:
    """The calls of one run of one ToolNode, which starts them all at once, in their order."""

    def __init__(self) -> None:
        self._ended: list[asyncio.Event] = []
        self._asked: list[tuple[int, Interrupt[Any]]] = []

    async def run(self, call: Callable[[RunnableConfig | None], Awaitable[Any]]) -> Any:
        """Run one call. If any of them asks, those that ask wait for the rest, and every question is asked."""
        place = len(self._ended)
        self._ended.append(asyncio.Event())
        try:
            await asyncio.sleep(0)  # by now all of them have started, so it is known whether there are several
            return await (call(None) if len(self._ended) == 1 else _as_task(call))
        except GraphInterrupt as asked:
            self._asked += [(place, interrupt) for interrupt in _interrupts(asked)]
        finally:
            self._ended[place].set()
        for ended in self._ended:
            await ended.wait()
        raise GraphInterrupt(tuple(interrupt for _, interrupt in sorted(self._asked, key=lambda asked: asked[0])))


async def _as_task(call: Callable[[RunnableConfig | None], Awaitable[Any]]) -> Any:
    """Run a call with the config of a task of its own, in which `interrupt` finds its answers."""

    @task
    async def tool_call() -> Any:
        return await call(get_config())

    return await tool_call()


class _SeparatedNode:
    """A ToolNode's own async function, whose calls know of each other while it runs."""

    def __init__(self, run: Callable[..., Awaitable[Any]]) -> None:
        self._run = run

    async def __call__(self, *args: Any, **injected: Any) -> Any:
        token = _calls.set(_Calls())
        try:
            return await self._run(*args, **injected)
        finally:
            _calls.reset(token)


def _separate(node: ToolNode) -> None:
    """Wrap two of ToolNode's own methods, as it has no hook around one call and its config."""
    run_one = node._arun_one

    async def separated(call: Any, input_type: Any, runtime: Any) -> Any:
        def run(config: RunnableConfig | None) -> Awaitable[Any]:
            return run_one(call, input_type, replace(runtime, config=config) if config else runtime)

        return await _calls.get().run(run)

    node._arun_one = separated  # type: ignore[method-assign, assignment]
    node.afunc = _SeparatedNode(node.afunc)  # type: ignore[arg-type]


def _interrupts(error: GraphInterrupt) -> Iterable["Interrupt[Any]"]:
    return error.args[0] if error.args else ()
