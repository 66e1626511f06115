"""Graphs of the functional API, for test_entrypoints.py."""

from dataclasses import dataclass
from typing import Any, TypedDict

from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage
from langgraph.func import entrypoint, task
from langgraph.runtime import Runtime
from langgraph.types import interrupt
from pydantic import BaseModel
from tests.unit.adapters.langgraph.scripted import streaming

calls: list[str] = []


@task
async def spoken(text: str) -> AIMessage:
    calls.append(text)
    said: AIMessage = await streaming(f"You said {text}").ainvoke("x")
    return said


@entrypoint()
async def text(topic: str) -> str:
    return f"about {topic}"


@entrypoint()
def same(topic: str | None) -> str:
    """Not async, and its answer is always the same."""
    return "the same"


@entrypoint()
async def counts(word: str, *, previous: int | None = None) -> entrypoint.final[str, int]:
    count = (previous or 0) + 1
    if word == "break":
        raise ValueError("secret")
    return entrypoint.final(value=f"{count}: {word}", save=count)


@entrypoint()
async def talks(messages: list[BaseMessage], *, previous: list[BaseMessage] | None = None) -> Any:
    """Returns and keeps the whole conversation."""
    so_far = [*(previous or []), *messages]
    said = ", ".join(str(each.text) for each in so_far if isinstance(each, HumanMessage))
    return [*so_far, await spoken(said)]


@entrypoint()
async def bare(messages):  # type: ignore[no-untyped-def]
    return await spoken(messages[-1].text)


@entrypoint()
async def reworded(question: str) -> str:
    """Streams a model's text that is not its answer."""
    await spoken(question)
    return "in other words"


class Conversation(TypedDict):
    messages: list[AnyMessage]


@entrypoint()
async def state(given: Conversation) -> dict[str, Any]:
    return {"messages": [AIMessage(f"heard {given['messages'][-1].text}")], "score": 3}


@entrypoint()
async def mapping(inputs: dict[str, Any]) -> dict[str, Any]:
    return {"answer": inputs["topic"] if "topic" in inputs else inputs["messages"][-1].text, "count": len(inputs)}


@entrypoint()
async def anything(inputs):  # type: ignore[no-untyped-def]
    return {"got": type(inputs).__name__, "twice": inputs * 2}


@dataclass
class Order:
    item: str
    count: int = 1
    thread_id: str = ""


@dataclass
class Bill:
    total: int
    text: str


@entrypoint()
async def order(wanted: Order) -> Bill:
    assert wanted.thread_id
    return Bill(total=wanted.count * 2, text=f"{wanted.count} {wanted.item}")


class Strict(BaseModel):
    item: str
    count: int


@entrypoint()
async def strict(wanted: Strict) -> Strict:
    return wanted.model_copy(update={"count": wanted.count + 1})


@entrypoint()
async def number(text: str) -> int:
    return len(text)


@entrypoint()
async def nothing(text: str) -> None:
    return None


@entrypoint()
async def asks(text: str, *, runtime: Runtime[None]) -> str:
    said = await spoken(text)
    city = interrupt("Which city?")
    assert runtime.store is not None
    await runtime.store.aput(("cities",), city, {"name": city})
    kept = await runtime.store.asearch(("cities",))
    return f"{said.text} in {city}, {len(kept)} kept, {calls.count(text)} call"
