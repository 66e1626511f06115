"""How a turn goes into a graph's state, and how its answer is read out of it.

Most graphs keep a list of messages under `messages`. For others, and for an answer that lies elsewhere, a mapping names
the keys; nothing is guessed.
"""

from collections.abc import Container, Sequence
from typing import Any

import msgspec
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langgraph.graph.state import CompiledStateGraph

from llamon_agent.adapters.langgraph.interrupts import json_safe
from llamon_agent.adapters.langgraph.thread import MESSAGES, Graph, messages_in
from llamon_agent.domain.errors import ConfigError


class StateMapping(msgspec.Struct, frozen=True, kw_only=True):
    """Which keys of the state a turn uses.

    Shape: input_key gets the prompt as text, None: the messages get it as a human message; output_key holds the answer,
           text or any value that is then told as JSON, None: the last AI message is the answer.
    """

    input_key: str | None = None
    output_key: str | None = None


def check_state(graph: Graph, mapping: StateMapping, target: str) -> None:
    """Refuse a graph that could not be talked to, at start. Raises: ConfigError."""
    takes = _input_keys(graph)
    if (mapping.input_key is None and MESSAGES not in takes) or (
        mapping.output_key is None and MESSAGES not in graph.channels
    ):
        raise ConfigError(
            f"The target {target!r}: this graph does not take and give 'messages'; set both keys of the mapping: "
            "input_key, the state key that takes the prompt, and output_key, the one that holds the answer."
        )
    if mapping.input_key is not None and mapping.input_key not in takes:
        raise ConfigError(
            f"The target {target!r}: input_key is '{mapping.input_key}', but the input of this graph has no such key."
        )
    if mapping.output_key is not None and mapping.output_key not in graph.channels:
        raise ConfigError(
            f"The target {target!r}: output_key is '{mapping.output_key}', but the state of this graph has no such key."
        )


def state_in(mapping: StateMapping, messages: Sequence[BaseMessage]) -> dict[str, Any]:
    """The input of a turn, whose last message is the current one."""
    if mapping.input_key is None:
        return {MESSAGES: list(messages)}
    return {mapping.input_key: str(messages[-1].text)}


def answer_out(mapping: StateMapping, before: Any, after: Any) -> str | None:
    """The answer of a run, from the state at its start and at its end; None where the state holds none.

    Shape: the text of the last AI message that the run added or changed. If that one only called tools and the graph
           ended on a result (a tool with return_direct), the result is the answer, as everybody reads it off the last
           message.
    """
    if mapping.output_key is not None:
        return _told(after.get(mapping.output_key)) if isinstance(after, dict) else None
    known = {message.id: message.content for message in messages_in(before)}
    added = [
        message for message in messages_in(after) if message.id not in known or known[message.id] != message.content
    ]
    answer = next((message for message in reversed(added) if isinstance(message, AIMessage)), None)
    if isinstance(answer, AIMessage) and answer.tool_calls and not answer.text and isinstance(added[-1], ToolMessage):
        return str(added[-1].text)
    return None if answer is None else str(answer.text)


def human(content: str | list[str | dict[str, Any]], wanted_id: str, thread: Sequence[BaseMessage]) -> HumanMessage:
    """The current message, under an id that the thread does not have yet.

    A message with an id that the thread knows would replace the old one in its place (langgraph add_messages), and
    hosts reuse their message ids.
    """
    taken = {message.id for message in thread}
    new_id, count = wanted_id, 1
    while new_id in taken:
        count += 1
        new_id = f"{wanted_id}:{count}"
    return HumanMessage(content=content, id=new_id)


def _input_keys(graph: Graph) -> Container[str]:
    """What a graph takes, which may be less than its state holds."""
    return (
        graph.builder.schemas[graph.builder.input_schema] if isinstance(graph, CompiledStateGraph) else graph.channels
    )


def _told(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return str(value.text) if isinstance(value, BaseMessage) else msgspec.json.encode(json_safe(value)).decode()
