"""How a turn goes into a graph's state, and how its answer is read out of it.

Most graphs keep a list of messages under `messages`. For others, and for an answer that lies elsewhere, a mapping names
the keys; nothing is guessed.
"""

from collections.abc import Container, Sequence
from typing import Any

import msgspec
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langgraph.graph.state import CompiledStateGraph

from llamon_agent.adapters.langgraph.content import files_in
from llamon_agent.adapters.langgraph.hitl.questions import json_safe
from llamon_agent.adapters.langgraph.thread import MESSAGES, Graph, said_in
from llamon_agent.domain.errors import AgentError, ConfigError
from llamon_agent.domain.message import Raw, Url

STRUCTURED = "structured_response"
"""The state key of a structured answer. Source: langchain create_agent(response_format=...)."""


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
            f"The target {target!r}: this graph does not take and give 'messages'; in a configuration file, "
            "set agents.<name>.langgraph.input_key to the state key that takes the prompt, "
            "and agents.<name>.langgraph.output_key to the one that holds the answer."
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
    """The input of a turn, whose last message is the current one.

    Raises: AgentError: the graph takes text, and the message has files.
    """
    if mapping.input_key is None:
        return {MESSAGES: list(messages)}
    if not isinstance(messages[-1].content, str):
        raise AgentError("This agent takes text and data only; send no files.")
    return {mapping.input_key: messages[-1].content}


class GraphResult(msgspec.Struct, frozen=True, kw_only=True):
    """What a run has come to.

    Shape: text is the whole answer, None where the state holds none; files are those of the answer's message; data is
           the structured response, UNSET where the run made none.
    """

    text: str | None = None
    files: tuple[Raw | Url, ...] = ()
    data: Any = msgspec.UNSET


def result_of_run(mapping: StateMapping, before: Any, after: Any) -> GraphResult:
    """The outcome of a run, from the state at its start and at its end."""
    data = _structured(before, after)
    if mapping.output_key is not None:
        answer = after.get(mapping.output_key) if isinstance(after, dict) else None
    else:
        answer = _answer(before, after)
    text = _told(answer)
    if data is not msgspec.UNSET and isinstance(answer, ToolMessage):
        text = _told(data)  # it was made by a call of a tool, whose result only says that it was
    return GraphResult(text=text, files=tuple(files_in(answer)) if isinstance(answer, BaseMessage) else (), data=data)


def _structured(before: Any, after: Any) -> Any:
    """What the run wrote under the structured response's key, as JSON.

    A thread keeps the one of an earlier turn, which is then the same object, and not merely an equal one.
    """
    made = after.get(STRUCTURED) if isinstance(after, dict) else None
    is_old = isinstance(before, dict) and before.get(STRUCTURED) is made
    return msgspec.UNSET if made is None or is_old else json_safe(made)


def _answer(before: Any, after: Any) -> BaseMessage | None:
    """The last AI message that the run added or changed.

    If that one only called tools and the graph ended on a result (a tool with return_direct), the result is the answer,
    as everybody reads it off the last message.
    """
    known = {message.id: message.content for message in said_in(before)}
    added = [message for message in said_in(after) if message.id not in known or known[message.id] != message.content]
    answer = next((message for message in reversed(added) if isinstance(message, AIMessage)), None)
    if isinstance(answer, AIMessage) and answer.tool_calls and not answer.text and isinstance(added[-1], ToolMessage):
        return added[-1]
    return answer


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
