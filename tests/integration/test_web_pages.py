"""An edge without a token refuses web pages of other origins over every transport, and serves all other callers."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import grpc
import httpx2
import pytest
from a2a.types import a2a_pb2 as new
from tests.unit.inbound.a2a.bindings.grpc.calling import NEW, OLD, details_of, old_saying, refusal, saying
from tests.unit.inbound.a2a.edges import call, message_03

from llamon_agent.app import _take_grpc_port, open_edge
from llamon_agent.config.edge import EdgeConfig

REBOUND = {"host": "evil.test:8000", "sec-fetch-site": "same-origin", "origin": "http://evil.test:8000"}
STRANGERS: list[Mapping[str, str]] = [
    {"sec-fetch-site": "cross-site"},
    {"sec-fetch-site": "same-site"},
    {"origin": "https://evil.test"},
    {"origin": "null"},
    REBOUND,
]

SEND = call("message/send", message_03())
STREAM = call("message/stream", message_03())
REST_SEND = b'{"message":{"role":"ROLE_USER","messageId":"m","parts":[{"text":"hi"}]}}'


def config_of(**a2a: Any) -> EdgeConfig:
    sections = {"a2a": {"adapter": "echo", **a2a}, "data": {"ephemeral": True}}
    return EdgeConfig.model_validate(sections)


@asynccontextmanager
async def edge(**a2a: Any) -> AsyncIterator[httpx2.AsyncClient]:
    async with open_edge(config_of(**a2a)) as app:
        transport = httpx2.ASGITransport(app=app)
        async with httpx2.AsyncClient(transport=transport, base_url="http://localhost:8000") as http:
            yield http


async def tasks_of(http: httpx2.AsyncClient) -> int:
    count: int = (await http.get("/a2a/tasks", headers={"a2a-version": "1.0"})).json()["totalSize"]
    return count


@pytest.mark.parametrize("headers", STRANGERS)
@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/a2a", SEND),
        ("POST", "/a2a/", STREAM),
        ("POST", "/a2a/echo", SEND),
        ("POST", "/a2a", b"not json"),
        ("GET", "/a2a", b""),
        ("OPTIONS", "/a2a", b""),
    ],
)
async def test_a_call_by_json_rpc_is_refused_as_json_rpc_with_403(
    headers: Mapping[str, str], method: str, path: str, body: bytes
) -> None:
    async with edge() as http:
        response = await http.request(method, path, content=body, headers=headers)
        assert response.status_code == 403
        answer = response.json()
        assert (answer["id"], answer["error"]["code"]) == (None, -32000)
        assert "a2a.bearer_token" in answer["error"]["message"]
        assert "access-control-allow-origin" not in response.headers
        assert await tasks_of(http) == 0


@pytest.mark.parametrize("headers", STRANGERS)
@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/a2a/message:send"),
        ("POST", "/a2a/message:stream"),
        ("GET", "/a2a/tasks"),
        ("GET", "/a2a/tasks/t:subscribe"),
        ("POST", "/a2a/echo/message:send"),
        ("DELETE", "/a2a/tasks"),
    ],
)
async def test_an_operation_by_http_is_refused_in_the_shape_of_its_version(
    headers: Mapping[str, str], method: str, path: str
) -> None:
    async with edge() as http:
        response = await http.request(method, path, content=REST_SEND, headers=headers)
        error = response.json()["error"]
        assert (response.status_code, error["code"], error["status"]) == (403, 403, "PERMISSION_DENIED")
        assert error["details"][0]["reason"] == "PERMISSION_DENIED"
        old = await http.request(method, path.replace("/a2a", "/a2a/v1", 1), headers=headers)
        assert old.status_code == 403
        assert await tasks_of(http) == 0


@pytest.mark.parametrize("headers", STRANGERS)
@pytest.mark.parametrize("path", ["/health", "/readyz", "/nothing", "/a2a/nobody/at/all"])
async def test_other_paths_are_refused_too(headers: Mapping[str, str], path: str) -> None:
    async with edge() as http:
        response = await http.get(path, headers=headers)
        assert response.status_code == 403
        assert list(response.json()) == ["error"]


PUBLIC = ["/.well-known/agent-card.json", "/a2a/echo/.well-known/agent.json", "/agents", "/"]


@pytest.mark.parametrize("path", PUBLIC)
async def test_cards_and_the_list_are_read_from_anywhere_but_by_no_name_of_a_strangers(path: str) -> None:
    async with edge() as http:
        for headers in STRANGERS[:-1]:
            response = await http.get(path, headers=headers)
            assert (response.status_code, response.headers["access-control-allow-origin"]) == (200, "*")
            assert (await http.options(path, headers=headers)).status_code == 204
        assert (await http.get(path, headers=REBOUND)).status_code == 403


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"host": "127.0.0.1:8000"},
        {"host": "192.168.1.7:8000"},
        {"host": "[::1]:8000"},
        {"content-type": "application/json", "sec-fetch-mode": "cors"},
        {"origin": "http://localhost:8000", "sec-fetch-site": "same-origin"},
        {"origin": "https://agents.example.com", "host": "agents.example.com"},
        {"host": "edge:8000"},
    ],
)
async def test_programs_and_the_edges_own_pages_call_as_ever(headers: Mapping[str, str]) -> None:
    async with edge(public_url="https://agents.example.com", allowed_hosts=["edge"]) as http:
        assert (await http.post("/a2a", content=SEND, headers=headers)).json()["result"]["kind"] == "task"
        rest = {**headers, "a2a-version": "1.0"}
        assert (await http.post("/a2a/message:send", content=REST_SEND, headers=rest)).status_code == 200
        assert (await http.get("/health", headers=headers)).status_code == 200


@pytest.mark.parametrize("headers", STRANGERS)
async def test_a_token_lets_in_whoever_has_it_from_wherever(headers: Mapping[str, str]) -> None:
    async with edge(bearer_token="t") as http:
        assert (await http.post("/a2a", content=SEND, headers=headers)).status_code == 401
        signed = {**headers, "authorization": "Bearer t"}
        assert (await http.post("/a2a", content=SEND, headers=signed)).status_code == 200


async def test_a_reload_brings_the_refusals_and_takes_them_away() -> None:
    async with open_edge(config_of()) as app:
        transport = httpx2.ASGITransport(app=app)
        async with httpx2.AsyncClient(transport=transport, base_url="http://edge") as http:
            assert (await http.get("/health")).status_code == 403
            assert await app.reload(lambda: config_of(allowed_hosts=["edge"])) is not None
            assert (await http.get("/health")).status_code == 200
            assert await app.reload(config_of) is not None
            assert (await http.get("/health")).status_code == 403
            assert await app.reload(lambda: config_of(bearer_token="t")) is not None
            assert (await http.get("/health")).status_code == 200


async def test_a_page_cannot_pretend_to_come_by_a_trusted_proxy() -> None:
    async with edge(trust_proxy=True, allowed_hosts=["agents.example.com"]) as http:
        forwarded = {"x-forwarded-host": "agents.example.com", "x-forwarded-proto": "https"}
        assert (await http.post("/a2a", content=SEND, headers=forwarded)).status_code == 200
        own = {**forwarded, "origin": "https://agents.example.com"}
        assert (await http.post("/a2a", content=SEND, headers=own)).status_code == 200
        assert (await http.post("/a2a", content=SEND, headers={**REBOUND, **forwarded})).status_code == 403
        assert (await http.post("/a2a", headers={**forwarded, "x-forwarded-host": "evil.test"})).status_code == 403


HOST_PAGE = "https://host.example"


def preflight(origin: str = HOST_PAGE) -> dict[str, str]:
    headers = "authorization, content-type, a2a-version"
    return {"origin": origin, "access-control-request-method": "POST", "access-control-request-headers": headers}


@pytest.mark.parametrize("token", [{}, {"bearer_token": "t"}])
@pytest.mark.parametrize("path", ["/a2a", "/a2a/echo", "/a2a/message:send", "/a2a/message:stream"])
async def test_pages_of_a_listed_origin_call_from_a_browser(path: str, token: dict[str, str]) -> None:
    async with edge(cors_origins=[HOST_PAGE], **token) as http:
        allowed = await http.options(path, headers=preflight())
        assert (allowed.status_code, allowed.headers["access-control-allow-origin"]) == (200, HOST_PAGE)
        assert "a2a-version" in allowed.headers["access-control-allow-headers"].lower()
        body = SEND if path in ("/a2a", "/a2a/echo") else REST_SEND
        sent = {"origin": HOST_PAGE, "sec-fetch-site": "cross-site", "authorization": "Bearer t"}
        answer = await http.post(path, content=body, headers=sent)
        assert (answer.status_code, answer.headers["access-control-allow-origin"]) == (200, HOST_PAGE)


@pytest.mark.parametrize("origin", ["https://evil.test", "http://host.example", "https://host.example:8443", "null"])
async def test_pages_of_no_other_origin_may(origin: str) -> None:
    async with edge(cors_origins=[HOST_PAGE], bearer_token="t") as http:
        refused = await http.options("/a2a", headers=preflight(origin))
        assert "access-control-allow-origin" not in refused.headers
        answer = await http.post("/a2a", content=SEND, headers={"origin": origin, "authorization": "Bearer t"})
        assert "access-control-allow-origin" not in answer.headers
    async with edge(cors_origins=[HOST_PAGE]) as http:
        assert (await http.post("/a2a", content=SEND, headers={"origin": origin})).status_code == 403


@pytest.mark.parametrize("path", PUBLIC)
async def test_listed_origins_leave_the_public_pages_to_all(path: str) -> None:
    async with edge(cors_origins=[HOST_PAGE]) as http:
        for origin in (HOST_PAGE, "https://evil.test"):
            assert (await http.options(path, headers=preflight(origin))).status_code == 204
            answer = await http.get(path, headers={"origin": origin})
            assert answer.headers.get_list("access-control-allow-origin") == ["*"]


async def test_with_two_proxies_the_first_ones_word_counts_for_pages_too() -> None:
    async with edge(trust_proxy=2, allowed_hosts=["agents.example.com"]) as http:
        forwarded = {"x-forwarded-host": "agents.example.com, inner.test"}
        assert (await http.post("/a2a", content=SEND, headers=forwarded)).status_code == 200
        forged = {"x-forwarded-host": "agents.example.com, evil.test, inner.test"}
        assert (await http.post("/a2a", content=SEND, headers=forged)).status_code == 403


@asynccontextmanager
async def grpc_channel(**a2a: Any) -> AsyncIterator[grpc.aio.Channel]:
    config = config_of(grpc={"listen": "127.0.0.1:0"}, **a2a)
    server = _take_grpc_port(config)
    assert server is not None
    async with open_edge(config, server), grpc.aio.insecure_channel(f"127.0.0.1:{server.port}") as channel:
        yield channel


@pytest.mark.parametrize("headers", STRANGERS)
@pytest.mark.parametrize(
    ("rpc", "request_bytes"),
    [
        (NEW + "SendMessage", saying().SerializeToString()),
        (OLD + "SendMessage", old_saying().SerializeToString()),
        (NEW + "ListTasks", b""),
    ],
)
async def test_a_page_that_calls_through_a_grpc_web_proxy_is_refused(
    headers: Mapping[str, str], rpc: str, request_bytes: bytes
) -> None:
    metadata = tuple(headers.items())
    async with grpc_channel() as channel:
        ask: grpc.aio.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary(rpc)
        error = await refusal(ask(request_bytes, metadata=metadata, timeout=5))
        assert error.code() is grpc.StatusCode.PERMISSION_DENIED
        assert details_of(error)[0].reason == "PERMISSION_DENIED"
        ask = channel.unary_unary(NEW + "ListTasks")
        assert new.ListTasksResponse.FromString(await ask(b"", timeout=5)).total_size == 0


async def test_a_stream_of_grpc_is_refused_to_pages_as_well() -> None:
    async with grpc_channel() as channel:
        follow: grpc.aio.UnaryStreamMultiCallable[bytes, bytes] = channel.unary_stream(NEW + "SendStreamingMessage")
        error = await refusal(follow(saying().SerializeToString(), metadata=(("origin", "https://evil.test"),)).read())
        assert error.code() is grpc.StatusCode.PERMISSION_DENIED


async def test_with_a_token_grpc_asks_for_nothing_but_that() -> None:
    async with grpc_channel(bearer_token="t") as channel:
        metadata = (("origin", "https://evil.test"), ("authorization", "Bearer t"))
        ask: grpc.aio.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary(NEW + "SendMessage")
        answer = await ask(saying().SerializeToString(), metadata=metadata, timeout=5)
        assert new.SendMessageResponse.FromString(answer).task.id
