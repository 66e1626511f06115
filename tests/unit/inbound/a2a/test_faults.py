import json

import pytest

from llamon_agent.domain.errors import (
    BackendError,
    BadParams,
    CallerError,
    Conflict,
    ContextIsBusy,
    TaskHasEnded,
    TaskNotFound,
    Unauthenticated,
    VersionNotSupported,
)
from llamon_agent.inbound.a2a.faults import FAULTS, INTERNAL, fault_of, write_fault
from llamon_agent.inbound.a2a.v03.codec import V03
from llamon_agent.inbound.a2a.v10.codec import V10


def leaves(kind: type[CallerError]) -> set[type[CallerError]]:
    below = kind.__subclasses__()
    return {leaf for child in below for leaf in leaves(child)} if below else {kind}


def test_every_caller_error_has_a_code() -> None:
    assert leaves(CallerError) - {Unauthenticated} <= set(FAULTS)


def test_every_entry_of_the_table_is_found_by_its_own_type() -> None:
    assert all(fault_of(kind()) is fault for kind, fault in FAULTS.items())


def test_an_error_without_an_entry_goes_by_its_kind() -> None:
    class TaskIsOld(TaskHasEnded):
        pass

    assert fault_of(TaskIsOld()).code == -32004


@pytest.mark.parametrize("error", [BackendError(), Conflict(), RuntimeError("secret"), KeyError("secret")])
def test_what_is_not_the_callers_fault_is_an_internal_error(error: Exception) -> None:
    assert fault_of(error) is INTERNAL


def test_what_an_exception_says_is_not_told() -> None:
    response = write_fault(b"1", RuntimeError("secret"), V10)
    assert b"secret" not in response
    assert json.loads(response)["error"]["code"] == -32603


def test_what_we_wrote_is_told() -> None:
    assert json.loads(write_fault(b"1", BadParams("id is required."), V03))["error"] == {
        "code": -32602,
        "message": "id is required.",
    }
    assert json.loads(write_fault(b"1", Conflict(), V03))["error"]["message"] == Conflict.public


def test_1_0_is_told_the_reason() -> None:
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
