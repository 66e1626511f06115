"""A task that is `canceled` has stopped: whatever an agent does to the world, it does before that or never."""

import asyncio
import os
import select
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolCall
from langchain_core.tools import BaseTool, tool
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from pydantic import SecretStr
from tests.loop_time import pass_time
from tests.model_server import chunk, endless, model_server
from tests.unit.adapters.process.commands import agent_of, sh

from llamon_agent.adapters.custom.agent import CustomAgent
from llamon_agent.adapters.langgraph.agent import LangGraphAgent
from llamon_agent.adapters.langgraph.thread import thread_config
from llamon_agent.adapters.prompts import plain_prefill
from llamon_agent.domain.caller import Caller
from llamon_agent.domain.events import ArtifactUpdate
from llamon_agent.domain.message import Message, Role, Text
from llamon_agent.domain.task import Task, TaskState
from llamon_agent.runs.ports.agent import Agent
from llamon_agent.runs.ports.run import Limits, RunRequest, Runtime, Target
from llamon_agent.runs.run import Run
from llamon_agent.runs.service import RunService
from llamon_agent.store.memory import MemoryTaskStore
from llamon_agent.testing.scripted import HandClock, counting_ids

CANCELED = "canceled"


class World:
    """What happens, in its order; and a gate in front of an effect, which the test opens.

    Its methods can be called from any thread.
    """

    def __init__(self) -> None:
        self.happened: list[str] = []
        self.entered = asyncio.Event()
        self.left = threading.Event()
        self._gate = asyncio.Event()
        self._thread_gate = threading.Event()
        self._loop = asyncio.get_running_loop()

    async def change(self, what: str) -> None:
        """Change something, once the gate is open."""
        self.entered.set()
        await self._gate.wait()
        self.happened.append(what)

    def change_blocking(self, what: str) -> None:
        """The same, for code in a thread."""
        self._loop.call_soon_threadsafe(self.entered.set)
        try:
            assert self._thread_gate.wait(5)
            self.happened.append(what)
        finally:
            self.left.set()

    def open(self) -> None:
        self._gate.set()
        self._thread_gate.set()

    async def settle(self) -> None:
        """Let everything that could still go on go on."""
        self.open()
        for _ in range(50):
            await asyncio.sleep(0)


@pytest.fixture
async def world() -> World:
    return World()


@asynccontextmanager
async def serving(agent: Agent, *, timeout_s: float = 60, limits: Limits | None = None) -> AsyncIterator[RunService]:
    runtime = Runtime(Target(name="demo", adapter="any", target="", timeout_s=timeout_s), agent)
    service = RunService(MemoryTaskStore(), {"demo": runtime}, clock=HandClock(), new_id=counting_ids(), limits=limits)
    async with asyncio.timeout(10), service:
        yield service


async def begin(service: RunService) -> Run:
    message = Message(message_id="m", role=Role.USER, parts=(Text.of("go"),))
    return await service.submit_run(RunRequest(caller=Caller(), agent="demo", message=message, prompt="go"))


async def cancel(service: RunService, run: Run) -> Task:
    return await service.cancel_run("default", "demo", run.task.id, again_ok=True)


def calling(*tools: BaseTool) -> Agent:
    """A graph that calls these tools at once, and then the first of them once more."""

    async def decide(state: MessagesState) -> dict[str, list[AIMessage]]:
        names = [each.name for each in tools] if isinstance(state["messages"][-1], HumanMessage) else [tools[0].name]
        calls = [ToolCall(name=name, args={}, id=f"{len(state['messages'])}-{name}") for name in names]
        return {"messages": [AIMessage("", tool_calls=calls)]}

    builder = StateGraph(MessagesState)
    builder.add_node("decide", decide)
    builder.add_node("tools", ToolNode(list(tools)))
    builder.add_edge(START, "decide")
    builder.add_conditional_edges("decide", tools_condition)
    builder.add_edge("tools", "decide")
    return LangGraphAgent(builder.compile(checkpointer=InMemorySaver()))


async def test_an_async_tool_of_a_graph_does_nothing_after_canceled(world: World) -> None:
    @tool
    async def change() -> str:
        """Change the world."""
        await world.change("changed")
        return "done"

    async with serving(calling(change)) as service:
        run = await begin(service)
        await world.entered.wait()
        assert (await cancel(service, run)).status.state is TaskState.CANCELED
        await world.settle()
    assert world.happened == []


async def test_two_tools_at_once_do_nothing_after_canceled(world: World) -> None:
    @tool
    async def change() -> str:
        """Change the world."""
        await world.change("changed")
        return "done"

    @tool
    async def turn() -> str:
        """Turn the world."""
        await world.change("turned")
        return "done"

    async with serving(calling(change, turn)) as service:
        run = await begin(service)
        await world.entered.wait()
        assert (await cancel(service, run)).status.state is TaskState.CANCELED
        await world.settle()
    assert world.happened == []


async def canceled_while_blocked(world: World, agent: Agent) -> list[str]:
    """What happens, in its order, when a run is canceled whose thread is in the middle of something."""
    async with serving(agent) as service:
        run = await begin(service)
        await world.entered.wait()
        canceling = asyncio.create_task(cancel(service, run))
        canceling.add_done_callback(lambda _: world.happened.append(CANCELED))
        for _ in range(50):
            await asyncio.sleep(0)
        world.open()
        assert (await canceling).status.state is TaskState.CANCELED
        assert await asyncio.to_thread(world.left.wait, 5)
        await world.settle()
    return world.happened


async def test_a_tool_in_a_thread_has_ended_before_canceled(world: World) -> None:
    """A thread cannot be stopped. So it is waited for, and what follows it does not happen."""

    @tool
    def change() -> str:
        """Change the world."""
        world.change_blocking("changed")
        return "done"

    assert await canceled_while_blocked(world, calling(change)) == ["changed", CANCELED]


async def test_a_node_in_a_thread_has_ended_before_canceled_and_the_next_is_not_begun(world: World) -> None:
    def first(state: MessagesState) -> None:
        world.change_blocking("first")

    def second(state: MessagesState) -> None:
        world.change_blocking("second")

    builder = StateGraph(MessagesState)
    builder.add_sequence([first, second])
    builder.add_edge(START, "first")
    agent = LangGraphAgent(builder.compile(checkpointer=InMemorySaver()))
    assert await canceled_while_blocked(world, agent) == ["first", CANCELED]


def talking(world: World, url: str) -> LangGraphAgent:
    """A graph whose node calls a model that does not stop by itself, in a thread, and then does something else."""
    model = ChatOpenAI(model="m", base_url=url, api_key=SecretStr("k"), max_retries=0)

    @tool
    def change() -> str:
        """Change the world."""
        world.happened.append("changed")
        return "done"

    def talk(state: MessagesState) -> dict[str, list[BaseMessage]]:
        try:
            return {"messages": [model.invoke("x")]}
        except Exception:
            world.happened.append("taken for a failure")
            raise
        finally:
            change.invoke({})
            world.happened.append("went on")

    builder = StateGraph(MessagesState)
    builder.add_sequence([talk])
    builder.add_edge(START, "talk")
    return LangGraphAgent(builder.compile(checkpointer=InMemorySaver()))


async def until_it_talks(run: Run) -> None:
    async for batch in run.follow():
        if any(isinstance(event, ArtifactUpdate) for event in batch):
            return


async def test_a_model_that_is_called_in_a_thread_is_stopped_at_its_next_token(world: World) -> None:
    async with model_server() as server:
        server.says(endless(chunk({"content": "word "})))
        agent = talking(world, server.url)
        async with serving(agent) as service:
            run = await begin(service)
            await until_it_talks(run)
            task = await cancel(service, run)
            assert (task.status.state, world.happened) == (TaskState.CANCELED, [])
            await server.hung_up.wait()
            assert (await agent._thread(thread_config("c")).read()).unfinished is False
            assert task.artifacts[0].metadata == {"incomplete": True}


async def test_a_model_that_is_called_in_a_thread_is_stopped_when_its_run_times_out(world: World) -> None:
    async with model_server() as server:
        server.says(endless(chunk({"content": "word "})))
        async with serving(talking(world, server.url), timeout_s=9) as service:
            run = await begin(service)
            await until_it_talks(run)
            pass_time(9)
            task = await run.wait_settled(60)
            assert (task.status.state, world.happened) == (TaskState.FAILED, [])
            await server.hung_up.wait()


async def test_a_thread_of_async_code_has_ended_before_canceled(world: World) -> None:
    async def work(prompt: str) -> str:
        await asyncio.to_thread(world.change_blocking, "changed")
        return "done"

    agent = CustomAgent(work, prefill_to_lc=plain_prefill)
    assert await canceled_while_blocked(world, agent) == ["changed", CANCELED]


async def test_a_thread_has_ended_before_its_run_times_out(world: World) -> None:
    opening: list[asyncio.Task[None]] = []

    async def open_later() -> None:
        for _ in range(50):
            await asyncio.sleep(0)
        world.open()

    async def work(prompt: str) -> str:
        try:
            await asyncio.to_thread(world.change_blocking, "changed")
        except asyncio.CancelledError:
            opening.append(asyncio.create_task(open_later()))
            raise
        return "done"

    async with serving(CustomAgent(work, prefill_to_lc=plain_prefill), timeout_s=4) as service:
        run = await begin(service)
        await world.entered.wait()
        pass_time(4)
        task = await run.wait_settled(5)
        assert (task.status.state, world.happened) == (TaskState.FAILED, ["changed"])


async def test_a_thread_that_does_not_end_is_abandoned_and_blocks_no_other(world: World) -> None:
    """What it was in the middle of may still happen; the next step does not, and the service ends."""

    @tool
    def change() -> str:
        """Change the world."""
        world.change_blocking("changed")
        return "done"

    agent = calling(change)
    async with serving(agent, limits=Limits(cancel_grace_s=0.02)) as service:
        run = await begin(service)
        await world.entered.wait()
        assert (await cancel(service, run)).status.state is TaskState.CANCELED
    assert not world.left.is_set()
    world.open()
    assert await asyncio.to_thread(world.left.wait, 5)
    await world.settle()
    assert world.happened == ["changed"]


async def test_a_plain_function_has_ended_before_canceled(world: World) -> None:
    def work(prompt: str) -> str:
        world.change_blocking("changed")
        return "done"

    agent = CustomAgent(work, prefill_to_lc=plain_prefill)
    assert await canceled_while_blocked(world, agent) == ["changed", CANCELED]


async def test_a_plain_generator_does_not_go_on_after_its_current_step(world: World) -> None:
    def work(prompt: str) -> Iterator[str]:
        world.change_blocking("changed")
        yield "one"
        world.change_blocking("changed again")
        yield "two"

    agent = CustomAgent(work, prefill_to_lc=plain_prefill)
    assert await canceled_while_blocked(world, agent) == ["changed", CANCELED]


async def test_an_async_generator_does_nothing_after_canceled(world: World) -> None:
    async def work(prompt: str) -> AsyncIterator[str]:
        yield "one"
        await world.change("changed")
        yield "two"

    async with serving(CustomAgent(work, prefill_to_lc=plain_prefill)) as service:
        run = await begin(service)
        await world.entered.wait()
        assert (await cancel(service, run)).status.state is TaskState.CANCELED
        await world.settle()
    assert world.happened == []


def await_no_reader(pipe: Path) -> None:
    """Killed processes close what they read a moment after they are killed."""
    with suppress(OSError):  # nothing reads it any more
        writing = os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
        gone = select.poll()
        gone.register(writing, 0)
        assert gone.poll(10_000) == [(writing, select.POLLERR)]
        os.close(writing)


async def test_no_process_of_a_group_does_anything_after_canceled(tmp_path: Path) -> None:
    """Two of the group wait at a pipe before they write. Once its other end is closed, none of them ever will."""
    pipe, effects = tmp_path / "pipe", tmp_path / "effects"
    os.mkfifo(pipe)
    waiting = os.open(pipe, os.O_RDWR)  # so that the readers are not held up by the opening itself
    script = f"(read line && echo child >> {effects}) < {pipe} & echo begun; read line < {pipe}; echo main >> {effects}"
    async with serving(agent_of(sh(script))) as service:
        run = await begin(service)
        async for batch in run.follow():
            if any(isinstance(event, ArtifactUpdate) for event in batch):
                break
        assert (await cancel(service, run)).status.state is TaskState.CANCELED
    os.close(waiting)
    await asyncio.to_thread(await_no_reader, pipe)
    assert not effects.exists()
