"""A model server that answers whatever it is asked, so that a graph that nobody here wrote runs to its end.

`tests.model_server` serves it: `model.says(improvise)`. A user's last words choose its moods: they hold `stub:slow` (a
first piece, then nothing until the client hangs up, or half a minute), `stub:429`, `stub:500` or `stub:cut` (the stream
breaks off). The last of them counts, and `stub:well` ends them, as prompts hold earlier words too. Embeddings, a list
of models, a search like Tavily's, Wikipedia's API and a web page at every other address are there as well.
"""

import asyncio
import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from tests.graphs.stub import gemini, reading, writing
from tests.graphs.stub.turns import Asked, decide, texts_of
from tests.model_server import Connection, error, page

SLOW, BROKEN, BUSY, CUT, WELL = "stub:slow", "stub:500", "stub:429", "stub:cut", "stub:well"

_LONGEST_S = 30


@dataclass(frozen=True)
class Api:
    """How one API is read and written; `streams` is whether it does without being asked to."""

    read: Callable[[Mapping[str, Any]], Asked]
    whole: writing.Whole
    stream: writing.Stream
    streams: bool = False
    media_type: str = "text/event-stream"


APIS = {
    "/chat/completions": Api(reading.read_chat, writing.whole_chat, writing.stream_chat),
    "/responses": Api(reading.read_responses, writing.whole_response, writing.stream_response),
    "/messages": Api(reading.read_anthropic, writing.whole_anthropic, writing.stream_anthropic),
    "/api/chat": Api(
        reading.read_chat, writing.whole_ollama, writing.stream_ollama, streams=True, media_type="application/x-ndjson"
    ),
    ":generateContent": Api(gemini.read_gemini, gemini.whole_gemini, gemini.stream_gemini),
    ":streamGenerateContent": Api(gemini.read_gemini, gemini.whole_gemini, gemini.stream_gemini, streams=True),
}


async def improvise(connection: Connection) -> None:
    """Answer one request."""
    for ending, api in APIS.items():
        if connection.path.endswith(ending):
            return await _converse(connection, api)
    body = _other(connection)
    if body is None and connection.method == "GET":
        return await page("<html><body><h1>A page</h1><p>It says little.</p></body></html>")(connection)
    if body is None:
        return await error(404, f"the stub does not know {connection.path}")(connection)
    await connection.head(200, "application/json")
    return await connection.write(json.dumps(body), more=False)


async def _converse(connection: Connection, api: Api) -> None:
    asked = api.read(connection.request)
    for mood, status in ((BROKEN, 500), (BUSY, 429)):
        if _mood(asked) == mood:
            return await error(status, "the stub was asked to fail", retry_after_ms="1")(connection)
    said = decide(asked)
    if connection.request.get("stream", api.streams):
        return await _stream(connection, asked, api.stream(said), api.media_type)
    if _mood(asked) == SLOW:
        await _wait(connection)
    await connection.head(200, "application/json")
    return await connection.write(api.whole(said), more=False)


def _mood(asked: Asked) -> str:
    return max((SLOW, BROKEN, BUSY, CUT, WELL), key=asked.last.rfind) if "stub:" in asked.last else WELL


async def _stream(connection: Connection, asked: Asked, events: Iterator[str], media_type: str) -> None:
    await connection.head(200, media_type)
    for place, event in enumerate(events):
        await connection.write(event)
        if place == 1 and _mood(asked) == SLOW:
            await _wait(connection)
        if place == 1 and _mood(asked) == CUT:
            return  # uvicorn closes the connection of an application that ends in the middle of its response
    await connection.write("", more=False)


async def _wait(connection: Connection) -> None:
    connection.server.waiting.set()
    with suppress(TimeoutError):
        await asyncio.wait_for(connection.until_hung_up(), _LONGEST_S)


def _other(connection: Connection) -> Any:
    """What is not a conversation: None if it is unknown."""
    match re.split("[/:]", connection.path)[-1]:
        case "embeddings":
            return _embeddings(connection.request)
        case "models":
            return {"object": "list", "data": [{"id": "stub", "object": "model", "created": 1, "owned_by": "stub"}]}
        case "tags":
            return {"models": [{"name": "stub", "model": "stub"}]}
        case "show":
            return {"details": {}, "model_info": {}, "capabilities": ["completion", "tools"]}
        case "search":
            return _found(str(connection.request.get("query", "")))
        case "embedContent":
            return {"embedding": _values(connection.request)}
        case "batchEmbedContents":
            return {"embeddings": [_values(each) for each in connection.request["requests"]]}
        case "api.php":
            return _encyclopedia(connection.query)
    return None


def _embeddings(request: Mapping[str, Any]) -> Any:
    given = request["input"]
    texts = given if isinstance(given, list) and not all(isinstance(each, int) for each in given) else [given]
    size = request.get("dimensions") or 1536
    data = [
        {"object": "embedding", "index": place, "embedding": vector(str(text), size)}
        for place, text in enumerate(texts)
    ]
    return {"object": "list", "model": "stub", "data": data, "usage": {"prompt_tokens": 1, "total_tokens": 1}}


def _values(request: Mapping[str, Any]) -> Any:
    """An embedding, as Gemini's API has it."""
    text = " ".join(texts_of(request["content"]["parts"]))
    return {"values": vector(text, request.get("outputDimensionality") or 768)}


def vector(text: str, size: int) -> list[float]:
    """Numbers between 0 and 1 that stand for the text: equal for equal texts."""
    digest = hashlib.sha256(text.encode()).digest()
    return [digest[place % len(digest)] / 255 for place in range(size)]


def _found(query: str) -> Any:
    result = {"title": "A page", "url": "https://example.com/", "content": f"About {query}", "score": 0.9}
    return {"query": query, "answer": None, "images": [], "results": [result], "response_time": 0.1}


def _encyclopedia(query: Mapping[str, str]) -> Any:
    """What MediaWiki's action=query says of whatever is searched or read: a page of that title.

    Source: https://www.mediawiki.org/wiki/API:Query (list=search, prop=info|extracts|revisions).
    """
    title = query.get("titles") or query.get("srsearch") or "A page"
    page = {"pageid": 1, "ns": 0, "title": title, "fullurl": "https://en.wikipedia.org/wiki/A_page"}
    read = {"extract": f"About {title}.", "revisions": [{"revid": 1, "parentid": 0}]}
    found = {"searchinfo": {"totalhits": 1}, "search": [{"ns": 0, "title": title, "pageid": 1}]}
    return {"batchcomplete": "", "query": {**found, "pages": {"1": page | read}}}
