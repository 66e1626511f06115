"""Requests of OpenAI (chat completions, responses), Anthropic and Ollama, as one value.

Source: their API references; optional keys are read where LangChain's packages write them.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from tests.graphs.stub.turns import ANY, Asked, Tool, texts_of

Request = Mapping[str, Any]

_KEYS = ("query", "answer", "rationale")
ANY_OBJECT = {"properties": {key: {"type": "string"} for key in _KEYS}, "required": _KEYS}
"""Where only JSON is asked for, the prompt says which: these are often among it."""


def read_chat(request: Request) -> Asked:
    """OpenAI's chat completions, and Ollama's chat, whose schema is `format`."""
    users, called = _conversation(request["messages"], _chat_calls)
    wanted = request.get("response_format") or {}
    schema = wanted.get("json_schema", {}).get("schema") or (
        ANY_OBJECT if wanted.get("type") == "json_object" else None
    )
    if (form := request.get("format")) is not None:
        schema = form if isinstance(form, dict) else ANY_OBJECT
    tools = [_tool(each["function"], "parameters") for each in request.get("tools") or () if "function" in each]
    return _asked(users, called, tools, request.get("tool_choice"), schema)


def read_responses(request: Request) -> Asked:
    """OpenAI's responses."""
    given = request["input"]
    messages = [{"role": "user", "content": given}] if isinstance(given, str) else given
    users, called = _conversation(messages, _response_calls)
    wanted = (request.get("text") or {}).get("format") or {}
    schema = wanted.get("schema") or (ANY_OBJECT if wanted.get("type") == "json_object" else None)
    tools = [_tool(each, "parameters") for each in request.get("tools") or () if each.get("type") == "function"]
    return _asked(users, called, tools, request.get("tool_choice"), schema)


def read_anthropic(request: Request) -> Asked:
    """Anthropic's messages; a message with the results of tools is none of the user's."""
    users, called = _conversation(request["messages"], _anthropic_calls)
    wanted = (request.get("output_config") or {}).get("format") or request.get("output_format") or {}
    tools = [_tool(each, "input_schema") for each in request.get("tools") or () if "input_schema" in each]
    return _asked(users, called, tools, request.get("tool_choice"), wanted.get("schema"))


def _conversation(messages: Iterable[Request], calls: Callable[[Request], list[str]]) -> tuple[list[str], list[str]]:
    users: list[str] = []
    called: list[str] = []
    for message in messages:
        if message.get("role") == "user" and not _is_result(message):
            users += texts_of(message.get("content"))
            called = []
        called += calls(message)
    return users, called


def _is_result(message: Request) -> bool:
    content = message.get("content")
    return isinstance(content, list) and any(_kind(part) == "tool_result" for part in content)


def _kind(part: Any) -> str:
    return part.get("type", "") if isinstance(part, dict) else ""


def _chat_calls(message: Request) -> list[str]:
    return [call["function"]["name"] for call in message.get("tool_calls") or ()]


def _response_calls(message: Request) -> list[str]:
    return [message["name"]] if message.get("type") == "function_call" else []


def _anthropic_calls(message: Request) -> list[str]:
    content = message.get("content")
    return [part["name"] for part in content if _kind(part) == "tool_use"] if isinstance(content, list) else []


def _tool(described: Request, key: str) -> Tool:
    return Tool(described["name"], described.get(key) or {})


def _asked(users: list[str], called: list[str], tools: list[Tool], choice: Any, schema: Any) -> Asked:
    if choice == "none" or (isinstance(choice, dict) and choice.get("type") == "none"):
        tools = []
    return Asked(users, called, tools, _forced(choice), schema)


def _forced(choice: Any) -> str | None:
    match choice:
        case "required" | "any" | {"type": "any"}:
            return ANY
        case {"function": {"name": str(name)}} | {"name": str(name)}:
            return name
        case _:
            return None
