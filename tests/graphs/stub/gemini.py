"""Google's Gemini API over REST: a request as one value, and what the model says in it.

Source: https://ai.google.dev/api/generate-content (contents, tools, toolConfig, generationConfig, candidates).
"""

import json
from collections.abc import Iterator, Mapping
from itertools import count
from typing import Any

from tests.graphs.stub.reading import ANY_OBJECT
from tests.graphs.stub.turns import ANY, Asked, Call, Say, Tool, texts_of
from tests.graphs.stub.writing import Said, pieces

Request = Mapping[str, Any]

_number = count(1)


def read_gemini(request: Request) -> Asked:
    """Of generateContent and streamGenerateContent; a content with results of functions is none of the user's."""
    users: list[str] = []
    called: list[str] = []
    for content in request["contents"]:
        parts = content["parts"]
        if content.get("role", "user") == "user" and not any("functionResponse" in part for part in parts):
            users += texts_of(parts)
            called = []
        called += [part["functionCall"]["name"] for part in parts if "functionCall" in part]
    forced, allowed = _choice(request)
    tools = [tool for tool in _tools(request) if not allowed or tool.name in allowed]
    return Asked(users, called, [] if forced == "NONE" else tools, ANY if forced == "ANY" else None, _schema(request))


def _choice(request: Request) -> tuple[str, list[str]]:
    """The mode, and the names of the functions that may be called: all, if there are none."""
    choice = request.get("toolConfig", {}).get("functionCallingConfig", {})
    return choice.get("mode", "AUTO"), choice.get("allowedFunctionNames") or []


def _tools(request: Request) -> list[Tool]:
    """The functions; searches and the like are Google's to run."""
    described = [each for tool in request.get("tools") or () for each in tool.get("functionDeclarations") or ()]
    return [
        Tool(each["name"], each.get("parametersJsonSchema") or _json_schema(each.get("parameters") or {}))
        for each in described
    ]


def _schema(request: Request) -> Any:
    wanted = request.get("generationConfig") or {}
    if schema := wanted.get("responseJsonSchema"):
        return schema
    if schema := wanted.get("responseSchema"):
        return _json_schema(schema)
    return ANY_OBJECT if wanted.get("responseMimeType") == "application/json" else None


def _json_schema(schema: Any) -> Any:
    """Google's schema as a JSON Schema: its types are in capitals."""
    if isinstance(schema, list):
        return [_json_schema(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: value.lower() if key == "type" and isinstance(value, str) else _json_schema(value)
        for key, value in schema.items()
    }


def whole_gemini(said: Said) -> str:
    return json.dumps(_response([_part(said)], last=True))


def stream_gemini(said: Said) -> Iterator[str]:
    """The events of streamGenerateContent?alt=sse, each a whole response."""
    if isinstance(said, Say):
        yield from (_event(_response([{"text": piece}], last=False)) for piece in pieces(said.text))
        yield _event(_response([{"text": ""}], last=True))
    else:
        yield _event(_response([_part(said)], last=True))


def _event(body: Any) -> str:
    return f"data: {json.dumps(body)}\r\n\r\n"


def _part(said: Said) -> dict[str, Any]:
    match said:
        case Say(text):
            return {"text": text}
        case Call(name, arguments):
            return {"functionCall": {"name": name, "args": dict(arguments)}}


def _response(parts: list[dict[str, Any]], *, last: bool) -> dict[str, Any]:
    ending = {"finishReason": "STOP", "groundingMetadata": _grounding()} if last else {}
    candidate = {"content": {"role": "model", "parts": parts}, "index": 0, **ending}
    usage = {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}
    body = {"candidates": [candidate], "modelVersion": "stub", "responseId": f"r{next(_number)}"}
    return body | ({"usageMetadata": usage} if last else {})


def _grounding() -> dict[str, Any]:
    """The page that a text comes from. Gemini says it where it has searched."""
    support = {"segment": {"startIndex": 0, "endIndex": 3, "text": "You"}, "groundingChunkIndices": [0]}
    chunk = {"web": {"uri": "https://example.com/", "title": "example.com"}}
    return {"webSearchQueries": ["a page"], "groundingChunks": [chunk], "groundingSupports": [support]}
