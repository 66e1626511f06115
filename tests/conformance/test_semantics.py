"""Which callers may ask, in which version, for which capability; and what an error says."""

import json
import logging
from collections.abc import Mapping
from typing import Any

import pytest
from tests.conformance.sites import BINDINGS, HTTP_BINDINGS, Host, JsonRpc, Rest, Site, message, site, state_of

WEBHOOK = {"url": "http://127.0.0.1:9/hook"}
EXTENSION = "https://example.com/extensions/careful/v1"

ERROR_INFO = {
    "@type": "type.googleapis.com/google.rpc.ErrorInfo",
    "reason": "TASK_NOT_FOUND",
    "domain": "a2a-protocol.org",
    "metadata": {},
}

# One call of each operation, about the task of somebody else or of nobody.
OF_A_TASK: Mapping[str, Mapping[str, Any]] = {
    "GetTask": {},
    "CancelTask": {},
    "SubscribeToTask": {},
}
OF_WEBHOOKS: Mapping[str, Mapping[str, Any]] = {
    "CreateTaskPushNotificationConfig": WEBHOOK,
    "GetTaskPushNotificationConfig": {"id": "w1"},
    "ListTaskPushNotificationConfigs": {},
    "DeleteTaskPushNotificationConfig": {"id": "w1"},
}


def about(task_id: str) -> list[tuple[str, dict[str, Any]]]:
    """A call of each operation on a task."""
    of_a_task = [(operation, {"id": task_id, **params}) for operation, params in OF_A_TASK.items()]
    return of_a_task + [(operation, {"taskId": task_id, **params}) for operation, params in OF_WEBHOOKS.items()]


EVERY_CALL = [
    ("SendMessage", message("tck-complete-task")),
    ("SendStreamingMessage", message("tck-complete-task")),
    ("ListTasks", {}),
    ("GetExtendedAgentCard", {}),
    *about("t1"),
]


def outcome(answer: Any) -> Any:
    """An answer without what names the task that was asked for."""
    return answer.status, answer.reason, answer.message


@pytest.mark.requirement("1.0/3.3.2-unauthenticated")
@pytest.mark.requirement("1.0/7.4-every-request")
@pytest.mark.requirement("1.0/3.1.11-extended-card")
@pytest.mark.requirement("0.3/4.4-every-request")
@pytest.mark.parametrize("binding", HTTP_BINDINGS, ids=lambda binding: binding.name)
@pytest.mark.parametrize(("operation", "params"), EVERY_CALL, ids=[operation for operation, _ in EVERY_CALL])
async def test_no_operation_is_for_strangers(
    at: Site, binding: type[JsonRpc] | type[Rest], operation: str, params: dict[str, Any]
) -> None:
    for token in (None, "wrong"):
        response = await at.http.send(binding(at, token=token).request(operation, params))
        assert (response.status_code, response.headers["www-authenticate"]) == (401, "Bearer")


@pytest.mark.requirement("1.0/3.3.2-nothing-revealed")
@pytest.mark.requirement("1.0/3.1.4-own-tasks")
@pytest.mark.requirement("1.0/13.1-scoped")
async def test_another_callers_task_looks_like_none(at: Site, host: Host, strangers_token: str) -> None:
    task = await host.begin("tck-input-required")
    stranger = type(host)(at, token=strangers_token)
    theirs = [outcome(await stranger.call(operation, **params)) for operation, params in about(task["id"])]
    nobodys = [outcome(await stranger.call(operation, **params)) for operation, params in about("nobody")]
    assert theirs == nobodys
    assert (await stranger.value("ListTasks"))["totalSize"] == 0
    assert await stranger.refused("SendMessage", **message("x", taskId=task["id"])) == "TASK_NOT_FOUND"
    assert await host.value("GetTask", id=task["id"]) == task


@pytest.mark.requirement("1.0/3.3.4-no-push")
async def test_an_agent_without_webhooks_refuses_all_that_is_about_them() -> None:
    async with site({"push": {"enabled": False}}) as at:
        for host in (binding(at) for binding in BINDINGS):
            task = await host.begin("tck-input-required")
            for task_id in (task["id"], "unknown"):
                for operation, params in OF_WEBHOOKS.items():
                    reason = await host.refused(operation, taskId=task_id, **params)
                    assert reason == "PUSH_NOTIFICATION_NOT_SUPPORTED"
            inline = message("tck-complete-task", configuration={"taskPushNotificationConfig": WEBHOOK})
            assert await host.refused("SendMessage", **inline) == "PUSH_NOTIFICATION_NOT_SUPPORTED"


@pytest.mark.requirement("1.0/3.3.4-no-streaming")
async def test_an_agent_that_does_not_stream_refuses_streams() -> None:
    async with site(streaming=False) as at:
        for host in (binding(at) for binding in BINDINGS):
            task = await host.begin("tck-input-required")
            streams = ("SendStreamingMessage", message("tck-complete-task")), ("SubscribeToTask", {"id": task["id"]})
            for operation, params in streams:
                assert await host.refused(operation, **params) == "UNSUPPORTED_OPERATION"


@pytest.mark.requirement("1.0/3.3.4-no-extended-card")
async def test_an_agent_without_an_extended_card_does_not_support_asking_for_it(host: Host) -> None:
    assert await host.refused("GetExtendedAgentCard") == "UNSUPPORTED_OPERATION"


@pytest.mark.requirement("1.0/3.3.4-required-extension")
@pytest.mark.requirement("1.0/9.2-headers")
@pytest.mark.requirement("1.0/11.2-headers")
@pytest.mark.parametrize("header", ["A2A-Extensions", "a2a-extensions", "X-A2A-Extensions"])
async def test_a_required_extension_must_be_named(header: str) -> None:
    async with site(extensions=[{"uri": EXTENSION, "required": True}]) as at:
        for binding in HTTP_BINDINGS:
            assert await binding(at).refused("ListTasks") == "EXTENSION_SUPPORT_REQUIRED"
            answer = await binding(at, headers={header: f"https://example.com/other, {EXTENSION}"}).call("ListTasks")
            assert (answer.reason, answer.headers[header]) == (None, EXTENSION)


@pytest.mark.requirement("1.0/3.6.2-version")
@pytest.mark.parametrize("version", ["1.0", "1.0.1"])
async def test_a_request_is_answered_in_the_version_that_it_names(at: Site, token: str, version: str) -> None:
    for binding in BINDINGS:
        host = binding(at, token=token, headers={"a2a-version": version})
        assert state_of(await host.begin("tck-complete-task")) == "COMPLETED"


@pytest.mark.requirement("1.0/3.6.2-unsupported-version")
@pytest.mark.parametrize("version", ["0.1", "1.7", "2.0", "99.0", "one"])
async def test_a_version_that_is_not_spoken_is_refused_for_every_operation(at: Site, token: str, version: str) -> None:
    for binding in BINDINGS:
        host = binding(at, token=token, headers={"A2A-Version": version})
        for operation, params in EVERY_CALL:
            assert await host.refused(operation, **params) == "VERSION_NOT_SUPPORTED", operation


@pytest.mark.requirement("1.0/3.6.2-no-version")
@pytest.mark.parametrize("headers", [{}, {"A2A-Version": ""}])
async def test_without_a_version_methods_of_03_are_answered_as_in_03(
    at: Site, token: str, headers: dict[str, str]
) -> None:
    params = {"message": {"messageId": "tck-complete-task", "role": "user", "parts": [{"kind": "text", "text": "x"}]}}
    body = {"jsonrpc": "2.0", "id": 1, "method": "message/send", "params": params}
    response = await at.http.post("/a2a", json=body, headers={**headers, "Authorization": f"Bearer {token}"})
    assert (response.json()["result"]["kind"], response.json()["result"]["status"]["state"]) == ("task", "completed")


BAD_SENDS: Mapping[str, dict[str, Any]] = {
    "no message": {},
    "no parts": {"message": {"messageId": "m", "role": "ROLE_USER"}},
    "empty parts": message("m", parts=[]),
    "no messageId": {"message": {"role": "ROLE_USER", "parts": [{"text": "x"}]}},
    "no role": {"message": {"messageId": "m", "parts": [{"text": "x"}]}},
    "unknown role": message("m", role="ROLE_BOSS"),
    "a part of two kinds": message("m", parts=[{"text": "x", "url": "https://example.com"}]),
    "a part of no kind": message("m", parts=[{"metadata": {}}]),
    "bytes that are no base64": message("m", parts=[{"raw": "?"}]),
    "a negative historyLength": message("m", configuration={"historyLength": -1}),
    "a number for a text": message("m", parts=[{"text": 1}]),
}


@pytest.mark.requirement("1.0/5.7-required-fields")
@pytest.mark.requirement("1.0/3.3.2-input-is-checked")
@pytest.mark.parametrize("params", BAD_SENDS.values(), ids=BAD_SENDS)
async def test_a_message_that_is_not_valid_begins_nothing(http_host: Host, params: dict[str, Any]) -> None:
    for operation in ("SendMessage", "SendStreamingMessage"):
        assert await http_host.refused(operation, **params) == "INVALID_PARAMS"
    assert (await http_host.value("ListTasks"))["totalSize"] == 0


@pytest.mark.requirement("1.0/3.3.2-error-tells")
@pytest.mark.requirement("1.0/9.5-error-data")
async def test_an_error_over_json_rpc_has_a_list_of_details(at: Site, token: str) -> None:
    answer = await JsonRpc(at, token=token).call("GetTask", id="unknown")
    error = answer.body["error"]
    assert (answer.status, error["code"], error["message"]) == (200, -32001, "The task was not found.")
    assert error["data"] == [ERROR_INFO]


@pytest.mark.requirement("1.0/11.6-error-info")
async def test_an_error_over_http_is_a_status_with_the_same_details(at: Site, token: str) -> None:
    answer = await Rest(at, token=token).call("GetTask", id="unknown")
    error = answer.body["error"]
    assert (answer.status, error["code"], error["status"]) == (404, 404, "NOT_FOUND")
    assert error["details"] == [ERROR_INFO]


@pytest.mark.requirement("1.0/9.3-envelope")
@pytest.mark.requirement("0.3/6.11-envelope")
@pytest.mark.parametrize(
    ("body", "code", "call_id"),
    [
        (b"{", -32700, None),
        (b'{"jsonrpc": "1.0", "id": 1, "method": "GetTask"}', -32600, 1),
        (b'{"jsonrpc": "2.0", "id": {}, "method": "GetTask"}', -32600, None),
        (b'{"jsonrpc": "2.0", "id": "a", "method": "Nonsense"}', -32601, "a"),
        (b'{"jsonrpc": "2.0", "id": 7, "method": "GetTask", "params": []}', -32602, 7),
    ],
)
async def test_what_is_no_call_of_ours_is_an_error_of_json_rpc(
    at: Site, token: str, body: bytes, code: int, call_id: object
) -> None:
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {token}"}
    response = (await at.http.post("/a2a", content=body, headers=headers)).json()
    assert (response["jsonrpc"], response["id"], response["error"]["code"]) == ("2.0", call_id, code)
    assert "result" not in response


@pytest.mark.requirement("1.0/13.4-no-secrets")
async def test_neither_answers_nor_logs_hold_a_token_or_an_exceptions_text_for_callers(
    host: Host, token: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG):
        task = await host.begin("llamon-fail")
    assert state_of(task) == "FAILED"
    assert "secret" not in json.dumps(task)
    assert token not in caplog.text


@pytest.mark.requirement("1.0/5.5-camel-case")
@pytest.mark.requirement("1.0/5.5-enum-names")
@pytest.mark.requirement("1.0/5.6.1-timestamps")
async def test_json_has_camel_case_enum_names_and_times_in_utc(http_host: Host) -> None:
    events = await http_host.events("SendStreamingMessage", **message("tck-artifact-file"))
    written = json.dumps(events)
    assert not [key for key in keys_of(events) if "_" in key or key[0].isupper()]
    assert '"TASK_STATE_COMPLETED"' in written
    assert '"ROLE_USER"' in written
    times = timestamps_of(events)
    assert times
    assert all(len(time) == len("2026-01-02T03:04:05.678Z") and time.endswith("Z") for time in times)


def keys_of(value: Any) -> set[str]:
    match value:
        case dict():
            return {*value, *(key for each in value.values() for key in keys_of(each))}
        case list():
            return {key for each in value for key in keys_of(each)}
    return set()


def timestamps_of(value: Any) -> list[str]:
    match value:
        case {"timestamp": str(time)}:
            return [time]
        case dict():
            return [time for each in value.values() for time in timestamps_of(each)]
        case list():
            return [time for each in value for time in timestamps_of(each)]
    return []
