"""The agents that are killed: graphs with several nodes and effects, one that asks, one that streams slowly, and a
custom one. What each of them says and does is in `said`.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage, ToolCall, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.tools import tool
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from langgraph.types import interrupt
from tests.crash.effects import cause, cause_blocking
from tests.crash.said import answer_to, words_of
from typing_extensions import override


def heard(messages: Sequence[BaseMessage]) -> list[str]:
    """The tokens of a thread."""
    return [str(message.text) for message in messages if isinstance(message, HumanMessage)]


class Speaker(BaseChatModel):
    """A model that says what `said` tells, word by word."""

    agent: str
    pause_s: float = 0.002

    @property
    @override
    def _llm_type(self) -> str:
        return "speaker"

    @override
    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        message = AIMessage(answer_to(self.agent, heard(messages)))
        return ChatResult(generations=[ChatGeneration(message=message)])

    @override
    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        for word in answer_to(self.agent, heard(messages)).split(" "):
            space = "" if word == "heard" else " "
            yield ChatGenerationChunk(message=AIMessageChunk(content=space + word))
            await asyncio.sleep(self.pause_s)


Said = dict[str, list[AIMessage]]


def _speaking(agent: str, pause_s: float = 0.002) -> Any:
    model = Speaker(agent=agent, pause_s=pause_s)

    async def speak(state: MessagesState) -> Said:
        return {"messages": [await model.ainvoke(state["messages"])]}

    return speak


def _doing(step: str) -> Any:
    async def do(state: MessagesState) -> None:
        await cause(heard(state["messages"])[-1], step)

    return do


def _chain(*nodes: tuple[str, Any]) -> Any:
    """A graph whose nodes follow each other."""
    builder = StateGraph(MessagesState)
    before = START
    for name, node in nodes:
        builder.add_node(name, node)
        builder.add_edge(before, name)
        before = name
    return builder.compile()


def _ask(state: MessagesState) -> None:
    interrupt({"question": f"Carry out {heard(state['messages'])[-1]}?", "options": ["approve", "reject"]})


@tool
async def note(token: str) -> str:
    """Note a token down, on the event loop."""
    await cause(token, "note")
    return "noted"


@tool
def file(token: str) -> str:
    """File a token, in a thread."""
    cause_blocking(token, "file")
    return "filed"


@tool
async def carry(token: str) -> str:
    """Carry a token away."""
    await cause(token, "carry")
    return "carried"


def _looping() -> Any:
    """A model and its tools: two calls at once, then one, then the answer."""
    model = Speaker(agent="tools")

    async def decide(state: MessagesState) -> Said:
        messages = state["messages"]
        token = heard(messages)[-1]
        since = messages[max(n for n, each in enumerate(messages) if isinstance(each, HumanMessage)) :]
        match sum(isinstance(each, ToolMessage) for each in since):
            case 0:
                return {"messages": [_calling(token, "note", "file")]}
            case 2:
                return {"messages": [_calling(token, "carry")]}
        return {"messages": [await model.ainvoke(messages)]}

    builder = StateGraph(MessagesState)
    builder.add_node("decide", decide)
    builder.add_node("tools", ToolNode([note, file, carry]))
    builder.add_edge(START, "decide")
    builder.add_conditional_edges("decide", tools_condition)
    builder.add_edge("tools", "decide")
    return builder.compile()


def _calling(token: str, *names: str) -> AIMessage:
    return AIMessage(
        "", tool_calls=[ToolCall(name=name, args={"token": token}, id=f"{token}-{name}") for name in names]
    )


steps = _chain(
    ("first", _doing("first")),
    ("second", _doing("second")),
    ("third", _doing("third")),
    ("speak", _speaking("steps")),
)
asking = _chain(
    ("prepare", _doing("prepare")),
    ("ask", _ask),
    ("carry_out", _doing("carry_out")),
    ("speak", _speaking("asking")),
)
slow = _chain(("speak", _speaking("slow", pause_s=0.01)))
tools = _looping()


async def plain(prompt: str) -> AsyncIterator[str]:
    """A custom agent; it has no memory."""
    yield f"heard {prompt};"
    await cause(prompt, "only")
    for word in words_of("plain", prompt).split(" "):
        yield f" {word}"
        await asyncio.sleep(0.002)
