import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import unquote

import httpx2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from starlette.routing import NoMatchFound, Router
from tests.strategies import json_values
from tests.unit.inbound.a2a.edges import Edge, edge, events_in, message_03, message_10
from tests.unit.inbound.a2a.exchange import JSON, Exchange

from llamon_agent.domain.errors import TaskNotFound
from llamon_agent.domain.events import ArtifactMade, Complete, Delta
from llamon_agent.domain.message import Raw
from llamon_agent.domain.task import Artifact, PushConfig, Task
from llamon_agent.inbound.a2a.bindings.asgi import Admission, Auth
from llamon_agent.inbound.a2a.bindings.jsonrpc.binding import rpc_routes
from llamon_agent.inbound.a2a.bindings.rest.binding import RestApp, rest_routes
from llamon_agent.inbound.a2a.bindings.rest.paths import place_of
from llamon_agent.inbound.a2a.cards.agents_page import unknown_path_route
from llamon_agent.inbound.a2a.endpoint import AgentPolicy
from llamon_agent.inbound.a2a.faults import ErrorTable
from llamon_agent.inbound.a2a.media_types import Modes
from llamon_agent.runs.service import RunService
from llamon_agent.testing.scripted import Gate, Step
from llamon_agent.wire.sse import PING, Reader

ANSWER: list[Step] = [Delta(text="Hel"), Delta(text="lo"), Complete()]
TOKENS = {"ann": "s3cret"}
URI = "https://example.com/ext"
PROTO = {"message": {"messageId": "m-1", "role": "ROLE_USER", "content": [{"text": "hi"}]}}


class Hooks:
    """The webhooks of one task, in memory."""

    def __init__(self) -> None:
        self.kept: dict[str, PushConfig] = {}

    def check(self, config: PushConfig) -> None:
        pass

    async def register(self, task: Task, config: PushConfig) -> PushConfig:
        del task
        self.kept[config.id] = config
        return config

    async def get(self, owner: str, agent: str, task_id: str, config_id: str | None) -> PushConfig:
        del owner, agent, task_id
        if config_id not in self.kept:
            raise TaskNotFound
        return self.kept[config_id]

    async def list(self, owner: str, agent: str, task_id: str) -> tuple[PushConfig, ...]:
        del owner, agent, task_id
        return tuple(self.kept.values())

    async def delete(self, owner: str, agent: str, task_id: str, config_id: str) -> None:
        del owner, agent, task_id
        self.kept.pop(config_id, None)


def app_of(
    it: Edge, *, tokens: dict[str, str] | None = None, path: str = "/a2a", table: ErrorTable = "1.0.1", **limits: Any
) -> Router:
    admission = Admission(auth=Auth(tokens or {}), **limits)
    rest = rest_routes(it.endpoint, admission, path=path, table=table)
    return Router(
        [*rpc_routes(it.endpoint, admission, path=path), *rest, unknown_path_route(path, agents=(it.endpoint.agent,))]
    )


@asynccontextmanager
async def client(it: Edge, **more: Any) -> AsyncIterator[httpx2.AsyncClient]:
    transport = httpx2.ASGITransport(app=app_of(it, **more))
    async with httpx2.AsyncClient(transport=transport, base_url="http://edge/a2a") as made:
        yield made


def events(response: httpx2.Response) -> list[Any]:
    return [event for _, event in events_in(response.content)]


def reason(response: httpx2.Response) -> str:
    """The reason of a 1.0 error, once it is sure that the error says the same as its status."""
    error = response.json()["error"]
    assert error["code"] == response.status_code
    return str(error["details"][0]["reason"])


# The operations of 1.0.


async def test_a_message_is_answered_with_its_task() -> None:
    async with edge(ANSWER) as it, client(it) as http:
        response = await http.post("/message:send", json=message_10())
        task = response.json()["task"]
        again = (await http.get(f"/tasks/{task['id']}")).json()
    assert response.status_code == 200
    assert response.headers["content-type"] == "application/a2a+json"
    assert task["status"]["state"] == "TASK_STATE_COMPLETED"
    assert task == again


async def test_a_stream_sends_its_events_bare_and_with_ids() -> None:
    async with edge(ANSWER) as it, client(it) as http:
        response = await http.post("/message:stream", json=message_10(), headers={"accept": "text/event-stream"})
    told = events_in(response.content)
    assert response.headers["content-type"] == "text/event-stream"
    assert [next(iter(event)) for _, event in told] == ["task", "artifactUpdate", "artifactUpdate", "statusUpdate"]
    assert [int(seq) for seq, _ in told if seq] == sorted(int(seq) for seq, _ in told if seq)
    assert b"jsonrpc" not in response.content


@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_a_task_is_followed_by_get_and_by_post(method: str) -> None:
    gate = Gate()
    async with edge([Delta(text="a"), gate, Complete()]) as it, client(it) as http:
        task_id = await it.begin()
        await gate.reached()
        gate.open()
        response = await http.request(method, f"/tasks/{task_id}:subscribe")
        ended = await http.request(method, f"/tasks/{task_id}:subscribe")
    assert events(response)[0]["task"]["id"] == task_id
    assert (ended.status_code, reason(ended)) == (400, "UNSUPPORTED_OPERATION")
    assert ended.headers["content-type"] == "application/json"


async def test_a_reader_comes_back_after_the_event_that_it_names() -> None:
    gate = Gate()
    async with edge([Delta(text="a"), gate, Complete()]) as it, asyncio.timeout(5), asyncio.TaskGroup() as group:
        path = f"/a2a/tasks/{await it.begin()}:subscribe"
        await gate.reached()
        first = Exchange(app_of(it), b"", path=path)
        running = group.create_task(first.run())
        await first.first_body()
        first.hang_up()
        await running
        gate.open()
        [(seen, _)] = events_in(first.body)
        back = Exchange(app_of(it), b"", path=path, headers=((b"last-event-id", seen.encode()),))
        await back.run()
    told = [next(iter(event)) for _, event in events_in(back.body)]
    assert told[-1] == "statusUpdate"
    assert "task" not in told


async def test_tasks_are_listed_with_filters_and_pages() -> None:
    async with edge(ANSWER, ANSWER, ANSWER) as it, client(it) as http:
        for context in ("a", "b", "b"):
            await http.post("/message:send", json=message_10("hi", contextId=context))
            it.clock.advance(1)
        page = (await http.get("/tasks?contextId=b&pageSize=1&includeArtifacts=true")).json()
        rest = (await http.get("/tasks", params={"contextId": "b", "pageToken": page["nextPageToken"]})).json()
    assert (page["totalSize"], len(page["tasks"]), len(rest["tasks"])) == (2, 1, 1)
    assert page["tasks"][0]["artifacts"][0]["parts"] == [{"text": "Hello"}]
    assert page["tasks"][0]["id"] != rest["tasks"][0]["id"]
    assert "artifacts" not in rest["tasks"][0]


async def test_a_task_is_canceled_without_a_body_and_again() -> None:
    gate = Gate()
    async with edge([gate]) as it, client(it) as http:
        task_id = await it.begin()
        await gate.reached()
        first = await http.post(f"/tasks/{task_id}:cancel")
        second = await http.post(f"/tasks/{task_id}:cancel", content=b"null")
        old = await http.post(f"/v1/tasks/{task_id}:cancel")
    assert first.json()["status"]["state"] == "TASK_STATE_CANCELED"
    assert second.json() == first.json()
    assert (old.status_code, old.json()["type"]) == (400, "TaskNotCancelableError")


async def test_a_webhook_is_created_read_listed_and_deleted() -> None:
    async with edge(ANSWER, webhooks=Hooks()) as it, client(it) as http:
        at = f"/tasks/{await it.begin()}/pushNotificationConfigs"
        made = await http.post(at, json={"id": "c1", "url": "https://hooks.example/1", "token": "t"})
        read = await http.get(f"{at}/c1")
        listed = await http.get(at)
        deleted = await http.delete(f"{at}/c1")
        gone = await http.get(f"{at}/c1")
    assert (made.status_code, made.json()["url"], made.json()["token"]) == (200, "https://hooks.example/1", "t")
    assert read.json() == made.json()
    assert listed.json()["configs"] == [made.json()]
    assert (deleted.status_code, deleted.json()) == (200, {})
    assert (gone.status_code, reason(gone)) == (404, "TASK_NOT_FOUND")


async def test_the_extended_card_is_given() -> None:
    def card(base_url: str, dialect: Any) -> bytes:
        return json.dumps([base_url, dialect.version]).encode()

    async with edge(policy=AgentPolicy(extended_card=card)) as it, client(it) as http:
        assert (await http.get("/extendedAgentCard")).json() == ["http://edge", "1.0"]
        assert (await http.get("/v1/card")).json() == ["http://edge", "0.3"]


async def test_a_tenant_in_the_path_separates_tasks() -> None:
    async with edge(ANSWER, policy=AgentPolicy(tenants=frozenset({"*"}))) as it, client(it) as http:
        task = (await http.post("/ac%2Fme/message:send", json=message_10())).json()["task"]
        own = await http.get(f"/ac%2Fme/tasks/{task['id']}")
        others = await http.get(f"/tasks/{task['id']}")
        listed = (await http.get("/tasks", params={"tenant": "ac/me"})).json()["tasks"]
    assert own.json()["id"] == task["id"]
    assert others.status_code == 404
    assert len(listed) == 1


# 0.3.


async def test_0_3_answers_the_protos_json_in_it() -> None:
    async with edge(ANSWER, ANSWER) as it, client(it) as http:
        task = (await http.post("/v1/message:send", json=PROTO)).json()["task"]
        read = (await http.get(f"/v1/tasks/{task['id']}")).json()
        streamed = await http.post("/v1/message:stream", json=PROTO)
    assert task["history"][0]["role"] == "ROLE_USER"
    assert task["artifacts"][0]["parts"] == [{"text": "Hello"}]
    assert read == task
    assert [next(iter(event)) for event in events(streamed)] == [
        "task",
        *["artifactUpdate"] * 3,
        "statusUpdate",
    ]
    last = events(streamed)[-2]["artifactUpdate"]
    assert (last["artifact"]["parts"], last.get("append", False), last["lastChunk"]) == (
        [{"text": "Hello"}],
        False,
        True,
    )
    assert events(streamed)[-1]["statusUpdate"]["final"] is True


async def test_0_3_answers_the_schemas_json_in_it() -> None:
    async with edge(ANSWER, ANSWER) as it, client(it) as http:
        task = (await http.post("/v1/message:send", json=message_03())).json()
        streamed = await http.post("/v1/message:stream", json=message_03())
        listed = (await http.get("/v1/tasks")).json()
    assert (task["kind"], task["status"]["state"]) == ("task", "completed")
    assert [event["kind"] for event in events(streamed)] == ["task", *["artifact-update"] * 2, "status-update"]
    assert [one["kind"] for one in listed] == ["task", "task"]


async def test_0_3s_list_leaves_out_the_bytes_of_files() -> None:
    picture = {"kind": "file", "file": {"bytes": "AAECAw==", "mimeType": "image/png"}}
    drawn = ArtifactMade(artifact=Artifact(artifact_id="a", parts=(Raw(data=b"drawn", media_type="image/png"),)))
    modes = Modes(takes=("*/*",), gives=("*/*",))
    async with edge([drawn, Complete()], modes=modes) as it, client(it) as http:
        sent = (await http.post("/v1/message:send", json=message_03(parts=[picture]))).json()
        [listed] = (await http.get("/v1/tasks")).json()
    assert sent["artifacts"][0]["parts"][0]["file"]["bytes"] == "ZHJhd24="
    for part, size_bytes in ((listed["history"][0]["parts"][0], 4), (listed["artifacts"][0]["parts"][0], 5)):
        assert part["file"] == {"bytes": "", "mimeType": "image/png"}
        assert part["metadata"] == {"omittedBytes": size_bytes}


async def test_0_3_follows_a_task_that_has_ended_to_its_end() -> None:
    async with edge(ANSWER) as it, client(it) as http:
        task = (await http.post("/v1/message:send", json=PROTO)).json()["task"]
        for method in ("GET", "POST"):
            told = events(await http.request(method, f"/v1/tasks/{task['id']}:subscribe"))
            assert [event["task"]["id"] for event in told] == [task["id"]]


async def test_0_3_has_webhooks_in_its_protos_shape() -> None:
    async with edge(ANSWER, webhooks=Hooks()) as it, client(it) as http:
        task_id = await it.begin()
        at = f"/v1/tasks/{task_id}/pushNotificationConfigs"
        sent = {"config": {"pushNotificationConfig": {"id": "c1", "url": "https://hooks.example/1"}}}
        made = (await http.post(at, json=sent)).json()
        listed = (await http.get(at)).json()
        deleted = await http.delete(f"{at}/c1")
    assert made["name"] == f"tasks/{task_id}/pushNotificationConfigs/c1"
    assert listed["configs"] == [made]
    assert deleted.json() == {}


# Media types.


PLAIN, OWN = "application/json", "application/a2a+json"


@pytest.mark.parametrize(
    ("accept", "table", "result", "error"),
    [
        (None, "1.0.1", OWN, PLAIN),
        ("*/*", "1.0.1", OWN, PLAIN),
        ("text/event-stream", "1.0.1", OWN, PLAIN),
        ("application/json", "1.0.1", PLAIN, PLAIN),
        ("application/json, text/plain, */*", "1.0.1", PLAIN, PLAIN),
        ("application/a2a+json", "1.0.1", OWN, OWN),
        ("Application/A2A+JSON, application/json", "1.0.1", OWN, OWN),
        (None, "1.0.0", PLAIN, PLAIN),
        ("*/*", "1.0.0", PLAIN, PLAIN),
        ("application/a2a+json", "1.0.0", OWN, OWN),
    ],
)
@pytest.mark.requirement("1.0/11.1-media-type")
async def test_the_media_type_is_1_0s_own_unless_the_caller_names_plain_json(
    accept: str | None, table: ErrorTable, result: str, error: str
) -> None:
    async with edge() as it, client(it, table=table) as http:
        del http.headers["accept"]
        headers = {"accept": accept} if accept else {}
        good = await http.get("/tasks", headers=headers)
        bad = await http.get("/tasks/nope", headers=headers)
        old = [await http.get(path, headers=headers) for path in ("/v1/tasks", "/v1/tasks/nope")]
    assert (good.headers["content-type"], bad.headers["content-type"]) == (result, error)
    assert {answer.headers["content-type"] for answer in old} == {PLAIN}


@pytest.mark.parametrize(
    "content_type", ["application/json", "application/a2a+json", "application/json; charset=utf-8"]
)
async def test_both_media_types_are_taken(content_type: str) -> None:
    async with edge(ANSWER) as it, client(it) as http:
        sent = json.dumps(message_10()).encode()
        response = await http.post("/message:send", content=sent, headers={"content-type": content_type})
    assert response.status_code == 200


async def test_another_media_type_is_refused_before_the_body_is_read() -> None:
    plain = ((b"content-type", b"text/plain"),)
    async with edge() as it:
        there = Exchange(app_of(it), b"{", path="/a2a/message:send", headers=plain)
        await there.run()
    assert (there.status, there.reads) == (415, 0)
    assert b"CONTENT_TYPE_NOT_SUPPORTED" in there.body


async def test_a_get_has_no_content_type_to_complain_about() -> None:
    async with edge() as it, client(it) as http:
        assert (await http.get("/tasks", headers={"content-type": "text/plain"})).status_code == 200


# Errors.


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "why"),
    [
        ("GET", "/tasks/nope", None, 404, "TASK_NOT_FOUND"),
        ("POST", "/tasks/nope:cancel", {}, 404, "TASK_NOT_FOUND"),
        ("GET", "/tasks/nope:subscribe", None, 404, "TASK_NOT_FOUND"),
        ("GET", "/tasks/", None, 400, "INVALID_PARAMS"),
        ("GET", "/tasks?pageSize=101", None, 400, "INVALID_PARAMS"),
        ("POST", "/message:send", {}, 400, "INVALID_PARAMS"),
        ("POST", "/message:stream", {"message": {}}, 400, "INVALID_PARAMS"),
        ("POST", "/message:send", [], 400, "INVALID_REQUEST"),
        ("POST", "/message:send", "hi", 400, "INVALID_REQUEST"),
        ("POST", "/message:send", None, 400, "PARSE_ERROR"),
        ("GET", "/acme/tasks", None, 400, "INVALID_PARAMS"),
        ("GET", "/tasks/x/pushNotificationConfigs", None, 400, "PUSH_NOTIFICATION_NOT_SUPPORTED"),
        ("DELETE", "/tasks/x/pushNotificationConfigs/1", None, 400, "PUSH_NOTIFICATION_NOT_SUPPORTED"),
        ("GET", "/extendedAgentCard", None, 400, "UNSUPPORTED_OPERATION"),
        ("GET", "/tasks/x/y", None, 404, "METHOD_NOT_FOUND"),
        ("PUT", "/tasks/x", {}, 405, "METHOD_NOT_FOUND"),
    ],
)
async def test_errors_of_1_0_have_their_status_and_their_reason(
    method: str, path: str, body: object, status: int, why: str
) -> None:
    async with edge() as it, client(it) as http:
        response = await http.request(method, path, json=body)
    assert (response.status_code, reason(response)) == (status, why)


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "code"),
    [
        ("GET", "/v1/tasks/nope", None, 404, -32001),
        ("POST", "/v1/message:send", {}, 400, -32602),
        ("POST", "/v1/message:send", {"message": {"parts": []}}, 400, -32602),
        ("GET", "/v1/tasks/x/pushNotificationConfigs/1", None, 400, -32003),
        ("GET", "/v1/card", None, 400, -32007),
        ("GET", "/v1/nope", None, 404, -32601),
        ("DELETE", "/v1/tasks", None, 405, -32601),
    ],
)
async def test_errors_of_0_3_have_their_status_and_their_code(
    method: str, path: str, body: object, status: int, code: int
) -> None:
    async with edge() as it, client(it) as http:
        response = await http.request(method, path, json=body)
    assert (response.status_code, response.json()["code"]) == (status, code)


@pytest.mark.parametrize(
    ("path", "headers", "status"),
    [
        ("/tasks", {"A2A-Version": "99.0"}, 400),
        ("/tasks?A2A-Version=99.0", {}, 400),
        ("/tasks", {"A2A-Version": "0.3"}, 400),
        ("/tasks?A2A-Version=1.0", {}, 200),
        ("/tasks", {"A2A-Version": "1.0.1"}, 200),
        ("/tasks", {}, 200),
    ],
)
async def test_the_version_is_checked(path: str, headers: dict[str, str], status: int) -> None:
    async with edge() as it, client(it) as http:
        response = await http.get(path, headers=headers)
    assert response.status_code == status
    assert status == 200 or reason(response) == "VERSION_NOT_SUPPORTED"


@pytest.mark.parametrize(
    ("method", "path"),
    [("GET", "/v1/tasks"), ("GET", "/v1/tasks/x"), ("POST", "/v1/message:send"), ("GET", "/v1/card")],
)
@pytest.mark.parametrize("version", ["1.0", "2.0", "99.0", "x"])
async def test_a_version_that_0_3s_paths_do_not_speak_is_that_error_in_the_shape_of_those_who_know_it(
    method: str, path: str, version: str
) -> None:
    async with edge() as it, client(it) as http:
        response = await http.request(method, path, headers={"A2A-Version": version}, json={})
    assert (response.status_code, reason(response)) == (400, "VERSION_NOT_SUPPORTED")


@pytest.mark.parametrize("version", ["0.2", "0.3", ""])
async def test_other_errors_of_0_3s_paths_are_in_its_own_shape(version: str) -> None:
    async with edge() as it, client(it) as http:
        response = await http.get("/v1/tasks/x", headers={"A2A-Version": version})
    assert (response.status_code, response.json()["type"]) == (404, "TaskNotFoundError")


@pytest.mark.parametrize(
    ("path", "allowed"),
    [
        ("/message:send", "POST"),
        ("/tasks", "GET"),
        ("/tasks/x:subscribe", "POST, GET"),
        ("/tasks/x/pushNotificationConfigs/1", "GET, DELETE"),
        ("/v1/tasks/x:cancel", "POST"),
    ],
)
@pytest.mark.parametrize("method", ["PUT", "HEAD", "OPTIONS"])
async def test_the_answer_to_another_method_names_those_that_there_are(path: str, allowed: str, method: str) -> None:
    async with edge() as it, client(it) as http:
        response = await http.request(method, path)
    assert (response.status_code, response.headers["allow"]) == (405, allowed)


async def test_the_answer_to_an_unknown_path_is_in_words() -> None:
    async with edge() as it, client(it) as http:
        response = await http.get("/v1/" + "x" * 200)
    assert response.status_code == 404
    assert "no operation of A2A 0.3 at '/a2a/v1/xxx" in response.json()["message"]
    assert len(response.json()["message"]) < 150


async def test_what_does_not_look_like_ours_is_left_to_the_routes_after() -> None:
    async with edge() as it, client(it) as http:
        response = await http.get("/weather")
        rpc = await http.get("")
    assert "no agent 'weather' here" in response.json()["error"]["message"]
    assert rpc.headers["allow"] == "POST"


async def test_a_failure_of_ours_says_nothing_of_it(caplog: pytest.LogCaptureFixture) -> None:
    class Broken(Hooks):
        async def list(self, owner: str, agent: str, task_id: str) -> tuple[PushConfig, ...]:
            raise RuntimeError("secret")

    async with edge(webhooks=Broken()) as it, client(it) as http:
        response = await http.get("/tasks/x/pushNotificationConfigs")
    assert (response.status_code, reason(response)) == (500, "INTERNAL_ERROR")
    assert "secret" not in response.text
    assert "secret" in caplog.text


# Who calls.


async def test_a_caller_without_a_token_is_refused_before_the_body_is_read() -> None:
    async with edge() as it:
        there = Exchange(app_of(it, tokens=TOKENS), b"{", path="/a2a/message:send")
        await there.run()
    assert (there.status, there.reads) == (401, 0)
    assert there.headers[b"www-authenticate"] == b"Bearer"
    assert json.loads(there.body)["error"]["status"] == "UNAUTHENTICATED"


async def test_a_token_is_asked_of_every_operation_and_a_refusal_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    async with edge() as it, client(it, tokens=TOKENS) as http:
        for path in ("/tasks", "/tasks/x", "/extendedAgentCard", "/v1/tasks/x", "/v1/card"):
            assert (await http.get(path)).status_code == 401
            assert f"(GET '/a2a{path}' from 127.0.0.1)" in caplog.text
            allowed = await http.get(path, headers={"authorization": "Bearer s3cret"})
            assert allowed.status_code != 401


# Bodies.


async def test_a_body_that_is_too_large_is_413() -> None:
    async with edge() as it, client(it, max_body_bytes=10) as http:
        response = await http.post("/message:send", json=message_10())
    assert (response.status_code, reason(response)) == (413, "INVALID_REQUEST")


async def test_a_body_that_does_not_come_is_408() -> None:
    async with edge() as it, asyncio.timeout(5):
        there = Exchange(app_of(it, body_within_s=0.01), b"{", path="/a2a/v1/message:send", stalls=True)
        await there.run()
    assert (there.status, there.headers[b"connection"]) == (408, b"close")
    assert json.loads(there.body)["code"] == -32600


async def test_a_caller_that_breaks_off_is_not_answered() -> None:
    async with edge() as it, asyncio.timeout(5):
        there = Exchange(app_of(it), b"{", path="/a2a/message:send", breaks_off=True)
        await there.run()
    assert there.sent == []


# Streams.


async def test_a_reader_that_hangs_up_ends_the_stream_and_not_the_run() -> None:
    gate = Gate()
    async with edge([Delta(text="a"), gate, Complete()]) as it, asyncio.timeout(5), asyncio.TaskGroup() as group:
        there = Exchange(app_of(it), json.dumps(message_10()).encode(), path="/a2a/message:stream")
        running = group.create_task(there.run())
        await there.first_body()
        await gate.reached()
        there.hang_up()
        await running
        gate.open()
        async with client(it) as http:
            rest = events(await http.get(f"/v1/tasks/{await it.only_task()}:subscribe"))
    assert rest[-1]["statusUpdate"]["status"]["state"] == "TASK_STATE_COMPLETED"


async def test_a_broken_stream_ends_with_an_error_event(monkeypatch: pytest.MonkeyPatch) -> None:
    subscribe = RunService.subscribe

    class Broken:
        """A subscription that fails behind its first batch."""

        def __init__(self, whole: Any) -> None:
            self._whole = whole
            self.task, self.is_last, self.close = whole.task, whole.is_last, whole.close
            self._left: list[Exception | None] = [TaskNotFound(), None]

        def __aiter__(self) -> Any:
            return self

        async def __anext__(self) -> Any:
            if not self._left:
                raise StopAsyncIteration
            if failure := self._left.pop():
                raise failure
            return await self._whole.__anext__()

    async def broken(self: RunService, *args: Any, **more: Any) -> Any:
        return Broken(await subscribe(self, *args, **more))

    monkeypatch.setattr(RunService, "subscribe", broken)
    gate = Gate()
    async with edge([gate], [gate]) as it, client(it) as http:
        task_id = await it.begin()
        new = Reader().feed((await http.get(f"/tasks/{task_id}:subscribe")).content)
        old = Reader().feed((await http.get(f"/v1/tasks/{task_id}:subscribe")).content)
    assert [event.name for event in new] == ["message", "error"]
    assert json.loads(new[-1].data)["error"]["status"] == "NOT_FOUND"
    assert json.loads(old[-1].data)["code"] == -32001


async def test_a_quiet_stream_is_pinged() -> None:
    gate, pinged = Gate(), asyncio.Event()
    async with edge([gate, Complete()]) as it, asyncio.timeout(5), asyncio.TaskGroup() as group:
        app = RestApp(it.endpoint, Admission(auth=Auth({})), ping_s=0.001)

        async def placed(scope: Any, receive: Any, send: Any) -> None:
            scope["path_params"] = {"place": place_of(["message:stream"])}
            await app(scope, receive, send)

        def heard(message: Any) -> None:
            if message.get("body") == PING:
                pinged.set()

        there = Exchange(placed, json.dumps(message_10()).encode(), on_send=heard)
        running = group.create_task(there.run())
        await pinged.wait()
        gate.open()
        await running


# Extensions.


@pytest.mark.parametrize("header", ["A2A-Extensions", "X-A2A-Extensions"])
@pytest.mark.parametrize("path", ["/message:send", "/message:stream"])
async def test_activated_extensions_are_echoed(header: str, path: str) -> None:
    async with edge(ANSWER, policy=AgentPolicy(extensions={URI: True})) as it, client(it) as http:
        response = await http.post(path, json=message_10(), headers={header: f"{URI}, urn:other"})
        without = await http.post(path, json=message_10())
    assert response.headers[header] == URI
    assert (without.status_code, reason(without)) == (400, "EXTENSION_SUPPORT_REQUIRED")


# Paths.


@pytest.mark.parametrize("path", ["/", "/a2a", "/a2a/", "/de/ep/weather"])
async def test_an_agent_may_live_anywhere(path: str) -> None:
    async with edge() as it, client(it, path=path) as http:
        response = await http.get(f"http://edge{path.rstrip('/')}/tasks")
    assert response.status_code == 200


@pytest.mark.parametrize("path", ["/" + "a/" * 32_000, "/a2a/" + "%41" * 21_000, "/a2a/tasks/" + "/" * 64_000])
async def test_the_paths_of_many_agents_are_tried_at_once(path: str) -> None:
    async with edge() as it:
        admission = Admission(auth=Auth({}))
        routes = [route for n in range(1000) for route in rest_routes(it.endpoint, admission, path=f"/a2a/agent-{n}")]
        routes += rest_routes(it.endpoint, admission, path="/a2a")
    scope = {"type": "http", "method": "GET", "path": unquote(path), "raw_path": path.encode()}
    began_s = time.perf_counter()
    for route in routes:
        route.matches(scope)
    assert time.perf_counter() - began_s < 1  # each decoding all of it takes more than 4 s


async def test_ids_are_decoded_one_segment_at_a_time() -> None:
    asked: list[str] = []

    class Asked(Hooks):
        async def get(self, owner: str, agent: str, task_id: str, config_id: str | None) -> PushConfig:
            asked.extend([task_id, config_id or ""])
            raise TaskNotFound

    async with edge(webhooks=Asked()) as it, client(it) as http:
        await http.get("/tasks/a%2Fb%3Ac%20d/pushNotificationConfigs/%ED%95%9C%2F")
        await http.get("/tasks/a:b/pushNotificationConfigs/c:d")
    assert asked == ["a/b:c d", "한/", "a:b", "c:d"]


async def test_a_server_that_gives_no_raw_path_is_fine() -> None:
    async with edge() as it:
        there = Exchange(app_of(it), b"", path="/a2a/tasks/한:cancel")
        await there.run()
    assert there.status == 404
    assert b"TASK_NOT_FOUND" in there.body


async def test_a_path_below_a_mount_is_found() -> None:
    async with edge() as it:
        app = app_of(it)

        async def mounted(scope: Any, receive: Any, send: Any) -> None:
            await app({**scope, "root_path": "/under/it"}, receive, send)

        there = Exchange(mounted, b"", path="/under/it/a2a/tasks/x:cancel")
        await there.run()
    assert b"TASK_NOT_FOUND" in there.body


async def test_the_paths_have_no_names() -> None:
    async with edge() as it:
        [route] = rest_routes(it.endpoint, Admission(auth=Auth({})), path="/a2a")
    with pytest.raises(NoMatchFound):
        route.url_path_for("tasks")


# Whatever comes.

words = st.sampled_from(["v1", "tasks", "message:send", "message:stream", "x:cancel", "pushNotificationConfigs", "%2F"])
paths = st.lists(words | st.text(st.characters(codec="ascii", categories=["L", "N", "P"]), max_size=4), max_size=5)
bodies = st.binary(max_size=20) | (json_values | st.builds(message_10) | st.builds(message_03)).map(
    lambda value: json.dumps(value).encode()
)


@settings(deadline=None, max_examples=60)
@given(st.sampled_from(["GET", "POST", "DELETE", "PUT"]), paths, st.binary(max_size=12), bodies)
def test_any_request_is_answered_in_json_and_never_with_a_5xx(
    method: str, path: list[str], query: bytes, body: bytes
) -> None:
    async def ask() -> None:
        async with edge(ANSWER, wait_s=0.5) as it:
            there = Exchange(app_of(it), body)
            where = "/a2a/" + "/".join(path)
            scope = {"type": "http", "method": method, "path": where, "query_string": query, "headers": [JSON]}
            await app_of(it)({**scope, "raw_path": where.encode()}, there._receive, there._send)
        assert there.status < 500
        if there.headers[b"content-type"] in (b"application/json", b"application/a2a+json"):
            json.loads(there.body)
        else:
            assert there.headers[b"content-type"] in (b"text/event-stream", b"text/plain; charset=utf-8")

    asyncio.run(ask())
