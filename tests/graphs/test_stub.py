"""The stub of the models' APIs, asked by the packages that real graphs ask it by."""

import json
from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import Any, Literal

import httpx
import pytest
from jsonschema import validate
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI, OpenAIEmbeddings
from openai import APIConnectionError, AsyncOpenAI, DefaultAsyncHttpxClient, InternalServerError, RateLimitError
from pydantic import BaseModel, SecretStr
from tests.graphs.stub.filling import fill
from tests.graphs.stub.improvised import BROKEN, BUSY, CUT, WELL, improvise
from tests.model_server import ModelServer, model_server

KEY = SecretStr("stub")
Chat = Callable[..., ChatOpenAI]


class Inner(BaseModel):
    tags: list[str]
    parent: "Inner | None"


class Verdict(BaseModel):
    kind: Literal["ignore", "respond"]
    count: int
    sure: bool
    inner: Inner


@tool
def look_up(query: str, limit: int = 3) -> str:
    """Look something up."""
    return query


@pytest.fixture
async def server() -> AsyncIterator[ModelServer]:
    async with model_server() as model:
        model.says(improvise)
        yield model


@pytest.fixture
async def http() -> AsyncIterator[DefaultAsyncHttpxClient]:
    """What the package sends with, closed by us: it closes its own when it is collected."""
    async with DefaultAsyncHttpxClient() as client:
        yield client


@pytest.fixture
def chat(server: ModelServer, http: DefaultAsyncHttpxClient) -> Chat:
    return partial(ChatOpenAI, model="stub", base_url=server.url, api_key=KEY, max_retries=0, http_async_client=http)


BOTH = pytest.mark.parametrize("responses", [False, True], ids=["completions", "responses"])


@BOTH
async def test_a_text_is_whole_and_in_pieces_and_has_the_earlier_words(chat: Chat, responses: bool) -> None:
    model = chat(use_responses_api=responses)
    said = [HumanMessage("I am Ann"), AIMessage("Hello"), HumanMessage("Who am I?")]
    expected = "You said: Who am I?. Before that: I am Ann."
    assert (await model.ainvoke(said)).text == expected
    pieces = [piece.text async for piece in model.astream(said)]
    assert "".join(pieces) == expected
    assert len([piece for piece in pieces if piece]) > 2


@BOTH
async def test_a_tool_is_called_once_and_then_comes_a_text(chat: Chat, responses: bool) -> None:
    model = chat(use_responses_api=responses).bind_tools([look_up])
    first = await model.ainvoke("whales")
    assert [(call["name"], call["args"]) for call in first.tool_calls] == [("look_up", {"query": "whales"})]
    result = ToolMessage("big", tool_call_id=str(first.tool_calls[0]["id"]))
    assert (await model.ainvoke([HumanMessage("whales"), first, result])).text == "You said: whales."
    chunks = [chunk async for chunk in model.astream("whales") if isinstance(chunk, AIMessageChunk)]
    assert [call["name"] for chunk in chunks for call in chunk.tool_call_chunks if call["name"]] == ["look_up"]


@BOTH
@pytest.mark.parametrize("method", ["json_schema", "function_calling"])
async def test_a_schema_is_filled_with_what_the_user_names(
    chat: Chat, responses: bool, method: Literal["json_schema", "function_calling"]
) -> None:
    model = chat(use_responses_api=responses).with_structured_output(Verdict, method=method)
    verdict = await model.ainvoke("Please respond now")
    assert isinstance(verdict, Verdict)
    assert (verdict.kind, verdict.inner.tags) == ("respond", ["Please respond now"])


async def test_failures_are_what_the_client_knows_them_by(chat: Chat) -> None:
    for mood, error in ((BROKEN, InternalServerError), (BUSY, RateLimitError)):
        with pytest.raises(error):
            await chat().ainvoke(f"Please {mood}")
    with pytest.raises((APIConnectionError, httpx.RemoteProtocolError)):
        [chunk async for chunk in chat().astream(f"Please {CUT}")]
    assert "now" in (await chat().ainvoke(f"Please {BROKEN} {WELL} now")).text


async def test_embeddings_are_equal_for_equal_texts_and_there_is_a_list_of_models(
    server: ModelServer, http: DefaultAsyncHttpxClient
) -> None:
    embeddings = OpenAIEmbeddings(
        model="stub",
        base_url=server.url,
        api_key=KEY,
        dimensions=8,
        check_embedding_ctx_length=False,
        http_async_client=http,
    )
    one, two, other = await embeddings.aembed_documents(["a", "a", "b"])
    assert one == two != other
    assert len(one) == 8
    async with AsyncOpenAI(base_url=server.url, api_key="stub") as client:
        assert [model.id async for model in client.models.list()] == ["stub"]


async def test_anthropic_and_ollama_are_answered_in_their_own_form(server: ModelServer) -> None:
    root = server.url.removesuffix("/v1")
    user = {"role": "user", "content": [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]}
    tools = [{"name": "look_up", "input_schema": look_up.get_input_jsonschema()}]
    async with httpx.AsyncClient(base_url=root) as http:
        said = (await http.post("/v1/messages", json={"messages": [user]})).json()
        assert said["content"] == [{"type": "text", "text": "You said: two. Before that: one."}]
        called = (await http.post("/v1/messages", json={"messages": [user], "tools": tools})).json()
        assert called["stop_reason"] == "tool_use"
        streamed = (await http.post("/v1/messages", json={"messages": [user], "stream": True})).text
        assert [line for line in streamed.splitlines() if line.startswith("event: ")][-1] == "event: message_stop"
        lines = (await http.post("/api/chat", json={"messages": [user]})).text.splitlines()
        assert len(lines) > 2
        assert "A page" in (await http.get("/nothing")).text
        assert (await http.post("/nothing")).status_code == 404


GEMINI = "/v1beta/models/stub"


@pytest.fixture
async def root(server: ModelServer) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(base_url=server.url.removesuffix("/v1")) as http:
        yield http


def _said(*texts: str) -> dict[str, Any]:
    contents = [
        {"role": "model" if place % 2 else "user", "parts": [{"text": text}]} for place, text in enumerate(texts)
    ]
    return {"contents": contents}


def _parts(response: dict[str, Any]) -> Any:
    return response["candidates"][0]["content"]["parts"]


async def test_gemini_says_a_text_whole_and_in_pieces(root: httpx.AsyncClient) -> None:
    said, expected = _said("I am Ann", "Hello", "Who am I?"), "You said: Who am I?. Before that: I am Ann."
    assert _parts((await root.post(f"{GEMINI}:generateContent", json=said)).json()) == [{"text": expected}]
    streamed = await root.post(f"{GEMINI}:streamGenerateContent?alt=sse", json=said)
    assert streamed.headers["content-type"] == "text/event-stream"
    events = [json.loads(line.removeprefix("data: ")) for line in streamed.text.splitlines() if line]
    assert "".join(_parts(event)[0]["text"] for event in events) == expected
    assert events[-1]["candidates"][0]["groundingMetadata"]["groundingChunks"][0]["web"]["title"] == "example.com"
    assert ["finishReason" in event["candidates"][0] for event in events] == [*[False] * (len(events) - 1), True]


async def test_gemini_calls_a_function_once_and_then_says_a_text(root: httpx.AsyncClient) -> None:
    schema = {"type": "OBJECT", "properties": {"query": {"type": "STRING"}}, "required": ["query"]}
    by_json_schema = {"name": "other", "parametersJsonSchema": {"type": "object", "properties": {}}}
    tools = [
        {"googleSearch": {}},
        {"functionDeclarations": [{"name": "look_up", "parameters": schema}, by_json_schema]},
    ]
    asked = {**_said("whales"), "tools": tools}
    call = {"functionCall": {"name": "look_up", "args": {"query": "whales"}}}

    async def answered(request: dict[str, Any], **choice: Any) -> Any:
        config = {"functionCallingConfig": choice} if choice else {}
        return _parts((await root.post(f"{GEMINI}:generateContent", json={**request, "toolConfig": config})).json())

    assert await answered(asked) == [call]
    assert await answered(asked, mode="NONE") == [{"text": "You said: whales."}]
    result = {"role": "user", "parts": [{"functionResponse": {"name": "look_up", "response": {"output": "big"}}}]}
    more = [
        {"role": "model", "parts": [call]},
        result,
        {"role": "model", "parts": [{"functionCall": {"name": "other"}}]},
    ]
    asked["contents"] += more
    assert await answered(asked) == [{"text": "You said: whales."}]
    forced = await answered(asked, mode="ANY", allowedFunctionNames=["other"])
    assert forced == [{"functionCall": {"name": "other", "args": {}}}]


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({"responseSchema": {"type": "OBJECT", "properties": {"a": {"type": "INTEGER"}}, "required": ["a"]}}, {"a": 1}),
        ({"responseJsonSchema": {"type": "array", "items": {"type": "string"}}}, ["whales"]),
        ({}, {"query": "whales", "answer": "whales", "rationale": "whales"}),
    ],
)
async def test_gemini_fills_a_schema(root: httpx.AsyncClient, config: dict[str, Any], expected: Any) -> None:
    asked = {**_said("whales"), "generationConfig": {"responseMimeType": "application/json", **config}}
    [part] = _parts((await root.post(f"{GEMINI}:generateContent", json=asked)).json())
    assert json.loads(part["text"]) == expected


async def test_gemini_embeds_equal_texts_alike(root: httpx.AsyncClient) -> None:
    def content(text: str) -> dict[str, Any]:
        return {"content": {"parts": [{"text": text}]}, "outputDimensionality": 8}

    one = (await root.post(f"{GEMINI}:embedContent", json=content("a"))).json()["embedding"]
    several = {"requests": [content("a"), content("b")]}
    again, other = (await root.post(f"{GEMINI}:batchEmbedContents", json=several)).json()["embeddings"]
    assert one == again != other
    assert len(one["values"]) == 8


async def test_wikipedia_finds_a_page_and_has_its_text(root: httpx.AsyncClient) -> None:
    """As the package `wikipedia` asks: a search, the page, its summary."""
    asked = {"action": "query", "format": "json"}
    found = (await root.get("/w/api.php", params=asked | {"list": "search", "srsearch": "whales"})).json()["query"]
    assert [each["title"] for each in found["search"]] == ["whales"]
    named = (await root.get("/w/api.php", params=asked | {"prop": "extracts", "titles": "whales"})).json()["query"]
    [page] = named["pages"].values()
    assert (page["title"], page["extract"]) == ("whales", "About whales.")
    assert page["fullurl"].startswith("https://en.wikipedia.org/")


@pytest.mark.parametrize(("text", "value"), [("ask me", True), ("I said no , really", False), ("now", True)])
def test_a_boolean_is_what_the_text_says(text: str, value: bool) -> None:
    assert fill({"type": "boolean"}, text) is value


@pytest.mark.parametrize(
    "schema",
    [
        Verdict.model_json_schema(),
        {"type": ["null", "integer"], "minimum": 5},
        {"type": "number", "exclusiveMinimum": 0, "maximum": 0.5},
        {"allOf": [{"properties": {"a": {"type": "string"}}, "required": ["a"]}], "required": []},
        {"type": "array", "prefixItems": [{"type": "boolean"}, {"const": 3}]},
        {"type": "string", "format": "date-time", "maxLength": 30},
        {"oneOf": [{"type": "null"}, {"enum": ["a"]}]},
    ],
)
def test_a_filled_value_is_valid(schema: dict[str, Any]) -> None:
    validate(fill(schema, "some words"), schema)
