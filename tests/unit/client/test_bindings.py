"""A client's calls and the errors that they end with, on both bindings."""

import json
from typing import Any

import pytest

from llamon_agent.client.bindings import Call, Operation, binding_of
from llamon_agent.client.card import Interface
from llamon_agent.client.errors import Busy, NoSuchTask, NotA2A, Refused, RemoteError, TaskEnded

RPC = Interface("http://h/a2a?x=1", "JSONRPC", "1.0", "acme")
REST = Interface("http://h/a2a/?x=1", "HTTP+JSON", "1.0", "a/c")
OLD_RPC = Interface("http://h/a2a", "JSONRPC", "0.3")
OLD_REST = Interface("http://h/a2a", "HTTP+JSON", "0.3")


def bytes_of(value: Any) -> bytes:
    return json.dumps(value).encode()


def test_a_call_over_json_rpc_is_one_url_and_a_method() -> None:
    call = binding_of(RPC).call(Operation.GET, task_id="t1")
    assert (call.method, call.url) == ("POST", "http://h/a2a?x=1")
    body = {"jsonrpc": "2.0", "id": "1", "method": "GetTask", "params": {"id": "t1", "tenant": "acme"}}
    assert json.loads(call.content or b"") == body
    sent = json.loads(binding_of(OLD_RPC).call(Operation.STREAM, message=b'{"message":{}}').content or b"")
    assert (sent["method"], sent["params"]) == ("message/stream", {"message": {}})


@pytest.mark.parametrize(
    ("operation", "method"),
    [
        (Operation.SEND, "message/send"),
        (Operation.STREAM, "message/stream"),
        (Operation.GET, "tasks/get"),
        (Operation.CANCEL, "tasks/cancel"),
        (Operation.SUBSCRIBE, "tasks/resubscribe"),
    ],
)
def test_old_methods_have_their_own_names(operation: Operation, method: str) -> None:
    call = binding_of(OLD_RPC).call(operation, task_id="t1")
    assert json.loads(call.content or b"")["method"] == method


def test_a_call_over_http_json_is_a_path() -> None:
    rest, old = binding_of(REST), binding_of(OLD_REST)
    assert rest.call(Operation.SEND, message=b"{1}") == Call("POST", "http://h/a2a/a%2Fc/message:send?x=1", b"{1}")
    assert rest.call(Operation.GET, task_id="a/b?") == Call("GET", "http://h/a2a/a%2Fc/tasks/a%2Fb%3F?x=1")
    assert old.call(Operation.STREAM, message=b"{}") == Call("POST", "http://h/a2a/v1/message:stream", b"{}")
    assert old.call(Operation.CANCEL, task_id="t") == Call("POST", "http://h/a2a/v1/tasks/t:cancel", b"{}")
    assert old.call(Operation.SUBSCRIBE, task_id="t") == Call("POST", "http://h/a2a/v1/tasks/t:subscribe")


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (-32001, NoSuchTask),
        (-32002, TaskEnded),
        (-32004, TaskEnded),
        (-32000, Busy),
        (-32602, Refused),
        (None, Refused),
    ],
)
def test_an_error_over_json_rpc_is_told_by_its_code(code: int | None, kind: type[RemoteError]) -> None:
    body = bytes_of({"error": {"code": code, "message": "no"}})
    with pytest.raises(kind) as raised:
        binding_of(RPC).result(body)
    assert (type(raised.value), raised.value.said, raised.value.code) == (kind, "no", code)


@pytest.mark.parametrize("body", [b"<html>", b"[1]", b"{}", b'{"error":"no"}', b"[" * 100_000, b'"\xff"'])
def test_what_is_no_json_rpc_is_told_by_its_url(body: bytes) -> None:
    with pytest.raises(NotA2A) as raised:
        binding_of(RPC).result(body)
    assert "http://h/a2a" in raised.value.detail
    assert binding_of(RPC).error(body, 400) is None


def test_with_a_status_of_http_only_a_busy_agent_is_told_by_the_body() -> None:
    busy, other = (bytes_of({"error": {"code": code, "message": "no"}}) for code in (-32000, -32001))
    assert type(binding_of(RPC).error(busy, 429)) is Busy
    assert binding_of(RPC).error(other, 404) is None
    assert binding_of(RPC).error(b'{"result":1}', 500) is None


def status(reason: Any, **more: Any) -> bytes:
    info = {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": reason}
    return bytes_of({"error": {"code": 404, "message": "no", "details": [7, {"@type": "x"}, info], **more}})


@pytest.mark.parametrize(
    ("body", "http", "kind"),
    [
        (status("TASK_NOT_FOUND"), 404, NoSuchTask),
        (status("TASK_NOT_CANCELABLE"), 400, TaskEnded),
        (status("CONTEXT_IS_BUSY"), 429, Busy),
        (status("INTERNAL_ERROR"), 500, Refused),
        (status(7), 404, None),
        (status("TASK_NOT_FOUND", details=None), 404, None),
        (bytes_of({"type": "TaskNotFoundError", "message": "no"}), 404, NoSuchTask),
        (bytes_of({"code": -32002, "message": "no"}), 409, TaskEnded),
        (bytes_of({"message": "no"}), 409, TaskEnded),
        (bytes_of({"message": "no"}), 422, Refused),
        (bytes_of({"message": "no"}), 500, None),
        (bytes_of({"detail": "Not Found"}), 404, None),
        (b"<html>", 404, None),
    ],
)
def test_an_error_over_http_json_is_told_by_what_there_is(
    body: bytes, http: int, kind: type[RemoteError] | None
) -> None:
    error = binding_of(OLD_REST).error(body, http)
    assert (None if error is None else type(error)) is kind
    assert error is None or error.said == "no"


def test_an_error_within_a_stream_is_an_event_of_its_own_kind() -> None:
    rest = binding_of(REST)
    assert rest.result(b"{}") == b"{}"
    with pytest.raises(NoSuchTask):
        rest.result(status("TASK_NOT_FOUND"), is_error=True)
    with pytest.raises(NotA2A):
        rest.result(b"gone", is_error=True)
