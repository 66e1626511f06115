"""A remote A2A agent as a node of a LangGraph graph.

Theory. A node that asks runs again from its top when it is answered, so one node must not both send and ask: the first
message would go out twice. Hence this node is a small graph of its own, in which each step does one thing, and what a
step has done is saved before the next one begins:

    send ──▶ ask (one for each question) ──▶ answer ──▶ ask again, or the end

- Its state is kept per thread, next to that of the graph around it (`checkpointer=True`). So the remote task survives a
  restart between question and answer, and a question that was dropped is known by the next turn, which cancels the
  remote task first if that has not been done yet: else its message would be taken for the answer.
- Questions go up as they came, value and schema; answers go down as they came, by the question's id, to the same task.
- The remote conversation is named by the thread and by the node's place in the graph. Without a checkpointer there is
  none: each call has a context of its own, so that no message is ever taken for the answer to an earlier question.
"""

import asyncio
import hashlib
import operator
from collections.abc import AsyncGenerator, Collection, Sequence
from contextlib import aclosing, suppress
from inspect import signature
from typing import Annotated, Any, TypedDict

import msgspec
from langchain_core.messages import BaseMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.config import get_stream_writer
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Overwrite, Send, interrupt

from llamon_agent.client.answers import Answer, Begun, RemoteEvent
from llamon_agent.client.errors import (
    Busy,
    NobodyThere,
    NoSuchTask,
    NotA2A,
    RemoteError,
    TaskEnded,
    TaskFailed,
    Unkept,
)
from llamon_agent.client.langgraph.content import artifact_out, is_rich, message_of, parts_of, without_text
from llamon_agent.client.langgraph.forwarded_headers import ForwardedHeaders
from llamon_agent.client.langgraph.token_callbacks import TokenCallbacks
from llamon_agent.client.remote_agent import RemoteAgent
from llamon_agent.client.reply_bounds import MAX_REPLY_BYTES
from llamon_agent.domain.caller import Private
from llamon_agent.domain.events import Delta, Progress
from llamon_agent.domain.message import MAX_CONTEXT_ID_CHARS

_CANCEL_S = 5.0
"""How long a run that is being cancelled waits for the remote agent to cancel too."""

_TAKES_SCHEMA = "response_schema" in signature(interrupt).parameters
"""Whether a question may say what its answer must be; LangGraph before 1.2 knows no such thing."""

_CHECKPOINT_NS = "checkpoint_ns"
"""Where LangGraph keeps a step's way through the graphs: `node:task id` for each, the innermost last."""

_CHECKPOINTER = "__pregel_checkpointer"
"""Where LangGraph puts what a graph keeps its state in; None if it keeps none."""


class _Conversation(TypedDict):
    """What the node takes from the graph around it, and gives back: one AI message."""

    messages: list[Any]


class _State(_Conversation, total=False):
    """What is kept between the steps.

    Shape: waiting is the remote's last Answer, as builtins, while its task waits for ours; answers are by question id.
    """

    waiting: dict[str, Any] | None
    answers: Annotated[dict[str, Any], operator.or_]


def remote_agent_node(
    url: str,
    *,
    token: str | None = None,
    timeout_s: float = 600.0,
    max_reply_bytes: int = MAX_REPLY_BYTES,
    forward_headers: Collection[str] = (),
) -> CompiledStateGraph[_State, None, _Conversation, _Conversation]:
    """A node for `StateGraph.add_node` that asks the A2A agent at the URL.

    Shape:  takes the last human message of `messages`, with those before it as history, and appends the remote agent's
            answer to them. Async graphs only. forward_headers are the names of the request headers of the graph's
            caller that go on to the remote agent.
    Units:  timeout_s is how many seconds the remote agent may take, max_reply_bytes how large one event of its may be.
    Raises: ConfigError; and as a node RemoteError.
    """
    forwarded = ForwardedHeaders(forward_headers, has_token=token is not None)
    steps = _Steps(RemoteAgent(url, token=token, timeout_s=timeout_s, max_reply_bytes=max_reply_bytes), forwarded)
    graph = StateGraph(_State, input_schema=_Conversation, output_schema=_Conversation)
    graph.add_node("send", steps.send)
    graph.add_node("ask", _ask)  # type: ignore[arg-type] # what it is sent is a question, not the state
    graph.add_node("answer", steps.answer)
    graph.add_edge(START, "send")
    graph.add_conditional_edges("send", _questions, ["ask", END])
    graph.add_edge("ask", "answer")
    graph.add_conditional_edges("answer", _questions, ["ask", END])
    node = graph.compile(checkpointer=True)
    node.on_question_dropped = steps.on_question_dropped  # type: ignore[attr-defined] # where the LangGraph adapter looks for it
    return node


class _Steps:
    """The steps that talk to the remote agent. Shared by all threads; what is of a thread is in its state."""

    def __init__(self, agent: RemoteAgent, forwarded: ForwardedHeaders) -> None:
        self._agent = agent
        self._forwarded = forwarded

    async def send(self, state: _State, config: RunnableConfig) -> dict[str, Any]:
        """A new turn."""
        message, history = _turn(state["messages"])
        headers = self._forwarded.of_run(config)
        if (left := _waiting(state)) is not None and left.task_id is not None:
            with suppress(NoSuchTask, TaskEnded):
                await self._agent.cancel(left.task_id, headers=headers)
        stream = self._agent.stream(parts_of(message), context_id=context_of(config), history=history, headers=headers)
        return await self._follow(stream, config)

    async def answer(self, state: _State, config: RunnableConfig) -> dict[str, Any]:
        """The answers to what the remote task asks."""
        asked = _waiting(state)
        assert asked is not None  # only a question leads here
        values = {question.id: state["answers"][question.id] for question in asked.questions}
        value = values if len(values) > 1 else next(iter(values.values()))
        stream = self._agent.stream_answer(asked, value, headers=self._forwarded.of_run(config))
        try:
            return await self._follow(stream, config, asked)
        except (NobodyThere, Busy) as exc:  # the answer was not taken, so the question stands
            get_stream_writer()({"progress": f"{exc.public} Please answer again later."})
            return _waits(asked)

    async def on_question_dropped(self, state: _State) -> None:
        """The question is dropped, so the remote task will get no answer. No run goes on, so no header can."""
        if (waiting := _waiting(state)) is not None:
            await self._stop(waiting.task_id, Private())

    async def _follow(
        self, stream: AsyncGenerator[RemoteEvent], config: RunnableConfig, asked: Answer | None = None
    ) -> dict[str, Any]:
        """Pass a call's events on as they come; its answer becomes the step's."""
        task_id = asked.task_id if asked else None
        try:
            async with TokenCallbacks(config) as tokens, aclosing(stream) as events:
                async for event in events:
                    match event:
                        case Begun():
                            task_id = event.task_id
                        case Progress(text=text):
                            get_stream_writer()({"progress": text})
                        case Delta():
                            await tokens.add(event)
                        case Answer() if event.asks and not _keeps_state(config):
                            raise Unkept
                        case Answer():
                            return _outcome(event, asked, tokens.message_id)
        except (TaskFailed, NobodyThere, Busy):  # there is nothing to stop, or a question that stands
            raise
        except (asyncio.CancelledError, RemoteError):
            await self._stop(task_id, self._forwarded.of_run(config))
            raise
        raise NotA2A

    async def _stop(self, task_id: str | None, headers: Private[str]) -> None:
        """Cancel the remote task of a run that is being stopped or fails; wait only a short time for it."""
        if task_id is not None:
            with suppress(RemoteError, TimeoutError):
                async with asyncio.timeout(_CANCEL_S):
                    await self._agent.cancel(task_id, headers=headers)


def _outcome(answer: Answer, asked: Answer | None, message_id: str) -> dict[str, Any]:
    """What a step writes: the questions that wait now, or the message that ends the node."""
    write = get_stream_writer()
    if answer.asks:
        if asked is not None and answer.questions == asked.questions:
            write({"progress": answer.question})  # the same again, so the words say what was wrong with the answer
        return _waits(answer)
    known = asked.artifacts if asked else ()
    for artifact in answer.artifacts:
        if is_rich(artifact) and artifact not in known:
            write({"artifact": artifact_out(without_text(artifact))})
    return {"messages": [message_of(answer, message_id)], "waiting": None, "answers": Overwrite({})}


def _waits(asked: Answer) -> dict[str, Any]:
    """What a step writes to have the questions put."""
    return {"messages": [], "waiting": msgspec.to_builtins(asked), "answers": Overwrite({})}


async def _ask(question: dict[str, Any]) -> dict[str, Any]:
    """Put one question. The answer is bound to it, however many are put at once and whichever is answered first."""
    schema = {"response_schema": question.get("schema")} if _TAKES_SCHEMA else {}
    value = interrupt(question["value"], **schema)
    return {"answers": {question["id"]: value}}


def _questions(state: _State) -> list[Send] | str:
    """Where to go from a step: to each question that waits, or to the end."""
    waiting = state.get("waiting")
    return [Send("ask", question) for question in waiting["questions"]] if waiting else END


def _waiting(state: _State) -> Answer | None:
    waiting = state.get("waiting")
    return msgspec.convert(waiting, Answer) if waiting else None


def _turn(messages: Sequence[Any]) -> tuple[HumanMessage, list[BaseMessage]]:
    """The message to send, and the turns before it. Raises: RemoteError."""
    for place in range(len(messages) - 1, -1, -1):
        if isinstance(messages[place], HumanMessage):
            return messages[place], [each for each in messages[:place] if isinstance(each, BaseMessage)]
    raise RemoteError("There is no message for the remote agent.")


def _keeps_state(config: RunnableConfig) -> bool:
    """Whether a question can wait here for its answer."""
    return config.get("configurable", {}).get(_CHECKPOINTER) is not None


def context_of(config: RunnableConfig) -> str | None:
    """The remote context: the thread, and the names of the nodes on the way to this one; None where no thread is kept.

    Shape: the same for every turn of a thread, also after a restart, and another one for each node; hashed where it
           would be too long for a contextId of our edges.
    """
    configurable = config.get("configurable", {})
    thread_id = configurable.get("thread_id")
    if thread_id is None or not _keeps_state(config):
        return None
    steps = [step.partition(":")[0] for step in configurable.get(_CHECKPOINT_NS, "").split("|")[:-1]]
    name = "/".join([str(thread_id), *steps])
    return name if len(name) <= MAX_CONTEXT_ID_CHARS else hashlib.sha256(name.encode()).hexdigest()
