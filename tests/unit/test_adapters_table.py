"""The table of docs/adapters.md says what each adapter can do; every cell is tried on an agent that could do it."""

import asyncio
import sqlite3
from collections.abc import Awaitable, Callable
from contextlib import aclosing, closing
from pathlib import Path
from typing import Any

import msgspec
import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.config import get_stream_writer
from langgraph.graph import MessagesState
from langgraph.types import interrupt
from tests.unit.adapters.langgraph.scripted import agent_of as graph_agent
from tests.unit.adapters.langgraph.scripted import calling, history, node_graph, streaming, to_lc, turn
from tests.unit.adapters.process.commands import agent_of as command_agent
from tests.unit.adapters.process.commands import end_of, sh

from llamon_agent.adapters.custom.agent import CustomAgent
from llamon_agent.adapters.echo import EchoAgent
from llamon_agent.adapters.langgraph.agent import LangGraphAgent
from llamon_agent.domain.errors import AgentError
from llamon_agent.domain.events import ArtifactMade, Delta, Interrupt, Rejected, Reply, RunEvent, Started
from llamon_agent.domain.message import Message, Raw, Role, Text
from llamon_agent.runs.ports.agent import Agent, Turn

ARTIFACT = {"artifact": {"name": "chart", "parts": [{"text": "x"}]}}
PAST = history("my name is Ann", "hello Ann")
ADAPTERS = ("langgraph", "model", "custom", "process", "echo")
SAVER = InMemorySaver()  # stands for a data folder: what is in it outlives an agent


@tool
def work() -> Any:
    """Work."""
    get_stream_writer()(ARTIFACT)
    return "done"


@tool
def sign_in() -> str:
    """Sign in."""
    return str(interrupt({"auth": "sign in"}))


class Inside:
    """What goes on inside an agent: work that only a stop ends, and what it was given."""

    def __init__(self) -> None:
        self.has_begun = asyncio.Event()
        self.has_stopped = False
        self.given: list[Any] = []

    async def work_on(self) -> Any:
        self.has_begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.has_stopped = True


def graph(what: str, inside: Inside) -> Agent:
    async def node(state: MessagesState) -> dict[str, Any]:
        get_stream_writer()(ARTIFACT)
        inside.given += state["messages"]
        if what == "questions":
            interrupt("sure?")
        if what == "sign-in":
            interrupt({"auth": "sign in"})
        if what == "cancel":
            await inside.work_on()
        return {"messages": [await streaming("one two").ainvoke(state["messages"])]}

    return graph_agent(node_graph(node, SAVER))


def model(what: str, inside: Inside) -> Agent:
    @tool
    async def endlessly() -> str:
        """Work without end."""
        return str(await inside.work_on())

    called = {"questions": "work", "sign-in": "sign_in", "artifacts": "work", "cancel": "endlessly"}.get(what)
    replies = [calling(called), AIMessage("one two")] if called else [AIMessage("one two")]
    asks = [HumanInTheLoopMiddleware({"work": True})] if what == "questions" else []
    scripted = streaming(*replies)
    inside.given = scripted.asked
    made = create_agent(scripted, [work, sign_in, endlessly], middleware=asks, checkpointer=SAVER)
    return graph_agent(made)


ENDINGS = {"sign-in": {"auth": "sign in"}, "reply": {"reply": "hi"}, "reject": {"reject": "no"}}


def custom(what: str, inside: Inside) -> Agent:
    async def answer(prompt: str, message: Message, prefill_messages: list[Any]) -> Any:
        inside.given.append(message)
        if what in ENDINGS:
            yield ENDINGS[what]
        yield "one "
        yield ARTIFACT
        if what == "cancel":
            await inside.work_on()
        yield Interrupt(text="sure?", questions=()) if what == "questions" else "two"

    return CustomAgent(answer, prefill_to_lc=to_lc)


def process(what: str, inside: Inside) -> Agent:
    script = {
        "questions": """echo '{"interrupt": "sure?"}'""",
        "artifacts": """echo '{"artifact": {"name": "chart", "parts": [{"text": "x"}]}}'""",
        "cancel": """echo "{\\"delta\\": \\"$$\\"}"; exec sleep 60""",
    }.get(what, """echo '{"delta": "one "}'; echo '{"delta": "two"}'""")
    return command_agent(sh(script), output="jsonl")


def echo(what: str, inside: Inside) -> Agent:
    return EchoAgent(chunks=2)


MAKERS: dict[str, Callable[[str, Inside], Agent]] = {
    "langgraph": graph,
    "model": model,
    "custom": custom,
    "process": process,
    "echo": echo,
}


async def said(agent: Agent, taken: Turn) -> list[RunEvent]:
    async with asyncio.timeout(20), aclosing(agent.run(taken)) as events:
        return [event async for event in events]


async def seeded(agent: Agent, thread: str) -> bool:
    events = await said(agent, turn("hi", thread=thread, past=PAST))
    return any(isinstance(event, Started) and event.history is not None and event.history.seeded for event in events)


async def is_seeded(adapter: str) -> bool:
    return await seeded(MAKERS[adapter]("history", Inside()), f"{adapter} seeded")


async def is_streamed(adapter: str) -> bool:
    events = await said(MAKERS[adapter]("streaming", Inside()), turn("hi there", thread=f"{adapter} streams"))
    return sum(isinstance(event, Delta) for event in events) > 1


async def asks(adapter: str) -> bool:
    events = await said(MAKERS[adapter]("questions", Inside()), turn("hi", thread=f"{adapter} asks"))
    return isinstance(events[-1], Interrupt)


async def asks_for_a_sign_in(adapter: str) -> bool:
    events = await said(MAKERS[adapter]("sign-in", Inside()), turn("hi", thread=f"{adapter} signs in"))
    return isinstance(events[-1], Interrupt) and events[-1].auth


async def replies(adapter: str) -> bool:
    events = await said(MAKERS[adapter]("reply", Inside()), turn("hi", thread=f"{adapter} replies"))
    return isinstance(events[-1], Reply)


async def rejects(adapter: str) -> bool:
    events = await said(MAKERS[adapter]("reject", Inside()), turn("hi", thread=f"{adapter} rejects"))
    return isinstance(events[-1], Rejected)


async def makes_artifacts(adapter: str) -> bool:
    events = await said(MAKERS[adapter]("artifacts", Inside()), turn("hi", thread=f"{adapter} makes"))
    return any(isinstance(event, ArtifactMade) for event in events)


async def takes_files(adapter: str) -> bool:
    inside = Inside()
    parts = (Text.of("hi"), Raw(data=b"\x89PNG", media_type="image/png"))
    message = Message(message_id="m", role=Role.USER, parts=parts)
    taken = msgspec.structs.replace(turn("hi", thread=f"{adapter} files"), message=message)
    try:
        await said(MAKERS[adapter]("files", inside), taken)
    except AgentError:
        return False
    return "image/png" in repr(inside.given)


async def stops(adapter: str) -> bool:
    inside, pids = Inside(), list[int]()

    async def listen() -> None:
        agent = MAKERS[adapter]("cancel", inside)
        async with aclosing(agent.run(turn("hi there", thread=f"{adapter} stops"))) as events:
            async for event in events:
                if isinstance(event, Delta) and event.text.strip().isdecimal():
                    pids.append(int(event.text))
                    inside.has_begun.set()

    listening, beginning = asyncio.create_task(listen()), asyncio.create_task(inside.has_begun.wait())
    await asyncio.wait({listening, beginning}, timeout=20, return_when=asyncio.FIRST_COMPLETED)
    beginning.cancel()
    listening.cancel()
    await asyncio.wait({listening}, timeout=20)
    for pid in pids:
        await end_of(pid)
    return inside.has_stopped or bool(pids)


async def remembers(adapter: str) -> bool:
    """Whether another object on the same data knows the thread, which is then seeded no more."""
    thread = f"{adapter} remembers"
    first = await seeded(MAKERS[adapter]("history", Inside()), thread)
    return first and not await seeded(MAKERS[adapter]("history", Inside()), thread)


async def goes_on(adapter: str) -> bool:
    """Whether a run is taken up again, threads in a file given to those that can keep them in one."""
    agent = MAKERS[adapter]("history", Inside())
    with closing(sqlite3.connect(":memory:")) as connection:
        if isinstance(agent, LangGraphAgent):
            agent.graph.checkpointer = SqliteSaver(connection)
        return agent.survives_restart


PROBES: dict[str, Callable[[str], Awaitable[bool]]] = {
    "the host's history is seeded": is_seeded,
    "the answer is streamed while it grows": is_streamed,
    "it can ask the caller": asks,
    "it can ask the caller to sign in": asks_for_a_sign_in,
    "it can answer without a task": replies,
    "it can reject a task": rejects,
    "it can make artifacts": makes_artifacts,
    "it can take files": takes_files,
    "a cancel stops the work": stops,
    "it knows its threads after a restart": remembers,
    "a run goes on after a crash or a stop": goes_on,
}


def told() -> dict[tuple[str, str], str]:
    """The table: (row, adapter) -> the cell."""
    page = (Path(__file__).parents[2] / "docs" / "adapters.md").read_text()
    lines = page.split("## What each can do")[1].split("\n## ")[0].splitlines()
    rows = [line.strip("|").split("|") for line in lines if line.startswith("|")]
    cells = [[cell.strip() for cell in row] for row in rows]
    names = [name.strip("`") for name in cells[0][1:]]
    return {(row[0], name): cell for row in cells[2:] for name, cell in zip(names, row[1:], strict=True)}


TOLD = told()


def test_the_table_is_of_all_adapters_and_of_all_that_is_tried() -> None:
    assert set(TOLD) == {(row, adapter) for row in PROBES for adapter in ADAPTERS}


@pytest.mark.parametrize(("row", "adapter"), TOLD)
async def test_a_cell_says_what_is_so(row: str, adapter: str) -> None:
    assert TOLD[row, adapter].partition(",")[0] == ("yes" if await PROBES[row](adapter) else "no")
