import json
from typing import Any

import pytest

from llamon_agent.domain.errors import (
    BadJson,
    BadParams,
    ContextIsBusy,
    ExtensionSupportRequired,
    LlamonError,
    PushNotSupported,
    TaskNotCancelable,
    TaskNotFound,
    Unauthenticated,
    VersionNotSupported,
)
from llamon_agent.inbound.a2a.bindings.rest.errors import RestEnvelope, write_error
from llamon_agent.inbound.a2a.faults import FAULTS, fault_reply
from llamon_agent.wire.operations import Dialect
from llamon_agent.wire.v03_proto.codec import V03_PROTO
from llamon_agent.wire.v10.codec import V10


def told(error: Exception, dialect: Dialect = V10, **more: Any) -> tuple[int, Any]:
    status, body = write_error(fault_reply(error, dialect), more.pop("table", "1.0.1"), **more)
    return status, json.loads(body)


def test_an_error_of_1_0_is_a_google_rpc_status() -> None:
    info = {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "TASK_NOT_FOUND"}
    info |= {"domain": "a2a-protocol.org", "metadata": {}}  # type: ignore[dict-item]
    error = {"code": 404, "status": "NOT_FOUND", "message": "The task was not found.", "details": [info]}
    assert told(TaskNotFound()) == (404, {"error": error})


@pytest.mark.parametrize(
    ("error", "of_101", "of_100"),
    [
        (TaskNotCancelable(), (400, "FAILED_PRECONDITION"), (409, "FAILED_PRECONDITION")),
        (PushNotSupported(), (400, "FAILED_PRECONDITION"), (400, "UNIMPLEMENTED")),
        (VersionNotSupported(), (400, "FAILED_PRECONDITION"), (400, "UNIMPLEMENTED")),
        (ContextIsBusy(), (429, "RESOURCE_EXHAUSTED"), (429, "RESOURCE_EXHAUSTED")),
        (Unauthenticated(), (401, "UNAUTHENTICATED"), (401, "UNAUTHENTICATED")),
    ],
)
def test_the_status_is_that_of_the_configured_table(
    error: Exception, of_101: tuple[int, str], of_100: tuple[int, str]
) -> None:
    for table, expected in (("1.0.1", of_101), ("1.0.0", of_100)):
        status, body = told(error, table=table)
        assert (status, body["error"]["status"]) == expected
        assert body["error"]["code"] == status


def test_details_follow_the_error_info() -> None:
    _, body = told(BadParams("id is required.", field="id"))
    info, bad_request = body["error"]["details"]
    assert info["reason"] == "INVALID_PARAMS"
    assert bad_request["fieldViolations"] == [{"field": "id", "description": "id is required."}]


def test_an_error_of_0_3_has_what_each_of_its_clients_reads() -> None:
    assert told(TaskNotFound(), V03_PROTO) == (
        404,
        {
            "code": -32001,
            "message": "The task was not found.",
            "type": "TaskNotFoundError",
            "error": "io.a2a.spec.TaskNotFoundError",
        },
    )


@pytest.mark.parametrize("error", [VersionNotSupported(), ExtensionSupportRequired()])
def test_codes_that_0_3_does_not_know_do_not_reach_it(error: Exception) -> None:
    _, body = told(error, V03_PROTO)
    assert (body["code"], body["type"]) == (-32600, "InvalidRequestError")


def test_an_error_without_a_name_in_0_3_has_none() -> None:
    assert told(ContextIsBusy(), V03_PROTO)[1].keys() == {"code", "message"}


def test_every_error_is_written_in_both_versions() -> None:
    for kind in FAULTS:
        for dialect in (V10, V03_PROTO):
            status, body = told(kind(), dialect)
            assert 400 <= status < 500
            assert kind.public in json.dumps(body)


def test_our_own_fault_says_nothing_of_its_cause() -> None:
    for dialect in (V10, V03_PROTO):
        status, body = told(RuntimeError("secret"), dialect)
        assert status == 500
        assert LlamonError.public in json.dumps(body)
        assert "secret" not in json.dumps(body)


def test_a_status_that_says_more_than_the_table_is_in_the_body_too() -> None:
    status, body = told(BadJson(), http=413)
    assert (status, body["error"]["code"]) == (413, 413)


def test_the_last_event_of_a_broken_stream_is_an_error_event() -> None:
    envelope = RestEnvelope("1.0.0")
    failure = fault_reply(TaskNotCancelable(), V10)
    assert envelope.around == (b"", b"")
    assert envelope.error_event == b"error"
    assert json.loads(envelope.write_fault(failure))["error"]["code"] == 409
