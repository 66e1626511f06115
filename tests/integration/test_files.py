"""Files and data from the wire to the agent and back, in both dialects: not a byte differs, and nothing is fetched."""

import asyncio
import base64
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.structured_output import ToolStrategy
from langchain_core.messages import AIMessage, HumanMessage
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import BaseModel
from tests.model_server import answer, model_server
from tests.unit.adapters.langgraph.scripted import agent_of, chat_graph, plain, streaming
from tests.unit.inbound.a2a.edges import call, edge, frames_of, response_of, results_of

from llamon_agent.adapters.langgraph.state import content_of
from llamon_agent.adapters.langgraph.thread import Graph
from llamon_agent.domain.events import ArtifactMade, Complete, Delta, Interrupt, Question
from llamon_agent.domain.message import Data, Message, Part, Raw, Role, Text, Url
from llamon_agent.domain.task import Artifact
from llamon_agent.inbound.a2a.bindings.jsonrpc.binding import answer_call
from llamon_agent.inbound.a2a.endpoint import AgentPolicy, Endpoint, RequestHead
from llamon_agent.inbound.a2a.media_types import Modes
from llamon_agent.runs.ports.run import Runtime, Target
from llamon_agent.runs.service import RunService
from llamon_agent.store.memory import MemoryTaskStore
from llamon_agent.testing.scripted import HandClock, Step, counting_ids

ALL_BYTES = bytes(range(256))
BASE64 = base64.b64encode(ALL_BYTES).decode()
ANYTHING = Modes(takes=("*/*",), gives=("*/*",))
DATA = {"n": [1, 2.5, None, True], "ä": {}}

RECEIVED = (
    Text.of("see"),
    Raw(data=ALL_BYTES, media_type="image/png", filename="a.png"),
    Url(url="https://example.com/b.pdf", media_type="application/pdf", filename="b.pdf"),
    Data(data=DATA),
)
PARTS: dict[str, list[dict[str, Any]]] = {
    "1.0": [
        {"text": "see"},
        {"raw": BASE64, "mediaType": "image/png", "filename": "a.png"},
        {"url": "https://example.com/b.pdf", "mediaType": "application/pdf", "filename": "b.pdf"},
        {"data": DATA},
    ],
    "0.3": [
        {"kind": "text", "text": "see"},
        {"kind": "file", "file": {"bytes": BASE64, "mimeType": "image/png", "name": "a.png"}},
        {
            "kind": "file",
            "file": {"uri": "https://example.com/b.pdf", "mimeType": "application/pdf", "name": "b.pdf"},
        },
        {"kind": "data", "data": DATA},
    ],
}
IMAGE: list[str | dict[Any, Any]] = [
    {"type": "thinking", "thinking": "secret thought"},
    {"type": "text", "text": "Here it is."},
    {"type": "image", "base64": BASE64, "mime_type": "image/png", "extras": {"filename": "a.png"}},
]


@pytest.fixture(params=["1.0", "0.3"])
def dialect(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def params(dialect: str, parts: list[dict[str, Any]], **more: object) -> dict[str, Any]:
    role = "ROLE_USER" if dialect == "1.0" else "user"
    return {"message": {"messageId": "m", "role": role, "parts": parts, **more}}


async def send(endpoint: Endpoint, dialect: str, parts: list[dict[str, Any]], **more: object) -> Any:
    """The task, or the error, of a send that waits."""
    method = "SendMessage" if dialect == "1.0" else "message/send"
    response = response_of(await answer_call(endpoint, call(method, params(dialect, parts, **more)), RequestHead()))
    result = response.get("result", response)
    return result.get("task", result)


async def artifacts_streamed(endpoint: Endpoint, dialect: str, parts: list[dict[str, Any]]) -> list[Any]:
    """The artifacts of a stream that sends each of them in one event."""
    method = "SendStreamingMessage" if dialect == "1.0" else "message/stream"
    reply = frames_of(await answer_call(endpoint, call(method, params(dialect, parts)), RequestHead()))
    updates = [event.get("artifactUpdate", event) for event in await results_of(reply)]
    return [update["artifact"] for update in updates if "artifact" in update]


@asynccontextmanager
async def graph_behind(graph: Graph) -> AsyncIterator[Endpoint]:
    runtimes = {"a": Runtime(Target(name="a", adapter="langgraph", target="t"), agent_of(graph))}
    async with RunService(MemoryTaskStore(), runtimes, clock=HandClock(), new_id=counting_ids()) as runs:
        yield Endpoint(runs, agent="a", policy=AgentPolicy(modes=ANYTHING), wait_s=5)


def text_part(dialect: str, text: str) -> dict[str, Any]:
    return {"text": text} if dialect == "1.0" else {"kind": "text", "text": text}


def data_part(dialect: str, data: object) -> dict[str, Any]:
    return {"data": data} if dialect == "1.0" else {"kind": "data", "data": data}


def without_ids(artifacts: Sequence[Any]) -> list[Any]:
    return [{key: value for key, value in each.items() if key != "artifactId"} for each in artifacts]


# In.


async def test_every_part_reaches_the_agent_as_it_was_sent(dialect: str) -> None:
    async with edge([Complete(text="ok")], modes=ANYTHING) as it:
        task = await send(it.endpoint, dialect, PARTS[dialect])
    assert it.agent.turns[0].message.parts == RECEIVED
    sent = [{key: value for key, value in part.items() if key != "kind"} for part in PARTS[dialect]]
    kept = [{key: value for key, value in part.items() if key != "kind"} for part in task["history"][0]["parts"]]
    assert kept == sent


async def test_what_the_agent_does_not_take_is_refused_and_nothing_is_written(dialect: str) -> None:
    async with edge(modes=Modes(takes=("text/plain", "audio/*"))) as it:
        refused = await send(it.endpoint, dialect, PARTS[dialect])
        assert refused["error"]["code"] == -32005
        assert refused["error"]["message"] == ("message.parts[1] is image/png; this agent takes text/plain, audio/*.")
        begins_with_data = await send(it.endpoint, dialect, [data_part(dialect, {})])
        assert begins_with_data["error"]["code"] == -32005
        assert (await it.ask("ListTasks", {}))["totalSize"] == 0


async def test_a_file_that_is_too_large_is_refused(dialect: str) -> None:
    async with edge(modes=Modes(takes=("*/*",), max_file_bytes=255)) as it:
        error = (await send(it.endpoint, dialect, PARTS[dialect]))["error"]
    assert error["code"] == -32602
    assert error["message"] == "message.parts[1] is a file of more than 255 bytes."


@pytest.mark.parametrize("by", ["taskId", "contextId"])
async def test_data_answers_a_question_of_any_agent(dialect: str, by: str) -> None:
    question = Interrupt(text="Sure?", questions=(Question(id="q", value="Sure?"),))
    async with edge([question], [Complete(text="ok")], modes=Modes(takes=("text/plain",))) as it:
        asked = await send(it.endpoint, dialect, [text_part(dialect, "go")])
        named = {"taskId": asked["id"]} if by == "taskId" else {"contextId": asked["contextId"]}
        done = await send(it.endpoint, dialect, [data_part(dialect, {"yes": True})], **named)
    assert done["id"] == asked["id"]
    assert it.agent.turns[1].message.parts == (Data(data={"yes": True}),)


@pytest.mark.parametrize(("accepted", "refused"), [([], False), (["text"], False), (["image/png"], True)])
async def test_a_caller_that_could_read_no_answer_is_refused(dialect: str, accepted: list[str], refused: bool) -> None:
    method = "SendMessage" if dialect == "1.0" else "message/send"
    wanted = params(dialect, [text_part(dialect, "hi")]) | {"configuration": {"acceptedOutputModes": accepted}}
    async with edge([Complete(text="ok")]) as it:
        response = await it.ask(method, wanted)
    assert response.get("error", {}).get("code") == (-32005 if refused else None)


@pytest.mark.requirement("1.0/14.1-file-addresses")
async def test_an_address_is_handed_on_and_never_fetched(dialect: str) -> None:
    connections = 0

    async def connected(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connections
        connections += 1
        writer.close()

    async with await asyncio.start_server(connected, "127.0.0.1", 0) as server:
        host, port = server.sockets[0].getsockname()
        address = f"http://{host}:{port}/a.png"
        model = plain("ok")
        part = {"url": address, "mediaType": "image/png"}
        if dialect == "0.3":
            part = {"kind": "file", "file": {"uri": address, "mimeType": "image/png"}}  # type: ignore[dict-item]
        async with graph_behind(chat_graph(model, InMemorySaver())) as endpoint:
            task = await send(endpoint, dialect, [part])
        assert "ok" in str(task["artifacts"])
        assert model.asked[0][0].content == [{"type": "image", "url": address, "mime_type": "image/png"}]
        # A connection of our own is heard only after every one before it.
        _, writer = await asyncio.open_connection(host, port)
        writer.close()
        await writer.wait_closed()
        assert connections == 1


# Out.

REPORT = Artifact(
    artifact_id="report",
    name="Report",
    description="What was found.",
    parts=(Raw(data=ALL_BYTES, media_type="image/png", filename="a.png"), RECEIVED[2], Data(data=DATA)),
)
SECOND = Artifact(artifact_id="second", parts=(Text.of("line\nline"),))


async def test_artifacts_are_sent_as_they_were_made(dialect: str) -> None:
    script: list[Step] = [ArtifactMade(artifact=REPORT), ArtifactMade(artifact=SECOND), Delta(text="Done."), Complete()]
    expected = [
        {"artifactId": "report", "name": "Report", "description": "What was found.", "parts": PARTS[dialect][1:]},
        {"artifactId": "second", "parts": [text_part(dialect, "line\nline")]},
        {"artifactId": "answer-1", "parts": [text_part(dialect, "Done.")]},
    ]
    async with edge(script, script) as it:
        task = await send(it.endpoint, dialect, [text_part(dialect, "hi")])
        assert task["artifacts"] == expected
        streamed = await artifacts_streamed(it.endpoint, dialect, [text_part(dialect, "hi")])
    assert {each["artifactId"]: each for each in streamed} == {each["artifactId"]: each for each in expected}


@pytest.mark.parametrize("model", [plain, streaming])
async def test_an_image_in_a_graphs_answer_is_an_artifact_besides_its_text(dialect: str, model: Any) -> None:
    image = {"name": "a.png", "parts": [PARTS[dialect][1]]}
    text = {"parts": [text_part(dialect, "Here it is.")]}
    async with graph_behind(chat_graph(model(AIMessage(IMAGE)), InMemorySaver())) as endpoint:
        task = await send(endpoint, dialect, [text_part(dialect, "draw")])
    assert without_ids(task["artifacts"]) == [text, image]
    assert "secret thought" not in str(task)


class Weather(BaseModel):
    city: str
    degrees: int


async def test_a_structured_response_is_a_data_artifact_and_its_text(dialect: str) -> None:
    made = AIMessage("", tool_calls=[{"name": "Weather", "args": {"city": "Seoul", "degrees": 7}, "id": "call-1"}])
    graph = create_agent(plain(made, made), response_format=ToolStrategy(Weather), checkpointer=InMemorySaver())
    structured = {"name": "structured_response", "parts": [data_part(dialect, {"city": "Seoul", "degrees": 7})]}
    text = {"parts": [text_part(dialect, '{"city":"Seoul","degrees":7}')]}
    async with graph_behind(graph) as endpoint:
        for _ in range(2):
            task = await send(endpoint, dialect, [text_part(dialect, "weather?")], contextId="c")
            assert without_ids(task["artifacts"]) == [structured, text]


# With a provider's own adapter.


async def test_langchains_openai_adapter_takes_what_we_make_of_files() -> None:
    parts: tuple[Part, ...] = (
        Text.of("see"),
        Raw(data=b"\x00", media_type="image/png"),
        Url(url="https://example.com/a.png", media_type="image/png"),
        Raw(data=b"\x00", media_type="audio/wav"),
        Raw(data=b"\x00", media_type="application/pdf"),
        Raw(data=b"a,b", media_type="text/csv", filename="t.csv"),
        Data(data={"n": 1}),
    )
    async with model_server() as server:
        server.says(answer("ok"))
        model = ChatOpenAI(model="m", base_url=server.url, api_key="k")  # type: ignore[arg-type]
        content = content_of(Message(message_id="m", role=Role.USER, parts=parts), "see")
        said = await model.ainvoke([HumanMessage(content)])
    assert said.text == "ok"
    assert server.requests[0]["messages"][0]["content"] == [
        {"type": "text", "text": "see"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}},
        {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}},
        {"type": "input_audio", "input_audio": {"data": "AA==", "format": "wav"}},
        {"type": "file", "file": {"file_data": "data:application/pdf;base64,AA==", "filename": "file.pdf"}},
        {"type": "text", "text": "t.csv:\na,b"},
        {"type": "text", "text": '{"n":1}'},
    ]
