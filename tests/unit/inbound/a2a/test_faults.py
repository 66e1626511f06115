import json

import pytest

from llamon_agent.domain.errors import (
    BackendError,
    BadParams,
    CallerError,
    Conflict,
    ContentTypeNotSupported,
    ContextIsBusy,
    ExtendedCardNotConfigured,
    ExtensionSupportRequired,
    PushNotSupported,
    TaskHasEnded,
    TaskNotCancelable,
    TaskNotFound,
    UnsupportedOperation,
    VersionNotSupported,
)
from llamon_agent.inbound.a2a.bindings.jsonrpc.binding import RpcEnvelope
from llamon_agent.inbound.a2a.faults import FAULTS, fault_of, fault_reply
from llamon_agent.wire.operations import Dialect
from llamon_agent.wire.v03.codec import V03
from llamon_agent.wire.v10.codec import V10


def write_fault(call_id: bytes, error: Exception, dialect: Dialect) -> bytes:
    return RpcEnvelope(call_id).write_fault(fault_reply(error, dialect))


def leaves(kind: type[CallerError]) -> set[type[CallerError]]:
    below = kind.__subclasses__()
    return {leaf for child in below for leaf in leaves(child)} if below else {kind}


def test_every_caller_error_has_a_code() -> None:
    assert all(any(kind in FAULTS for kind in leaf.__mro__) for leaf in leaves(CallerError))


def test_every_entry_of_the_table_is_found_by_its_own_type() -> None:
    assert all(fault_of(kind()) is fault for kind, fault in FAULTS.items())


def test_an_error_without_an_entry_goes_by_its_kind() -> None:
    class TaskIsOld(TaskHasEnded):
        pass

    assert fault_of(TaskIsOld()).code == -32004


@pytest.mark.parametrize("error", [BackendError(), Conflict(), RuntimeError("secret"), KeyError("secret")])
def test_what_is_not_the_callers_fault_is_an_internal_error(error: Exception) -> None:
    assert fault_of(error).is_ours
    assert fault_of(error).code == -32603


def test_a_service_that_is_away_may_be_asked_again() -> None:
    assert fault_of(BackendError()).mapped("1.0.1") == ("UNAVAILABLE", 503)
    assert fault_of(RuntimeError()).mapped("1.0.1") == ("INTERNAL", 500)


@pytest.mark.parametrize(
    ("error", "of_101", "of_100"),
    [  # A2A 1.0.1 §5.4 and 1.0.0 §5.4
        (TaskNotFound, ("NOT_FOUND", 404), ("NOT_FOUND", 404)),
        (TaskNotCancelable, ("FAILED_PRECONDITION", 400), ("FAILED_PRECONDITION", 409)),
        (PushNotSupported, ("FAILED_PRECONDITION", 400), ("UNIMPLEMENTED", 400)),
        (UnsupportedOperation, ("FAILED_PRECONDITION", 400), ("UNIMPLEMENTED", 400)),
        (ContentTypeNotSupported, ("INVALID_ARGUMENT", 400), ("INVALID_ARGUMENT", 415)),
        (ExtendedCardNotConfigured, ("FAILED_PRECONDITION", 400), ("FAILED_PRECONDITION", 400)),
        (ExtensionSupportRequired, ("FAILED_PRECONDITION", 400), ("FAILED_PRECONDITION", 400)),
        (VersionNotSupported, ("FAILED_PRECONDITION", 400), ("UNIMPLEMENTED", 400)),
    ],
)
def test_an_error_is_mapped_by_the_table_that_is_configured(
    error: type[CallerError], of_101: tuple[str, int], of_100: tuple[str, int]
) -> None:
    fault = FAULTS[error]
    assert (fault.mapped("1.0.1"), fault.mapped("1.0.0")) == (of_101, of_100)


@pytest.mark.parametrize(("error", "code"), [(ExtensionSupportRequired(), -32600), (VersionNotSupported(), -32600)])
def test_a_code_that_0_3_does_not_know_never_reaches_its_callers(error: CallerError, code: int) -> None:
    assert fault_reply(error, V03).code == code
    assert fault_reply(error, V10).code == FAULTS[type(error)].code


def test_a_wrong_field_is_named_for_programs_too() -> None:
    error = json.loads(write_fault(b"1", BadParams("id is required.", field="id"), V10))["error"]
    assert error["data"][1] == {
        "@type": "type.googleapis.com/google.rpc.BadRequest",
        "fieldViolations": [{"field": "id", "description": "id is required."}],
    }


def test_what_an_exception_says_is_not_sent() -> None:
    response = write_fault(b"1", RuntimeError("secret"), V10)
    assert b"secret" not in response
    assert json.loads(response)["error"]["code"] == -32603


def test_a_fault_says_what_we_wrote() -> None:
    assert json.loads(write_fault(b"1", BadParams("id is required."), V03))["error"] == {
        "code": -32602,
        "message": "id is required.",
    }
    assert json.loads(write_fault(b"1", Conflict(), V03))["error"]["message"] == Conflict.public


def test_1_0_gets_the_reason() -> None:
    error = json.loads(write_fault(b"1", TaskNotFound(), V10))["error"]
    assert error["code"] == -32001
    assert error["data"][0]["@type"] == "type.googleapis.com/google.rpc.ErrorInfo"
    assert error["data"][0]["reason"] == "TASK_NOT_FOUND"


def test_a_busy_context_says_when_to_come_back() -> None:
    error = json.loads(write_fault(b"1", ContextIsBusy(), V10))["error"]
    assert error["code"] == -32000
    assert error["data"][1] == {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "2s"}


def test_a_version_that_is_not_supported_has_its_own_code() -> None:
    assert json.loads(write_fault(b"1", VersionNotSupported(), V10))["error"]["code"] == -32009
