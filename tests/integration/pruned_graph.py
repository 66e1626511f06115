"""A graph with all that a thread can hold, and one conversation with it whose thread is pruned, or is not."""

import asyncio
import operator
from collections.abc import Sequence
from contextlib import aclosing
from typing import Annotated, Any, TypedDict

import msgspec
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langgraph.channels.delta import DeltaChannel
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import Send, interrupt
from tests.unit.adapters.langgraph.scripted import agent_of, config_of, turn

from llamon_agent.adapters.langgraph.thread import Graph
from llamon_agent.domain.errors import AgentError
from llamon_agent.domain.events import Complete, Delta, Interrupt
from llamon_agent.runs.decisions import question_out
from llamon_agent.runs.ports.agent import Turn


def _joined(value: list[str], writes: Sequence[list[str]]) -> list[str]:
    return [*value, *(each for write in writes for each in write)]


def _noted(value: list[str], more: list[str]) -> list[str]:
    """A subgraph gives back the whole of it."""
    return more if more[: len(value)] == value else [*value, *more]


class Held(TypedDict, total=False):
    messages: Annotated[list[AnyMessage], add_messages]
    log: Annotated[list[str], _noted]
    changes: Annotated[list[str], DeltaChannel(_joined, list, snapshot_frequency=3)]


class Plain(TypedDict, total=False):
    messages: Annotated[list[AnyMessage], add_messages]
    log: Annotated[list[str], _noted]


class Counted(TypedDict, total=False):
    log: Annotated[list[str], _noted]
    count: Annotated[int, operator.add]


class ManyThings:
    """A graph: two parallel steps, a subgraph with a memory of its own, one that may ask, and a step that may fail or
    take for ever. The last message says which.
    """

    def __init__(self, *, has_changes: bool = False) -> None:
        self.reached = asyncio.Event()
        self.hold = False
        self._state: Any = Held if has_changes else Plain
        self._has_changes = has_changes

    def graph(self, saver: BaseCheckpointSaver[Any]) -> Graph:
        builder: Any = StateGraph(self._state)
        builder.add_node("part", self._part)
        builder.add_node("counting", self._counting())
        builder.add_node("asking", self._asking())
        builder.add_node("last", self._last)
        builder.add_conditional_edges(START, _both_parts)
        builder.add_edge("part", "counting")
        builder.add_edge("counting", "asking")
        builder.add_edge("asking", "last")
        builder.add_edge("last", END)
        found: Graph = builder.compile(checkpointer=saver)
        return found

    def _part(self, state: Any) -> Any:
        noted = [f"part {state['log'][0]}"]
        return {"log": noted, "changes": noted} if self._has_changes else {"log": noted}

    def _counting(self) -> Graph:
        inner = StateGraph(Counted)
        inner.add_node("count", _count)
        inner.add_edge(START, "count")
        inner.add_edge("count", END)
        return inner.compile(checkpointer=True)

    def _asking(self) -> Graph:
        def first(_state: Any) -> Any:
            return {"log": ["first"]}

        def ask(state: Any) -> Any:
            text = state["messages"][-1].text
            return {"log": [interrupt(f"{text}?")] if "ask" in text else ["not asked"]}

        inner: Any = StateGraph(self._state)
        inner.add_node("first", first)
        inner.add_node("ask", ask)
        inner.add_edge(START, "first")
        inner.add_edge("first", "ask")
        inner.add_edge("ask", END)
        found: Graph = inner.compile()
        return found

    async def _last(self, state: Any) -> Any:
        text = state["messages"][-1].text
        if self.hold:
            self.reached.set()
            await asyncio.Event().wait()
        if "fail" in text:
            raise ValueError(text)
        return {"messages": [AIMessage(f"{text} {len(state['log'])}", id=f"a{len(state['messages'])}")]}


class Conversation:
    """One thread, and what is said in it. Shape: ends are the states at the end of each task."""

    def __init__(self, saver: Any, things: ManyThings, *, prunes: bool) -> None:
        self.saver = saver
        self.ends: dict[str, Any] = {}
        self._things = things
        self._prunes = prunes
        self._graph = things.graph(saver)
        self._agent = agent_of(self._graph)
        self._tasks = 0
        self._asked: Turn | None = None
        self._ended_last: Turn | None = None

    @property
    def is_paused(self) -> bool:
        return self._asked is not None

    def in_new_process(self, saver: Any) -> "Conversation":
        """The conversation, with its storage opened again."""
        after = Conversation(saver, self._things, prunes=self._prunes)
        after._tasks, after._asked = self._tasks, self._asked
        return after

    async def say(self, text: str) -> list[Any]:
        """A message: the answer if there is a question, else a new task."""
        if self._asked is None:
            self._tasks += 1
            return await self._run(turn(text, task=f"t{self._tasks}", message_id="m"))
        return await self._run(msgspec.structs.replace(self._asked, **_answer(text)))

    async def die(self, text: str) -> list[Any]:
        """A message in whose run the process dies; the next process goes on. The task before is pruned only then."""
        self._things.hold = True
        self._things.reached.clear()
        taken = self._asked and msgspec.structs.replace(self._asked, **_answer(text))
        if taken is None:
            self._tasks += 1
            taken = turn(text, task=f"t{self._tasks}", message_id="m")
        running = asyncio.create_task(self._events(taken))
        reached = asyncio.create_task(self._things.reached.wait())
        await asyncio.wait({running, reached}, return_when=asyncio.FIRST_COMPLETED)
        running.cancel()
        reached.cancel()
        await asyncio.wait({running, reached})
        self._things.hold = False
        await self._pruned(f"t{self._tasks - 1}")
        return await self._again(taken)

    async def lose(self) -> list[Any]:
        """The store loses the record of the last task's end, so the next process continues that task."""
        return [] if self._ended_last is None else await self._again(self._ended_last)

    async def _again(self, taken: Turn) -> list[Any]:
        self._agent = agent_of(self._graph)
        return await self._run(msgspec.structs.replace(taken, attempt=2))

    async def cancel(self) -> list[Any]:
        """The end of a question."""
        assert self._asked is not None
        await self._agent.close_turn("thread")
        return await self._ended(self._asked)

    async def compact(self) -> list[Any]:
        """What an operator does, whatever the thread is in the middle of."""
        return await self._pruned(None)

    async def state(self) -> Any:
        """What is saved, with the questions but without ids that differ."""
        found = await self._graph.aget_state(config_of())
        return _plain(found.values), [each.value for each in found.interrupts], found.next

    async def past(self) -> list[Any]:
        """The states that can be gone back to, the newest first."""
        return [_plain(each.values) async for each in self._graph.aget_state_history(config_of())]

    async def say_after(self, end: Any, text: str) -> Any:
        """What becomes of a message to the thread as it was at the end of an earlier turn."""
        found = [each async for each in self._graph.aget_state_history(config_of()) if _plain(each.values) == end]
        return _plain(await self._graph.ainvoke({"messages": [HumanMessage(text, id="m")]}, found[0].config))

    async def _run(self, taken: Turn) -> list[Any]:
        self._ended_last = None
        try:
            events = await self._events(taken)
        except AgentError:
            return ["failed", *await self._ended(taken)]
        last = events[-1]
        said = [event for event in events if isinstance(event, Delta)]
        if isinstance(last, Interrupt):
            self._asked = msgspec.structs.replace(
                taken, answers=True, attempt=1, asked=tuple(map(question_out, last.questions))
            )
            return [*said, last.text]
        assert isinstance(last, Complete)
        self._ended_last = taken
        return [*said, last.text, *await self._ended(taken, completed=taken.task_id)]

    async def _events(self, taken: Turn) -> list[Any]:
        async with aclosing(self._agent.run(taken)) as events:
            return [event async for event in events]

    async def _ended(self, taken: Turn, *, completed: str | None = None) -> list[Any]:
        self._asked = None
        self.ends[taken.task_id] = (await self.state())[0]
        return await self._pruned(completed)

    async def _pruned(self, completed: str | None) -> list[Any]:
        if self._prunes:
            await self._agent.prune_thread("thread", completed=completed)
        return [await self.state()]


def _both_parts(state: Any) -> list[Send]:
    return [Send("part", {**state, "log": [name]}) for name in "ab"]


def _count(state: Counted) -> Counted:
    return {"count": 1, "log": [f"call {state.get('count', 0) + 1}"]}


def _answer(text: str) -> dict[str, Any]:
    said = turn(text, message_id="m")
    return {"message": said.message, "prompt": said.prompt}


def _plain(values: Any) -> Any:
    messages = [(each.type, each.text, each.id) for each in values.get("messages", [])]
    return {**values, "messages": messages}


def one_node(saver: Any) -> Graph:
    def answer(_state: Plain) -> Plain:
        return {"messages": [AIMessage("y" * 2000)]}

    builder: Any = StateGraph(Plain)
    builder.add_node("answer", answer)
    builder.add_edge(START, "answer")
    builder.add_edge("answer", END)
    graph: Graph = builder.compile(checkpointer=saver)
    return graph
