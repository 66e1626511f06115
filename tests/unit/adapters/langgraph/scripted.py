"""Models that follow a script and refuse what real providers refuse, and short ways to drive an agent with them."""

import re
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import aclosing
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolCall,
    ToolMessage,
)
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from typing_extensions import override

from llamon_agent.adapters.langgraph.agent import LangGraphAgent
from llamon_agent.adapters.langgraph.factory import GraphSource
from llamon_agent.adapters.langgraph.thread import Graph
from llamon_agent.domain.events import AgentEvent, Complete, Delta, Interrupt, Progress, Started
from llamon_agent.domain.message import Data, Message, Part, Role, Text, texts
from llamon_agent.runs.live_task import AnswerBuffer
from llamon_agent.runs.ports.agent import Turn

Replies = Sequence[AIMessage | str | Exception]


class HistoryRefused(Exception):
    """What a provider says to a history it cannot take."""


def assert_valid(messages: Sequence[BaseMessage]) -> None:
    """A provider's rules: every call is followed by its results, every result follows its call, system only in
    front."""
    open_calls: set[str | None] = set()
    for place, message in enumerate(messages):
        if isinstance(message, ToolMessage):
            if message.tool_call_id not in open_calls:
                raise HistoryRefused("a result without its call")
            open_calls.discard(message.tool_call_id)
            continue
        if open_calls:
            raise HistoryRefused("a call without its result")
        if isinstance(message, SystemMessage) and place:
            raise HistoryRefused("a system message in the middle")
        if isinstance(message, AIMessage):
            open_calls = {call["id"] for call in message.tool_calls}
    if open_calls:
        raise HistoryRefused("a call without its result")


class Plain(BaseChatModel):
    """Says its replies one after the other, each whole; keeps what it was asked."""

    replies: list[Any]
    asked: list[list[BaseMessage]]

    @property
    @override
    def _llm_type(self) -> str:
        return "plain"

    @override
    def bind_tools(
        self, tools: Sequence[dict[str, Any] | type | Callable[..., Any] | BaseTool], **kwargs: Any
    ) -> Runnable[LanguageModelInput, AIMessage]:
        return self

    @override
    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=self.next_reply(messages))])

    def next_reply(self, messages: list[BaseMessage]) -> AIMessage:
        assert_valid(messages)
        self.asked.append(list(messages))
        reply = self.replies.pop(0)
        if isinstance(reply, Exception):
            raise reply
        return AIMessage(reply) if isinstance(reply, str) else reply.model_copy()


class Streaming(Plain):
    """Says its replies word by word, or block by block."""

    @override
    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        reply = self.next_reply(messages)
        pieces: list[Any] = (
            re.findall(r"\S+\s*", reply.content)
            if isinstance(reply.content, str)
            else [[block] for block in reply.content]
        )
        for piece in pieces:
            yield ChatGenerationChunk(message=AIMessageChunk(content=piece))
        if reply.tool_calls:
            yield ChatGenerationChunk(message=AIMessageChunk(content="", tool_calls=reply.tool_calls))


def plain(*replies: AIMessage | str | Exception) -> Plain:
    return Plain(replies=list(replies), asked=[])


def streaming(*replies: AIMessage | str | Exception) -> Streaming:
    return Streaming(replies=list(replies), asked=[])


def calling(*names: str, text: str | list[str | dict[str, Any]] = "", **args: Any) -> AIMessage:
    """An AI message that calls these tools."""
    return AIMessage(text, tool_calls=[ToolCall(name=name, args=args, id=f"call-{name}") for name in names])


def chat_graph(model: Plain, saver: BaseCheckpointSaver[Any] | None = None, **compiling: Any) -> Graph:
    """One model, no tools."""

    async def answer(state: MessagesState) -> dict[str, Any]:
        return {"messages": [await model.ainvoke(state["messages"])]}

    builder = StateGraph(MessagesState)
    builder.add_node("answer", answer)
    builder.add_edge(START, "answer")
    return builder.compile(checkpointer=saver, **compiling)


def tool_graph(
    model: Plain, tools: Sequence[BaseTool], saver: BaseCheckpointSaver[Any] | None = None, **compiling: Any
) -> Graph:
    """One model and one ToolNode that runs all the calls of a message."""

    async def answer(state: MessagesState) -> dict[str, Any]:
        return {"messages": [await model.ainvoke(state["messages"])]}

    builder = StateGraph(MessagesState)
    builder.add_node("answer", answer)
    builder.add_node("tools", ToolNode(tools))
    builder.add_edge(START, "answer")
    builder.add_conditional_edges("answer", tools_condition)
    builder.add_edge("tools", "answer")
    return builder.compile(checkpointer=saver, **compiling)


def node_graph(node: Callable[..., Any], saver: BaseCheckpointSaver[Any] | None = None, **compiling: Any) -> Graph:
    """One node of one's own over messages."""
    builder = StateGraph(MessagesState)
    builder.add_node("node", node)
    builder.add_edge(START, "node")
    return builder.compile(checkpointer=saver or InMemorySaver(), **compiling)


def to_lc(messages: Sequence[Message]) -> list[BaseMessage]:
    return [
        (HumanMessage if message.role is Role.USER else AIMessage)(content="".join(texts(message.parts)))
        for message in messages
    ]


def agent_of(graph: Graph | GraphSource, **options: Any) -> LangGraphAgent:
    return LangGraphAgent(graph, prefill_to_lc=to_lc, **options)


def history(*said: str) -> tuple[Message, ...]:
    """A host's history, user and agent in turn."""
    roles = (Role.USER, Role.AGENT)
    return tuple(
        Message(message_id=f"h{place}", role=roles[place % 2], parts=(Text.of(text),))
        for place, text in enumerate(said)
    )


def turn(
    text: str | None = None,
    *,
    data: Sequence[Any] = (),
    task: str = "task",
    thread: str = "thread",
    message_id: str = "m",
    past: Sequence[Message] = (),
    answers: bool = False,
) -> Turn:
    parts: tuple[Part, ...] = tuple(Data(data=each) for each in data)
    if text is not None:
        parts = (Text.of(text), *parts)
    return Turn(
        task_id=task,
        context_id=thread,
        thread_id=thread,
        session_id=thread,
        message=Message(message_id=message_id, role=Role.USER, parts=parts),
        prompt=text or "",
        prefill=tuple(past),
        history_received=len(past),
        answers=answers,
    )


async def events_of(agent: LangGraphAgent, taken: Turn) -> list[AgentEvent]:
    async with aclosing(agent.run(taken)) as events:
        return [event async for event in events]


async def until(events: AsyncGenerator[AgentEvent], wanted: type[Any]) -> None:
    """Read on until an event of this kind has come."""
    async for event in events:
        if isinstance(event, wanted):
            return
    raise AssertionError(f"no {wanted.__name__} came")


def spoken(events: Sequence[AgentEvent]) -> str:
    """The text that the deltas leave, as the run service puts it together."""
    said = ""
    for event in events:
        if isinstance(event, Delta):
            said = event.text if event.restart else said + event.text
    return said


def shown(events: Sequence[AgentEvent]) -> str:
    """The text that a reader of the stream has after the deltas."""
    buffer = AnswerBuffer("")
    for event in events:
        if isinstance(event, Delta):
            buffer.add(event.text, restart=event.restart)
    return buffer.sent


def whole(events: Sequence[AgentEvent]) -> str | None:
    """The text of the end."""
    assert isinstance(events[-1], Complete)
    return events[-1].text


def asked(events: Sequence[AgentEvent]) -> Interrupt:
    assert isinstance(events[-1], Interrupt)
    return events[-1]


def progress(events: Sequence[AgentEvent]) -> list[str]:
    return [event.text for event in events if isinstance(event, Progress)]


def started(events: Sequence[AgentEvent]) -> Started:
    assert isinstance(events[0], Started)
    return events[0]


def config_of(thread: str = "thread") -> Any:
    return {"configurable": {"thread_id": thread}}


async def messages_of(graph: Graph, thread: str = "thread") -> list[BaseMessage]:
    snapshot = await graph.aget_state(config_of(thread))
    return list(snapshot.values.get("messages", []))
