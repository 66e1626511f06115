"""Several agents on one edge, as a process: an unchanged langgraph.json, a reload during a run, a proxy in front."""

import asyncio
import json
import textwrap
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from a2a.client import ClientConfig, ClientFactory
from a2a.client.card_resolver import A2ACardResolver
from a2a.types.a2a_pb2 import Message, Part, Role, SendMessageRequest
from starlette.types import ASGIApp, Receive, Scope, Send
from tests.e2e.conftest import ROOT, reload, running_edge

from llamon_agent.app import create_app, open_edge
from llamon_agent.config.edge import EdgeConfig

GRAPH = '''
"""{doc}"""

import os
{imports}
from langchain_core.messages import AIMessage
from langgraph.graph import START, MessagesState, StateGraph


def node(state):
    said = [message.content for message in state["messages"] if message.type == "human"]
    return {{"messages": [AIMessage("{name} " + os.environ.get("LG_WORD", "") + ": " + ", ".join(said))]}}


def build():
    builder = StateGraph(MessagesState)
    builder.add_node("node", node)
    builder.add_edge(START, "node")
    return builder


{graph}
'''


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(textwrap.dedent(text), encoding="utf-8")


def params(text: str, **more: object) -> dict[str, Any]:
    return {"message": {"role": "user", "messageId": "m", "parts": [{"kind": "text", "text": text}], **more}}


async def ask(http: httpx.AsyncClient, path: str, method: str, values: object) -> Any:
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": values}
    answer = (await http.post(path, json=body)).json()
    return answer.get("result", answer)


async def says(http: httpx.AsyncClient, path: str, text: str, **more: object) -> str:
    task = await ask(http, path, "message/send", params(text, **more))
    return "".join(part["text"] for artifact in task["artifacts"] for part in artifact["parts"])


async def official_says(http: httpx.AsyncClient, url: str, text: str) -> str:
    """What the official client gets, which uses only the card at this address."""
    card = await A2ACardResolver(http, url).get_agent_card()
    async with ClientFactory(ClientConfig(httpx_client=http, streaming=False)).create(card) as client:
        message = Message(message_id="m", role=Role.ROLE_USER, parts=[Part(text=text)])
        [only] = [event async for event in client.send_message(SendMessageRequest(message=message))]
    return "".join(part.text for artifact in only.task.artifacts for part in artifact.parts)


# A langgraph.json.


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Two graphs in files of one name, one of them a factory in a package that imports itself, and a .env."""
    plain = GRAPH.format(doc="Answers plainly.\n\nMore.", imports="", name="plain", graph="graph = build().compile()")
    managed = "@asynccontextmanager\nasync def make(config):\n    yield build()"
    imports = "from contextlib import asynccontextmanager\nfrom packed.words import WORD"
    packed = GRAPH.format(doc="Answers from a package.", imports=imports, name="packed", graph=managed)
    root = tmp_path / "project"
    write(root / "agent.py", plain)
    write(root / "src" / "packed" / "__init__.py", "")
    write(root / "src" / "packed" / "words.py", "WORD = 1")
    write(root / "src" / "packed" / "agent.py", packed)
    write(root / "pyproject.toml", "[project]\nname = 'packed'\n")
    write(root / ".env", "LG_WORD=hello\n")
    graphs = {"Plain": "./agent.py:graph", "packed": {"path": "./src/packed/agent.py:make", "description": "Packed."}}
    keys = {"dependencies": [".", "langgraph"], "graphs": graphs, "env": ".env", "http": {"app": "x:y"}}
    (root / "langgraph.json").write_text(json.dumps(keys), encoding="utf-8")
    return root


async def test_a_langgraph_json_is_served_as_it_stands(project: Path, tmp_path: Path) -> None:
    with running_edge(str(project / "langgraph.json"), data=tmp_path / "data") as edge:
        async with httpx.AsyncClient(base_url=edge.url, timeout=30) as http:
            plain, packed = (await http.get("/agents")).json()["agents"]
            assert (plain["name"], plain["title"], plain["description"]) == ("plain", "Plain", "Answers plainly.")
            assert (packed["title"], packed["description"]) == ("packed", "Packed.")
            assert await official_says(http, edge.url, "a") == "plain hello: a"
            assert await official_says(http, f"{edge.url}/a2a/packed/", "b") == "packed hello: b"
    assert "not used by this edge: http" in (tmp_path / "data.log").read_text()


async def test_a_context_is_a_thread_of_each_agent_and_outlives_a_restart(project: Path, tmp_path: Path) -> None:
    target, data = str(project / "langgraph.json"), tmp_path / "data"
    with running_edge(target, data=data) as edge:
        async with httpx.AsyncClient(base_url=edge.url, timeout=30) as http:
            assert await says(http, "/a2a/plain", "one", contextId="c") == "plain hello: one"
            assert await says(http, "/a2a/packed", "two", contextId="c") == "packed hello: two"
    with running_edge(target, data=data) as edge:
        async with httpx.AsyncClient(base_url=edge.url, timeout=30) as http:
            assert await says(http, "/a2a/packed", "three", contextId="c") == "packed hello: two, three"
            assert await says(http, "/a2a", "four", contextId="c") == "plain hello: one, four"


# A reload.


def configured(*agents: str) -> str:
    demo = ROOT / "examples" / "demo_agent.py"
    lines = [f"  {name}: {{name: {name}, target: '{demo}:graph'}}" for name in agents]
    return "\n".join(["agents:", *lines]) + "\n"


async def names(http: httpx.AsyncClient) -> list[str]:
    return [agent["name"] for agent in (await http.get("/agents")).json()["agents"]]


async def test_a_reload_drops_no_run_and_a_wrong_file_changes_nothing(tmp_path: Path) -> None:
    file = tmp_path / "edge.yaml"
    file.write_text(configured("one", "two"))
    with running_edge("--config", str(file), data=tmp_path / "data") as edge:
        async with httpx.AsyncClient(base_url=edge.url, timeout=30) as http:
            background = params("research llamas", contextId="c") | {"configuration": {"blocking": False}}
            working = await ask(http, "/a2a/two", "message/send", background)
            asking = await ask(http, "/a2a/one", "message/send", params("delete report.txt"))

            file.write_text(configured("one", "three"))
            reload(edge, "configuration is taken: one, three")
            assert await names(http) == ["one", "three"]
            assert "42" in await says(http, "/a2a/three", "my number is 42")

            file.write_text("a2a: {listn: x}\nagents: {Bad: {}}\n")
            reload(edge, "agents.Bad must be a name")
            assert "a2a.listn is not a known key" in edge.log.read_text()
            assert await names(http) == ["one", "three"]

            said = await ask(http, "/a2a/one", "message/send", params("approve", taskId=asking["id"]))
            assert said["status"]["state"] == "completed"
            stream = {"jsonrpc": "2.0", "id": 1, "method": "tasks/resubscribe", "params": {"id": working["id"]}}
            async with asyncio.timeout(20):
                assert "completed" in (await http.post("/a2a/two", json=stream)).text
            done = await ask(http, "/a2a/two", "tasks/get", {"id": working["id"]})
            assert "worth knowing" in str(done["artifacts"])


# A proxy in front.


class Proxy:
    """What a TLS proxy does that shows the edge under a path prefix: strips it, and says so in headers."""

    def __init__(self, app: ASGIApp, *, host: str, prefix: str) -> None:
        self._app = app
        self._prefix = prefix
        forwarded = {"x-forwarded-proto": "https", "x-forwarded-host": host, "x-forwarded-prefix": prefix}
        self._headers = [(name.encode(), value.encode()) for name, value in forwarded.items()]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        assert scope["path"].startswith(self._prefix), f"{scope['path']} leads around the proxy"
        path = scope["path"].removeprefix(self._prefix)
        kept = [(name, value) for name, value in scope["headers"] if name != b"host"]
        headers = [*kept, (b"host", b"10.0.0.7:8000"), *self._headers]
        inner = {**scope, "path": path, "raw_path": path.encode(), "headers": headers, "scheme": "http"}
        await self._app(inner, receive, send)


@asynccontextmanager
async def behind_proxy(**a2a: object) -> AsyncIterator[httpx.AsyncClient]:
    echoing = {"one": {}, "two": {"target": "3"}}
    sections = {"a2a": {"adapter": "echo", **a2a}, "agents": echoing, "data": {"ephemeral": True}}
    async with open_edge(EdgeConfig.model_validate(sections)) as edge:
        proxy = Proxy(edge, host="agents.example.com", prefix="/team/x")
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app=proxy)) as http:
            yield http


@pytest.mark.parametrize(
    "a2a",
    [
        {"trust_proxy": True, "allowed_hosts": ["agents.example.com"]},
        {"public_url": "https://agents.example.com/team/x/"},
    ],
)
async def test_with_a_proxy_and_a_prefix_every_address_leads_back_through_it(a2a: dict[str, object]) -> None:
    base = "https://agents.example.com/team/x"
    async with behind_proxy(**a2a) as http:
        listed = (await http.get(f"{base}/agents")).json()["agents"]
        assert [agent["url"] for agent in listed] == [f"{base}/a2a/one", f"{base}/a2a/two"]
        for card in [agent["card"] for agent in listed]:
            assert (await http.get(card)).json()["url"] == card.removesuffix("/.well-known/agent-card.json")
        for place in (base, f"{base}/a2a", *(agent["url"] for agent in listed)):
            assert await official_says(http, place, "through") == "through"


async def test_an_edge_can_be_an_application_of_any_server() -> None:
    sections = {"a2a": {"adapter": "echo"}, "data": {"ephemeral": True}}
    app = create_app(EdgeConfig.model_validate(sections))
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://localhost") as http,
    ):
        assert await says(http, "/a2a", "hello") == "hello"
        assert (await http.get("/nothing")).status_code == 404
