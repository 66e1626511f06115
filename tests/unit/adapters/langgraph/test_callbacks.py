"""What the edge adds to a run as callbacks, with a real provider's package and a real server."""

import asyncio
import threading
from collections.abc import AsyncGenerator
from typing import Any
from uuid import uuid4

import pytest
from langchain.agents import create_agent
from langchain.agents.structured_output import ProviderStrategy
from langchain_core.callbacks import CallbackManager
from langchain_core.runnables import Runnable
from langchain_openai import ChatOpenAI
from langgraph.graph import MessagesState
from pydantic import BaseModel, SecretStr
from tests.model_server import Reply, chunk, model_server, stream_of, tool_call
from tests.unit.adapters.langgraph.scripted import agent_of, events_of, node_graph, shown, spoken, turn, whole

from llamon_agent.adapters.langgraph.callbacks import StopInThread, StructuredOutput, is_structured
from llamon_agent.adapters.worker_threads import RunStopped, joining
from llamon_agent.domain.events import ArtifactMade, Delta
from llamon_agent.domain.message import Data


class Route(BaseModel):
    category: str


def streamed(*pieces: str) -> Reply:
    """A streamed text whose first chunk names its role, as OpenAI's does."""
    deltas = [{"role": "assistant", "content": ""}, *({"content": piece} for piece in pieces)]
    return stream_of(*map(chunk, deltas), chunk({}, "stop"), "data: [DONE]\n\n")


ROUTED = streamed('{"category":', ' "secret"}')

CALLS: dict[str, tuple[Any, Reply, str]] = {
    "json_schema": (lambda model: model.with_structured_output(Route, method="json_schema"), ROUTED, ""),
    "json_mode": (lambda model: model.with_structured_output(Route, method="json_mode"), ROUTED, ""),
    "function_calling": (
        lambda model: model.with_structured_output(Route, method="function_calling"),
        tool_call("Route", '{"category": "secret"}'),
        "",
    ),
    "bound by hand": (lambda model: model.bind(response_format={"type": "json_object"}), ROUTED, ""),
    "text": (lambda model: model.bind(response_format={"type": "text"}), streamed("Hel", "lo"), "Hello"),
    "none": (lambda model: model, streamed("Hel", "lo"), "Hello"),
}


# The provider's package warns of its own parsed values. Source: langchain_openai BaseChatOpenAI._stream (model_dump).
@pytest.mark.filterwarnings("ignore:Pydantic serializer warnings")
@pytest.mark.parametrize("is_async", [True, False], ids=["async", "sync"])
@pytest.mark.parametrize(("called", "reply", "text"), CALLS.values(), ids=CALLS)
async def test_only_the_text_of_calls_without_a_format_is_sent(
    called: Any, reply: Reply, text: str, is_async: bool
) -> None:
    async with model_server() as server:
        server.says(reply)
        model = ChatOpenAI(model="m", base_url=server.url, api_key=SecretStr("k"), streaming=True, max_retries=0)
        asked: Runnable[Any, Any] = called(model)

        async def node(state: MessagesState) -> dict[str, Any]:
            await asked.ainvoke("x")
            return {}

        def sync_node(state: MessagesState) -> dict[str, Any]:
            asked.invoke("x")
            return {}

        events = await events_of(agent_of(node_graph(node if is_async else sync_node)), turn("hi"))
    assert (shown(events), spoken(events), whole(events)) == (text, "", "")


@pytest.mark.filterwarnings("ignore:Pydantic serializer warnings")
async def test_the_structured_response_of_an_agent_comes_whole_and_as_data() -> None:
    async with model_server() as server:
        server.says(ROUTED)
        model = ChatOpenAI(model="m", base_url=server.url, api_key=SecretStr("k"), streaming=True, max_retries=0)
        agent = agent_of(create_agent(model, [], response_format=ProviderStrategy(Route)))
        events = await events_of(agent, turn("hi"))
    assert [event for event in events if isinstance(event, Delta)] == []
    assert [event.artifact.parts for event in events if isinstance(event, ArtifactMade)] == [
        (Data(data={"category": "secret"}),)
    ]
    assert whole(events) == '{"category": "secret"}'


@pytest.mark.parametrize(
    ("call", "marked"),
    [
        ({"options": {"ls_structured_output_format": {"schema": {}}}}, True),
        ({"invocation_params": {"response_schema": {"type": "object"}}}, True),
        ({"invocation_params": {"format": "json"}}, True),
        ({"invocation_params": {"format": "", "response_format": None}}, False),
        ({"options": None, "invocation_params": None}, False),
        ({}, False),
    ],
)
def test_a_format_is_known_by_its_names(call: dict[str, Any], marked: bool) -> None:
    metadata: dict[str, Any] = {}
    StructuredOutput().on_chat_model_start({}, [], run_id=uuid4(), metadata=metadata, **call)
    assert is_structured(metadata) is marked


def test_a_call_without_metadata_is_left_alone() -> None:
    StructuredOutput().on_chat_model_start({}, [], run_id=uuid4(), options={"ls_structured_output_format": {"x": 1}})


async def test_only_code_in_a_thread_of_a_run_that_is_being_stopped_ends_where_it_begins_something() -> None:
    began, stopped = asyncio.Event(), threading.Event()
    loop = asyncio.get_running_loop()
    ended_by: list[str] = []

    def begin_a_tool() -> None:
        CallbackManager([StopInThread()]).on_tool_start({}, "x")

    def step() -> None:
        begin_a_tool()
        loop.call_soon_threadsafe(began.set)
        assert stopped.wait(5)
        try:
            begin_a_tool()
        except RunStopped as exc:
            ended_by.append(type(exc).__name__)
            raise

    async def work() -> AsyncGenerator[None]:
        try:
            await asyncio.to_thread(step)
            yield
        except asyncio.CancelledError:
            begin_a_tool()  # on the loop, where clean-up may go on
            stopped.set()
            raise

    running = asyncio.ensure_future(anext(joining(work())))
    async with asyncio.timeout(5):
        await began.wait()
        running.cancel()
        await asyncio.wait({running})
    assert ended_by == ["RunStopped"]
