"""A LangGraph agent that needs no key and no network: the README's agent, and a pattern for your own.

It is an ordinary graph: a model node, a tool node, and an edge back. Only the model is unusual: it is scripted, but it
does read its messages, so it remembers earlier ones, also those of a history that a host has seeded. Try:

    my number is 42             what is my number?
    the code word is apple      what was the code word?
    delete report.txt           asks for your approval first
    research llamas             takes a moment, and reports its progress
    count slowly to 40          takes some seconds, and can be canceled, or killed and started again
    fail                        to see what a failed task looks like

Serve it with `llamon serve examples/demo_agent.py:graph`.
"""

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool, tool
from langgraph.config import get_stream_writer
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from langgraph.types import interrupt
from typing_extensions import override

STEP_S = 0.2
"""How long one step of slow work takes, in seconds."""


@tool
def delete_file(name: str) -> str:
    """Delete a file, once a person has approved it."""
    answer = interrupt({"question": f"Delete {name}?", "options": ["approve", "reject"]})
    return f"{name} is deleted." if answer == "approve" else f"{name} is kept, as you rejected it."


@tool
async def research(topic: str) -> str:
    """Look into a topic, slowly and in steps."""
    write = get_stream_writer()
    for number, step in enumerate(("Searching", "Reading", "Comparing", "Checking", "Writing"), start=1):
        write(f"{step} … ({number} of 5)")
        await asyncio.sleep(STEP_S)
    return f"Everything there is to know about {topic}: it is worth knowing."


@tool
async def count(to: int) -> str:
    """Count slowly."""
    write = get_stream_writer()
    for number in range(1, to + 1):
        write({"progress": f"{number} of {to}"})
        await asyncio.sleep(STEP_S)
    return f"I have counted to {to}."


TOOLS: list[BaseTool] = [delete_file, research, count]

_DELETE = re.compile(r"(?:delete|remove) +(?P<name>\S+)|(?P<korean>\S+?)(?:을|를)? *(?:삭제|지워)\S*")
_RESEARCH = re.compile(r"research +(?P<topic>.+)")
_COUNT = re.compile(r"count slowly(?: to (?P<to>\d{1,3}))?")
_NUMBER = re.compile(r"(?:remember|my number is|number is|내 숫자는|숫자는) *(?P<told>-?\d+)")
_CODE_WORD = re.compile(r"(?:the|my) code word is +(?P<told>\w+)|암호는 *(?P<korean>\w+?)(?:이야|야|입니다|$)")
_ASKS_NUMBER = re.compile(r"(?:what|which)\b.*\bnumber|숫자가? *(?:뭐|무엇)")
_ASKS_CODE_WORD = re.compile(r"(?:what|which)\b.*\bcode word|암호가? *(?:뭐|무엇)")


class ScriptedModel(BaseChatModel):
    """A chat model that follows a script, streams word by word, and knows nothing but its messages."""

    @property
    @override
    def _llm_type(self) -> str:
        return "scripted"

    @override
    def bind_tools(
        self, tools: Sequence[dict[str, Any] | type | Callable[..., Any] | BaseTool], **kwargs: Any
    ) -> Runnable[LanguageModelInput, AIMessage]:
        """The script knows its tools by name, so there is nothing to bind."""
        return self

    @override
    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=reply_to(messages))])

    @override
    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        reply = reply_to(messages)
        if reply.tool_calls:
            yield ChatGenerationChunk(message=AIMessageChunk(content="", tool_calls=reply.tool_calls))
        for word in re.findall(r"\S+\s*", str(reply.text)):
            await asyncio.sleep(0)
            yield ChatGenerationChunk(message=AIMessageChunk(content=word))


def reply_to(messages: Sequence[BaseMessage]) -> AIMessage:
    """The script: what to say or do after these messages."""
    last = messages[-1]
    if isinstance(last, ToolMessage):
        return AIMessage(str(last.text))
    said = str(last.text).strip()
    lower = said.lower().rstrip("?!. ")
    if lower == "fail":
        raise RuntimeError("the demo agent fails when asked to")
    if call := _tool_call(lower, call_id=f"call-{len(messages)}"):
        return AIMessage("", tool_calls=[call])
    return AIMessage(_words(said, lower, messages[:-1]))


def _tool_call(said: str, call_id: str) -> Any:
    if found := _DELETE.fullmatch(said):
        return {"name": "delete_file", "args": {"name": found["name"] or found["korean"]}, "id": call_id}
    if found := _RESEARCH.fullmatch(said):
        return {"name": "research", "args": {"topic": found["topic"]}, "id": call_id}
    if found := _COUNT.fullmatch(said):
        return {"name": "count", "args": {"to": int(found["to"] or 5)}, "id": call_id}
    return None


def _words(said: str, lower: str, before: Sequence[BaseMessage]) -> str:
    if _ASKS_NUMBER.search(lower):
        number = _told(_NUMBER, before)
        return f"Your number is {number}." if number else "You never told me a number."
    if _ASKS_CODE_WORD.search(lower):
        word = _told(_CODE_WORD, before)
        return f"The code word was {word}." if word else "You never told me a code word."
    if number := _found(_NUMBER, lower):
        return f"I will remember that your number is {number}."
    if word := _found(_CODE_WORD, lower):
        return f"I will remember that the code word is {word}."
    if lower in {"안녕", "안녕하세요"}:
        return "안녕하세요! 무엇을 도와드릴까요?"
    return f"You said: {said}" if said else "You said nothing, so I have nothing to repeat."


def _told(pattern: re.Pattern[str], messages: Sequence[BaseMessage]) -> str | None:
    """What was said last, by the person or in an answer to them."""
    texts = [str(message.text).lower() for message in messages if isinstance(message, HumanMessage | AIMessage)]
    return next((told for text in reversed(texts) if (told := _found(pattern, text))), None)


def _found(pattern: re.Pattern[str], text: str) -> str | None:
    found = pattern.search(text)
    return next((group for group in found.groups() if group), None) if found else None


model = ScriptedModel().bind_tools(TOOLS)


async def answer(state: MessagesState) -> dict[str, list[AIMessage]]:
    """The model node."""
    return {"messages": [await model.ainvoke(state["messages"])]}


builder = StateGraph(MessagesState)
builder.add_node("answer", answer)
builder.add_node("tools", ToolNode(TOOLS))
builder.add_edge(START, "answer")
builder.add_conditional_edges("answer", tools_condition)
builder.add_edge("tools", "answer")

graph = builder.compile(name="demo")
"""The graph, without a checkpointer: the server brings one."""
