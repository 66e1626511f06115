import json
from typing import Any

import pytest

from llamon_agent.domain.errors import BadJson, BadParams, BadRequest, CallerError, VersionNotSupported
from llamon_agent.domain.task import TaskState
from llamon_agent.inbound.a2a.bindings.rest.params import V03_SNAKE, RestRequest
from llamon_agent.inbound.a2a.bindings.rest.paths import place_of
from llamon_agent.inbound.a2a.endpoint import ParsedRequest
from llamon_agent.wire.operations import (
    CancelTask,
    DeletePushConfig,
    GetExtendedCard,
    GetPushConfig,
    GetTask,
    ListPushConfigs,
    ListTasks,
    Operation,
    SendMessage,
    SetPushConfig,
    Subscribe,
)
from llamon_agent.wire.v03.codec import V03
from llamon_agent.wire.v03_proto.codec import V03_PROTO
from llamon_agent.wire.v10.codec import V10

MESSAGE_10 = {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "hi"}]}
MESSAGE_03 = {"messageId": "m", "role": "user", "parts": [{"kind": "text", "text": "hi"}]}
MESSAGE_PROTO = {"role": "ROLE_USER", "content": [{"text": "hi"}]}
FILTERED = (
    "GET /tasks?contextId=c%2F1&status=TASK_STATE_WORKING&pageSize=2&historyLength=1&includeArtifacts=true"
    "&statusTimestampAfter=2026-11-30T00:00:00Z"
)
HOOK = "https://hooks.example/1"


def asked(line: str, body: object = None, *, version: str | None = None, raw: bytes | None = None) -> ParsedRequest:
    """What a request asks: its method and path, and its body."""
    method, _, target = line.partition(" ")
    path, _, query = target.partition("?")
    place = place_of(path.removeprefix("/").split("/"))
    assert place is not None
    sent = json.dumps(body).encode() if raw is None else raw
    return RestRequest(
        place=place,
        operation=place.operations[method],
        version=version,
        query=query.encode(),
        body=sent if method == "POST" else None,
    ).parse()


def operation(line: str, body: object = None) -> Operation:
    return asked(line, body).operation


# 1.0.


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("GET /tasks/t1", GetTask(task_id="t1")),
        ("GET /tasks/t1?historyLength=0", GetTask(task_id="t1", history_length=0)),
        ("GET /tasks/t1?history_length=7", GetTask(task_id="t1", history_length=7)),
        ("GET /tasks/t1?historyLength=", GetTask(task_id="t1")),
        ("GET /tasks/t1?id=other&x=1&x=2&A2A-Version=1.0", GetTask(task_id="t1")),
        ("GET /acme/tasks/t1", GetTask(task_id="t1", tenant="acme")),
        ("GET /tasks/t1?tenant=acme", GetTask(task_id="t1", tenant="acme")),
        ("GET /acme/tasks/t1?tenant=acme", GetTask(task_id="t1", tenant="acme")),
        ("GET /tasks", ListTasks()),
        (
            FILTERED,
            ListTasks(
                context_id="c/1",
                state=TaskState.WORKING,
                page_size=2,
                history_length=1,
                include_artifacts=True,
                changed_since_ms=1795996800000,
            ),
        ),
        ("GET /tasks?includeArtifacts=false&pageToken=abc", ListTasks(page_token="abc")),
        ("GET /acme/tasks", ListTasks(tenant="acme")),
        ("POST /tasks/t1:cancel", CancelTask(task_id="t1", again_ok=True)),
        ("GET /tasks/t1:subscribe", Subscribe(task_id="t1", ended_ok=False)),
        ("POST /acme/tasks/t1:subscribe", Subscribe(task_id="t1", ended_ok=False, tenant="acme")),
        ("GET /tasks/t1/pushNotificationConfigs", ListPushConfigs(task_id="t1")),
        (
            "GET /tasks/t1/pushNotificationConfigs?pageSize=2&pageToken=c1",
            ListPushConfigs(task_id="t1", page_size=2, page_token="c1"),
        ),
        ("GET /tasks/t1/pushNotificationConfigs/c1", GetPushConfig(task_id="t1", config_id="c1")),
        (
            "DELETE /acme/tasks/t1/pushNotificationConfigs/c1",
            DeletePushConfig(task_id="t1", config_id="c1", tenant="acme"),
        ),
        ("GET /extendedAgentCard", GetExtendedCard()),
        ("GET /acme/extendedAgentCard", GetExtendedCard(tenant="acme")),
    ],
)
@pytest.mark.requirement("1.0/11.5-query")
def test_a_path_and_its_query_are_an_operation_of_1_0(line: str, expected: Operation) -> None:
    one = asked(line)
    assert one.operation == expected
    assert one.dialect is V10


@pytest.mark.parametrize(("word", "stream"), [("send", False), ("stream", True)])
def test_a_message_of_1_0_is_taken_as_it_is(word: str, stream: bool) -> None:
    sent = operation(f"POST /message:{word}", {"message": MESSAGE_10, "metadata": {"k": 1}})
    assert isinstance(sent, SendMessage)
    assert (sent.stream, sent.tenant, sent.metadata) == (stream, None, {"k": 1})
    assert sent.message.message_id == "m"


@pytest.mark.parametrize(
    ("line", "body"),
    [
        ("POST /acme/message:send", {"message": MESSAGE_10}),
        ("POST /acme/message:send", {"message": MESSAGE_10, "tenant": ""}),
        ("POST /acme/message:send", {"message": MESSAGE_10, "tenant": "acme"}),
        ("POST /message:send", {"message": MESSAGE_10, "tenant": "acme"}),
    ],
)
def test_the_tenant_of_the_path_wins_where_the_body_names_none(line: str, body: Any) -> None:
    sent = operation(line, body)
    assert isinstance(sent, SendMessage)
    assert sent.tenant == "acme"


@pytest.mark.parametrize(
    ("line", "body", "field"),
    [
        ("POST /acme/message:send", {"message": MESSAGE_10, "tenant": "other"}, "tenant"),
        ("GET /acme/tasks?tenant=other", None, "tenant"),
        ("POST /tasks/t1:cancel", {"id": "t2"}, "id"),
        ("POST /tasks/t1/pushNotificationConfigs", {"taskId": "t2", "url": HOOK}, "taskId"),
        ("POST /tasks/t1/pushNotificationConfigs", {"task_id": "t2", "url": HOOK}, "taskId"),
        ("POST /tasks/t1/pushNotificationConfigs", {"taskId": 1, "url": HOOK}, "taskId"),
        ("GET /tasks?pageSize=1&pageSize=1", None, "pageSize"),
        ("GET /tasks/t?historyLength=1&history_length=1", None, "historyLength"),
        ("GET /tasks?includeArtifacts=yes", None, "includeArtifacts"),
        ("GET /tasks?includeArtifacts=True", None, "includeArtifacts"),
        ("GET /tasks?pageSize=0", None, "pageSize"),
        ("GET /tasks?pageSize=101", None, "pageSize"),
        ("GET /tasks?status=done", None, "status"),
        ("GET /tasks/t?historyLength=-1", None, "historyLength"),
        ("GET /tasks/t?historyLength=1.5", None, "historyLength"),
        ("GET /tasks/", None, "id"),
    ],
)
def test_what_contradicts_itself_or_is_not_valid_names_the_field(line: str, body: object, field: str) -> None:
    with pytest.raises(BadParams) as caught:
        asked(line, body)
    assert caught.value.field == field


@pytest.mark.parametrize("raw", [b"", b" \n", b"null", b" null ", b"{}", b'{"id":"t1"}', b'{"id":""}'])
@pytest.mark.parametrize("word", ["cancel", "subscribe"])
def test_a_verb_on_a_task_needs_no_body(word: str, raw: bytes) -> None:
    sent = asked(f"POST /tasks/t1:{word}", raw=raw).operation
    assert isinstance(sent, CancelTask | Subscribe)
    assert sent.task_id == "t1"


def test_a_cancel_may_bear_metadata() -> None:
    assert operation("POST /tasks/t1:cancel", {"metadata": {"why": "late"}}) == CancelTask(
        task_id="t1", again_ok=True, metadata={"why": "late"}
    )


@pytest.mark.parametrize("named", [{}, {"taskId": "t1"}, {"task_id": "t1"}])
def test_a_webhook_of_1_0_is_of_the_paths_task(named: Any) -> None:
    sent = operation("POST /acme/tasks/t1/pushNotificationConfigs", {**named, "id": "c1", "url": HOOK})
    assert isinstance(sent, SetPushConfig)
    assert (sent.task_id, sent.tenant, sent.config.id, sent.config.url) == ("t1", "acme", "c1", HOOK)
    assert sent.config.version == "1.0"


@pytest.mark.parametrize(
    ("raw", "error"),
    [
        (b"{", BadJson),
        (b"", BadJson),
        (b"null", BadRequest),
        (b"[]", BadRequest),
        (b'{"message":{},"message":{}}', BadRequest),
        (b"{}", BadParams),
        (b'{"message":"x"}', BadParams),
        (b'{"message":' + b"[" * 200 + b"]" * 200 + b"}", BadJson),
    ],
)
@pytest.mark.parametrize("path", ["/message:send", "/v1/message:stream", "/acme/message:send"])
def test_a_body_is_read_as_strictly_as_json_rpcs(path: str, raw: bytes, error: type[CallerError]) -> None:
    with pytest.raises(error) as caught:
        asked(f"POST {path}", raw=raw)
    assert "JSON-RPC" not in caught.value.public


# 0.3.


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("GET /v1/tasks/t1", GetTask(task_id="t1")),
        ("GET /v1/tasks/t1?historyLength=2", GetTask(task_id="t1", history_length=2)),
        ("GET /v1/tasks/t1?history_length=2", GetTask(task_id="t1", history_length=2)),
        ("GET /v1/tasks/t1?historyLength=0", GetTask(task_id="t1")),
        ("GET /v1/tasks/t1:subscribe", Subscribe(task_id="t1", ended_ok=True)),
        ("POST /v1/tasks/t1:subscribe", Subscribe(task_id="t1", ended_ok=True)),
        ("POST /v1/tasks/t1:cancel", CancelTask(task_id="t1", again_ok=False)),
        ("GET /v1/tasks/t1/pushNotificationConfigs", ListPushConfigs(task_id="t1")),
        ("GET /v1/tasks/t1/pushNotificationConfigs/c:1", GetPushConfig(task_id="t1", config_id="c:1")),
        ("DELETE /v1/tasks/t1/pushNotificationConfigs/c1", DeletePushConfig(task_id="t1", config_id="c1")),
        ("GET /v1/card", GetExtendedCard()),
    ],
)
def test_a_path_of_0_3_whose_body_shows_no_json_is_an_operation_of_its_proto(line: str, expected: Operation) -> None:
    one = asked(line)
    assert one.operation == expected
    assert one.dialect is V03_PROTO


def test_the_list_of_0_3_is_the_newest_tasks_in_the_schemas_json() -> None:
    one = asked("GET /v1/tasks?page_size=3&filter=x")
    assert one.operation == ListTasks(page_size=100, include_artifacts=True, bytes_of_files=False)
    assert one.dialect is V03


@pytest.mark.parametrize(
    ("body", "dialect"),
    [
        ({"message": MESSAGE_03}, V03),
        ({"message": {"kind": "message", **MESSAGE_03}}, V03),
        ({"message": {**MESSAGE_PROTO, "messageId": "m"}}, V03_PROTO),
        ({"message": {**MESSAGE_PROTO, "message_id": "m"}}, V03_SNAKE),
        ({"request": {**MESSAGE_PROTO, "message_id": "m"}}, V03_SNAKE),
        ({"message": {"messageId": "m", "role": 1, "content": [{"text": "hi"}]}}, V03_PROTO),
    ],
)
@pytest.mark.parametrize(("word", "stream"), [("send", False), ("stream", True)])
def test_a_message_of_0_3_shows_which_json_it_is_in(body: Any, dialect: object, word: str, stream: bool) -> None:
    one = asked(f"POST /v1/message:{word}", body)
    assert one.dialect is dialect
    assert isinstance(one.operation, SendMessage)
    assert (one.operation.message.message_id, one.operation.stream) == ("m", stream)


CONFIG = {"id": "c1", "url": HOOK}


@pytest.mark.parametrize(
    ("body", "dialect"),
    [
        # The request, as Python's clients and the kit send it; the config alone, as JavaScript's do.
        ({"parent": "tasks/t1", "config_id": "c1", "config": {"push_notification_config": CONFIG}}, V03_PROTO),
        ({"name": "tasks/t1/pushNotificationConfigs/c1", "pushNotificationConfig": CONFIG}, V03_PROTO),
        # The schema's object, and the prose's object around it.
        ({"taskId": "t1", "pushNotificationConfig": CONFIG}, V03),
        ({"taskId": "other", "pushNotificationConfig": CONFIG}, V03),
        ({"config": {"taskId": "t1", "pushNotificationConfig": CONFIG}}, V03),
    ],
)
def test_a_webhook_of_0_3_comes_in_four_shapes_and_is_of_the_paths_task(body: Any, dialect: object) -> None:
    one = asked("POST /v1/tasks/t1/pushNotificationConfigs", body)
    assert one.dialect is dialect
    assert isinstance(one.operation, SetPushConfig)
    assert (one.operation.task_id, one.operation.config.id, one.operation.config.url) == ("t1", "c1", HOOK)


@pytest.mark.parametrize(("body", "dialect"), [({"id": "t1"}, V03), ({"name": "tasks/t1"}, V03_PROTO), ({}, V03_PROTO)])
def test_a_verb_of_0_3_is_answered_in_the_json_of_its_body(body: Any, dialect: object) -> None:
    for word in ("cancel", "subscribe"):
        one = asked(f"POST /v1/tasks/t1:{word}", body)
        assert one.dialect is dialect
        assert isinstance(one.operation, CancelTask | Subscribe)
        assert one.operation.task_id == "t1"


# The version.


@pytest.mark.parametrize(
    "line",
    [
        "POST /message:send",
        "GET /tasks",
        "GET /tasks/t1",
        "POST /tasks/t1:cancel",
        "GET /tasks/t1:subscribe",
        "GET /tasks/t1/pushNotificationConfigs/c1",
        "GET /extendedAgentCard",
    ],
)
def test_an_unsupported_or_contradicting_version_is_refused_on_every_operation(line: str) -> None:
    method, path = line.split(" ")
    for version in ("99.0", "0.3", "x"):
        with pytest.raises(VersionNotSupported):
            asked(line, version=version)
    for version in ("99.0", "1.0"):
        with pytest.raises(VersionNotSupported):
            asked(f"{method} /v1{path.replace('extendedAgentCard', 'card')}", version=version)


@pytest.mark.parametrize(("line", "version"), [("GET /tasks", "1.0.1"), ("GET /v1/card", "0.3"), ("GET /tasks", "")])
def test_the_paths_own_version_or_none_is_fine(line: str, version: str) -> None:
    assert asked(line, version=version).dialect.version == ("0.3" if "v1" in line else "1.0")
