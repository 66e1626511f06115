"""Agents that say what a test has put into SAID, in each of the ways in which an agent can say something."""

from collections.abc import AsyncIterator
from typing import Any, TypedDict

from langgraph.graph import START, StateGraph
from langgraph.runtime import Runtime
from langgraph.types import interrupt
from tests.properties.odd_values import SAID

WAYS = ("data", "text", "chunks", "progress", "artifact", "id", "name", "key", "file", "ask", "reply", "reject")
NODES = ("state", "return", "interrupt", "store", "store key", "namespace")


async def says(prompt: str) -> AsyncIterator[Any]:
    value = SAID[0]
    text = value if isinstance(value, str) else "plain"
    match prompt:
        case "data":
            yield value
        case "text":
            yield {"output": text}
        case "chunks":
            for char in text[:40]:
                yield {"delta": char}
        case "progress":
            yield {"progress": text}
        case "artifact":
            yield {"artifact": {"parts": [{"data": value, "metadata": {"value": value}}], "metadata": {"value": value}}}
        case "id":
            yield {"artifact": {"id": text, "parts": [{"text": text}]}}
        case "name":
            yield {"artifact": {"name": text, "description": text, "parts": [{"url": text, "media_type": text}]}}
        case "key":
            yield {"artifact": {"parts": [{"data": {text: {text: 1}}}], "metadata": {text: 1}}}
        case "file":
            yield {"artifact": {"parts": [{"bytes": value, "filename": text}]}}
        case "ask":
            yield {"interrupt": value}
        case "reply":
            yield {"reply": {"parts": [{"data": value}], "metadata": {"value": value}}}
        case "reject":
            yield {"reject": text}
        case _:
            yield "fine"


class State(TypedDict, total=False):
    q: str
    kept: Any
    out: Any


async def node(state: State, runtime: Runtime) -> dict[str, Any]:
    value = SAID[0]
    text = value if isinstance(value, str) else "plain"
    assert runtime.store is not None
    match state["q"]:
        case "state":
            return {"out": "kept", "kept": value}
        case "return":
            return {"out": value}
        case "interrupt":
            return {"out": interrupt(value)}
        case "store":
            await runtime.store.aput(("names",), "key", {"value": value})
            return {"out": repr(await runtime.store.aget(("names",), "key") is not None)}
        case "store key":
            await runtime.store.aput(("names",), text, {"value": 1})
            return {"out": str(await runtime.store.aget(("names",), text) is not None)}
        case "namespace":
            await runtime.store.aput((text,), "key", {"value": 1})
            return {"out": str(len(await runtime.store.asearch((text,))))}
    return {"out": "fine"}


def _graph() -> Any:
    builder = StateGraph(State)
    builder.add_node("node", node)
    builder.add_edge(START, "node")
    return builder.compile()


graph = _graph()
