"""Every form of a factory that LangGraph's own server takes, and the functional API."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage
from langchain_core.runnables import RunnableConfig
from langgraph.func import entrypoint, task
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import interrupt
from langgraph_sdk.runtime import ServerRuntime


def _saying(word: str) -> Any:
    async def node(state: MessagesState) -> dict[str, Any]:
        heard = ", ".join(str(message.content) for message in state["messages"] if message.type == "human")
        return {"messages": [AIMessage(f"{word}: {heard}")]}

    return StateGraph(MessagesState).add_node("node", node).add_edge(START, "node")


def plain() -> Any:
    return _saying("plain").compile()


def uncompiled() -> Any:
    return _saying("uncompiled")


def of_config(config: RunnableConfig) -> Any:
    """Built for each run: a look has no thread."""
    thread = "thread_id" in config.get("configurable", {})
    return _saying("with a thread" if thread else "without a thread").compile()


def of_execution(config: RunnableConfig) -> Any:
    """A placeholder where it is only looked at."""
    runs = config.get("configurable", {}).get("__is_for_execution__")
    return _saying("for a run" if runs else "placeholder").compile()


def of_runtime(runtime: ServerRuntime[None]) -> Any:
    return _saying(f"runtime {runtime.access_context}").compile()


def of_both(config: RunnableConfig, runtime: ServerRuntime[None]) -> Any:
    return _saying(f"both {runtime.access_context}").compile()


@asynccontextmanager
async def managed(config: RunnableConfig) -> AsyncIterator[Any]:
    yield _saying("managed").compile()


@task
async def shout(text: str) -> str:
    return text.upper()


@entrypoint()
async def functional_text(text: str) -> str:
    return f"text {await shout(text)}"


@entrypoint()
async def functional_asks(text: str) -> str:
    return f"{await shout(text)} in {interrupt('Which city?')}"


@entrypoint()
async def functional_messages(
    messages: list[AnyMessage], *, previous: list[AnyMessage] | None = None
) -> entrypoint.final[AnyMessage, list[AnyMessage]]:
    """Keeps the conversation by `previous`."""
    heard = [*(previous or []), *messages]
    text = ", ".join(str(message.content) for message in heard)
    return entrypoint.final(value=AIMessage(f"heard: {text}"), save=heard)
