"""What a graph declares as its context is there in every run, as LangGraph's own server has it."""

import asyncio
import logging
import warnings
from dataclasses import dataclass, field
from typing import Annotated, Any, NotRequired, Required, TypedDict

import msgspec
import pydantic.dataclasses
import pytest
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.runtime import Runtime, get_runtime
from langgraph.types import interrupt
from pydantic import BaseModel, Field
from pydantic_settings import BaseSettings
from tests.unit.adapters.langgraph.scripted import agent_of, asked, calling, config_of, events_of, turn, whole

from llamon_agent.adapters.langgraph.context import check_context, context_for, runtime_for
from llamon_agent.adapters.langgraph.load import load_graph
from llamon_agent.adapters.langgraph.thread import Graph
from llamon_agent.domain.errors import ConfigError
from llamon_agent.domain.events import Interrupt

Saver = BaseCheckpointSaver[Any]


@dataclass(kw_only=True)
class Plain:
    model: Annotated[str, {"kind": "llm"}] = field(default="small", metadata={"description": "which"})
    rules: list[str] = field(default_factory=list)


class Model(BaseModel):
    model: str = "small"
    limit: int = Field(default=3, ge=1)


class Keys(TypedDict, total=False):
    model: str


def graph_of(schema: Any, saver: Saver | None = None, node: Any = None) -> Graph:
    def says(_state: MessagesState, runtime: Runtime[Any]) -> dict[str, Any]:
        return {"messages": [AIMessage(str(runtime.context))]}

    builder: Any = StateGraph(MessagesState, context_schema=schema)
    builder.add_node("node", node or says)
    builder.add_edge(START, "node")
    compiled: Graph = builder.compile(checkpointer=saver)
    return compiled


# -- in a run


@pytest.mark.parametrize(
    ("schema", "given"),
    [(Plain, str(Plain())), (Model, str(Model())), (Keys, "{}"), (None, "None"), (Plain | Model, "None")],
)
@pytest.mark.parametrize("is_saved", [True, False])
async def test_a_context_is_made_of_its_defaults(schema: Any, given: str, is_saved: bool) -> None:
    graph = graph_of(schema, InMemorySaver() if is_saved else None)
    assert whole(await events_of(agent_of(graph), turn("hi"))) == given


async def test_every_way_to_drive_a_graph_gives_it(saver: Saver) -> None:
    agent = agent_of(graph_of(Plain, saver))
    assert await agent.invoke("hi", thread_id="1") == str(Plain())
    assert "".join([piece async for piece in agent.stream("hi", thread_id="2")]) == str(Plain())
    assert await agent.invoke_with_hitl("hi", thread_id="3") == str(Plain())


async def test_it_is_there_after_an_answer(saver: Saver) -> None:
    def ask(_state: MessagesState, runtime: Runtime[Plain]) -> dict[str, Any]:
        return {"messages": [AIMessage(f"{interrupt('which?')} of {runtime.context.model}")]}

    agent = agent_of(graph_of(Plain, saver, ask))
    assert asked(await events_of(agent, turn("hi"))).questions[0].value == "which?"
    assert whole(await events_of(agent, turn("this", message_id="n", answers=True))) == "this of small"
    assert isinstance(await agent.invoke_with_hitl("hi", thread_id="2"), Interrupt)
    assert await agent.invoke_with_hitl(thread_id="2", resume="that") == "that of small"


async def test_subgraphs_and_tools_are_given_that_of_the_graph_around(saver: Saver) -> None:
    def look() -> str:
        """Look."""
        return get_runtime(Plain).context.model

    inner = StateGraph(MessagesState, context_schema=Plain)
    inner.add_node("call", lambda _state: {"messages": [calling("look")]})
    inner.add_node("tools", ToolNode([look]))
    inner.add_node("say", lambda state: {"messages": [AIMessage(state["messages"][-1].content)]})
    inner.add_edge(START, "call").add_edge("call", "tools").add_edge("tools", "say")
    assert whole(await events_of(agent_of(graph_of(Plain, saver, inner.compile())), turn("hi"))) == "small"


async def test_a_run_has_a_dict_of_its_own() -> None:
    def counts(_state: MessagesState, runtime: Runtime[Any]) -> dict[str, Any]:
        runtime.context["seen"] = runtime.context.get("seen", 0) + 1
        return {"messages": [AIMessage(str(runtime.context["seen"]))]}

    agent = agent_of(graph_of(Keys, InMemorySaver(), counts))
    assert [await agent.invoke("hi", thread_id="1") for _ in range(2)] == ["1", "1"]


async def test_a_thread_is_repaired_though_its_first_edge_reads_the_context(saver: Saver) -> None:
    def route(_state: MessagesState, runtime: Runtime[Plain]) -> str:
        return {"small": "node"}[runtime.context.model]

    builder = StateGraph(MessagesState, context_schema=Plain)
    builder.add_node("node", lambda _state: {"messages": [calling("look")]})
    builder.add_conditional_edges(START, route, ["node"])
    graph = builder.compile(checkpointer=saver)
    await events_of(agent_of(graph), turn("hi"))
    await agent_of(graph).close_turn("thread")
    snapshot = await graph.aget_state(config_of())
    assert isinstance(snapshot.values["messages"][-1], ToolMessage)
    assert "runtime" not in str(snapshot.metadata)


async def test_it_is_there_when_a_run_goes_on_after_a_crash(saver: Saver) -> None:
    asking = asyncio.Event()

    async def holds(_state: MessagesState, runtime: Runtime[Plain]) -> dict[str, Any]:
        if not asking.is_set():
            asking.set()
            await asyncio.Event().wait()
        return {"messages": [AIMessage(runtime.context.model)]}

    agent = agent_of(graph_of(Plain, saver, holds))
    running = asyncio.ensure_future(events_of(agent, turn("hi")))
    async with asyncio.timeout(5):
        await asking.wait()
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    assert whole(await events_of(agent, msgspec.structs.replace(turn("hi"), attempt=2))) == "small"


# -- at start


@dataclass
class Wants:
    prompt: str
    model: str = "small"
    made: str = field(init=False)


class ModelWants(BaseModel):
    prompt: str
    limit: int


@pydantic.dataclasses.dataclass
class CheckedWants:
    prompt: str


@dataclass
class Fails:
    def __post_init__(self) -> None:
        raise KeyError("PROMPT")


class KeysWant(TypedDict):
    prompt: str
    model: "NotRequired[str]"


class SomeKeysWanted(TypedDict, total=False):
    prompt: Required[str]
    model: str


@pytest.mark.parametrize(
    ("schema", "told"),
    [
        (Wants, r"its context Wants has no usable value for 'prompt'\. "),
        (ModelWants, r"its context ModelWants has no usable value for 'prompt', 'limit'\. "),
        (CheckedWants, r"its context CheckedWants has no usable value for 'prompt'\. "),
        (Fails, r"its context Fails cannot be made: KeyError at .*test_context.py:\d+: 'PROMPT'\. "),
    ],
)
def test_a_context_that_cannot_be_made_is_refused_with_its_fields(schema: Any, told: str) -> None:
    with pytest.raises(ConfigError, match=f"^The target 'a:b': {told}Set agents.NAME.langgraph.context, or ") as raised:
        check_context(graph_of(schema), "a:b")
    assert "secret" not in raised.value.public
    assert context_for(graph_of(schema)) == {}


def test_a_setting_may_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    class Settings(BaseSettings):
        llamon_sample_model: str

    with pytest.raises(ConfigError, match="'llamon_sample_model'"):
        check_context(graph_of(Settings), "a:b")
    monkeypatch.setenv("LLAMON_SAMPLE_MODEL", "large")
    check_context(graph_of(Settings), "a:b")
    assert runtime_for(graph_of(Settings), {}).context.llamon_sample_model == "large"


@pytest.mark.parametrize("schema", [KeysWant, SomeKeysWanted])
def test_a_dict_that_lacks_keys_gives_one_warning_and_is_served(schema: Any, caplog: pytest.LogCaptureFixture) -> None:
    graph = graph_of(schema)
    check_context(graph, "a:b")
    assert [record.levelno for record in caplog.records] == [logging.WARNING]
    assert caplog.messages[0] == (f"The target 'a:b': its context {schema.__name__} is without 'prompt' here")
    assert context_for(graph) == {}


@pytest.mark.parametrize("schema", [Plain, Model, Keys, None, dict, object, Plain | Model])
def test_a_context_that_can_be_made_gives_no_warning(schema: Any, caplog: pytest.LogCaptureFixture) -> None:
    check_context(graph_of(schema), "a:b")
    assert caplog.messages == []


async def test_a_graph_is_checked_when_it_is_loaded(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "llamon_context_sample.py").write_text(
        "from dataclasses import dataclass\n"
        "from langgraph.graph import START, MessagesState, StateGraph\n"
        "@dataclass\nclass Wants:\n    prompt: str\n"
        "graph = StateGraph(MessagesState, context_schema=Wants).add_node('a', lambda s: s).add_edge(START, 'a')\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ConfigError, match="'prompt'"):
        await load_graph("llamon_context_sample:graph", checkpointer=None)


# -- from before there was a context


def old_graph(schema: Any, node: Any, saver: Saver | None = None) -> Graph:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        builder: Any = StateGraph(MessagesState, config_schema=schema)  # type: ignore[call-arg]
    compiled: Graph = builder.add_node("node", node).add_edge(START, "node").compile(checkpointer=saver)
    return compiled


def reads_config(_state: MessagesState, config: RunnableConfig) -> dict[str, Any]:
    return {"messages": [AIMessage(config["configurable"].get("model", "none"))]}


@pytest.mark.parametrize("schema", [Plain, Model, Keys, Wants, ModelWants, KeysWant])
async def test_a_graph_with_a_config_schema_is_served_as_before(schema: Any) -> None:
    graph = old_graph(schema, reads_config, InMemorySaver())
    check_context(graph, "a:b")
    assert whole(await events_of(agent_of(graph), turn("hi"))) == "none"


def test_a_config_schema_that_cannot_be_made_gives_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    graph = old_graph(Wants, reads_config)
    check_context(graph, "a:b")
    assert caplog.messages == ["The target 'a:b': its context Wants has no usable value for 'prompt'; it gets none"]
    assert context_for(graph) is None
    assert runtime_for(graph, None).context is None
