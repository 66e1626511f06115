import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import pytest
from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableConfig
from langgraph.config import get_stream_writer
from langgraph.store.memory import InMemoryStore
from langgraph.types import interrupt
from langgraph_sdk import runtime as sdk
from langgraph_sdk.runtime import ServerRuntime
from tests.unit.adapters.langgraph.scripted import agent_of, events_of, node_graph, turn, until, whole

from llamon_agent.adapters.langgraph import factory as module
from llamon_agent.adapters.langgraph.agent import LangGraphAgent
from llamon_agent.adapters.langgraph.factory import Factory, GraphSource, call_to_look, factory_of
from llamon_agent.adapters.langgraph.thread import Thread
from llamon_agent.domain.errors import AgentError, ConfigError
from llamon_agent.domain.events import Interrupt, Progress

if TYPE_CHECKING:
    from decimal import Decimal

CONFIG: RunnableConfig = {"configurable": {"thread_id": "1"}}
RUNTIME: Any = sdk._ReadRuntime(access_context="assistants.read", store=InMemoryStore())


def nothing() -> Any:
    return ()


def any_name(whatever) -> Any:  # type: ignore[no-untyped-def]
    return (whatever,)


def of_config(config: RunnableConfig | None = None) -> Any:
    return (config,)


def of_default(config=None, *rest, **more) -> Any:  # type: ignore[no-untyped-def]
    return (config, *rest)


def of_runtime(wanted: ServerRuntime[None]) -> Any:
    return (wanted,)


def of_name(runtime) -> Any:  # type: ignore[no-untyped-def]
    return (runtime,)


def of_string(first: "ServerRuntime[None]", second: "Decimal") -> Any:
    return (first, second)


def of_both(config: RunnableConfig, runtime: ServerRuntime[None]) -> Any:
    return (config, runtime)


def of_both_turned(runtime: Annotated[ServerRuntime[None], "why"], given: dict[str, Any]) -> Any:
    return (runtime, given)


def of_keywords(*, runtime: ServerRuntime[None] | None = None, config: RunnableConfig) -> Any:
    return (runtime, config)


def of_positions(config: RunnableConfig, runtime: ServerRuntime[None], /) -> Any:
    return (config, runtime)


async def of_async(config: RunnableConfig) -> Any:
    return (config,)


@contextmanager
def managed(config: RunnableConfig) -> Iterator[Any]:
    yield (config,)


@asynccontextmanager
async def managed_async(runtime: ServerRuntime[None]) -> AsyncIterator[Any]:
    yield (runtime,)


def tuned(config: RunnableConfig, model: str) -> Any:
    return (config, model)


def with_default(model: str = "gpt") -> Any:
    return (model,)


class Maker:
    def __call__(self, runtime: ServerRuntime[None]) -> Any:
        return (runtime,)


class Made:
    def __init__(self, config: RunnableConfig) -> None:
        self.config = config

    def __eq__(self, other: object) -> bool:
        return other == (self.config,)


@pytest.mark.parametrize(
    ("call", "given"),
    [
        (nothing, ()),
        (any_name, (CONFIG,)),
        (of_config, (CONFIG,)),
        (of_default, (CONFIG,)),
        (of_runtime, (RUNTIME,)),
        (of_name, (RUNTIME,)),
        (of_string, (RUNTIME, CONFIG)),
        (of_both, (CONFIG, RUNTIME)),
        (of_both_turned, (RUNTIME, CONFIG)),
        (of_keywords, (RUNTIME, CONFIG)),
        (of_positions, (CONFIG, RUNTIME)),
        (of_async, (CONFIG,)),
        (managed, (CONFIG,)),
        (managed_async, (RUNTIME,)),
        (partial(tuned, model="gpt"), (CONFIG, "gpt")),
        (with_default, ("gpt",)),
        (Maker(), (RUNTIME,)),
        (Made, (CONFIG,)),
    ],
)
async def test_a_factory_gets_what_its_annotations_and_names_say(call: Any, given: tuple[Any, ...]) -> None:
    factory = factory_of("target", call, "")
    async with AsyncExitStack() as stack:
        assert await factory.enter(stack, CONFIG, RUNTIME) == given
    assert factory.is_per_run == any(each in (CONFIG, RUNTIME) for each in given)


@pytest.mark.parametrize("call", [lambda config, other: 0, lambda one, two: 0, lambda *, config, runtime, more: 0])
def test_a_factory_that_needs_more_is_refused(call: Any) -> None:
    with pytest.raises(ConfigError, match=r"'target'.* and this needs more\. Hint$"):
        factory_of("target", call, "Hint")


def test_code_without_a_signature_is_called_without_anything() -> None:
    assert factory_of("target", dict, "") == Factory(dict, [])


async def test_with_an_sdk_that_has_no_runtime_configs_are_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_sdk", None)
    assert call_to_look({"a": 1}, None) == ({"configurable": {"a": 1, "__is_for_execution__": False}}, None)
    async with AsyncExitStack() as stack:
        assert await factory_of("target", of_config, "").enter(stack, CONFIG, None) == (CONFIG,)
    with pytest.raises(ConfigError, match="needs more"):
        factory_of("target", of_name, "")


class Opened:
    """A factory whose graphs say how often it was called, and what it learned as they were left."""

    def __init__(self) -> None:
        self.calls: list[Any] = []
        self.left: list[Any] = []

    @asynccontextmanager
    async def __call__(self, thread: Thread) -> AsyncIterator[Any]:
        self.calls.append(thread.config["configurable"]["thread_id"])
        try:
            yield None
        except BaseException as exc:
            self.left.append(type(exc))
            raise
        else:
            self.left.append(None)


def agent_with(opened: Opened, node: Any) -> LangGraphAgent:
    graph = node_graph(node)

    async def make(stack: AsyncExitStack, thread: Thread) -> Any:
        await stack.enter_async_context(opened(thread))
        return graph

    return agent_of(GraphSource(graph, make))


async def test_hosts_in_python_get_a_graph_for_each_call_too() -> None:
    async def node(state: Any) -> Any:
        return {"messages": [AIMessage(interrupt("which?"))]}

    agent = agent_with(opened := Opened(), node)
    asked = await agent.invoke_with_hitl("hi", thread_id="t")
    assert isinstance(asked, Interrupt)
    assert await agent.invoke_with_hitl(thread_id="t", resume="Rome") == "Rome"
    assert (opened.calls, opened.left) == (["t", "t"], [None, None])


async def test_a_call_that_is_closed_in_the_middle_leaves_its_factory_and_a_clean_thread() -> None:
    begun = asyncio.Event()

    async def node(state: Any) -> Any:
        get_stream_writer()("at work")
        begun.set()
        if len(state["messages"]) == 1:
            await asyncio.Event().wait()
        return {"messages": [AIMessage("done")]}

    agent = agent_with(opened := Opened(), node)
    call = asyncio.create_task(agent.invoke("hi", thread_id="t"))
    await begun.wait()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert opened.left == [asyncio.CancelledError]
    assert await agent.invoke("again", thread_id="t") == "done"
    events = agent.run(turn("hi", thread="other"))
    await until(events, Progress)
    await events.aclose()
    await agent.close_turn("other")
    assert opened.left[2:] == [GeneratorExit]
    assert whole(await events_of(agent, turn("more", thread="other"))) == "done"


async def test_a_failed_run_shows_its_factory_the_error_of_the_graph() -> None:
    async def node(state: Any) -> Any:
        raise LookupError

    agent = agent_with(opened := Opened(), node)
    with pytest.raises(AgentError):
        await agent.invoke("hi", thread_id="t")
    assert opened.left == [LookupError]
