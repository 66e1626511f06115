import grpc
import pytest
from a2a.utils.errors import A2A_REASON_TO_ERROR
from google.rpc import error_details_pb2, status_pb2  # type: ignore[import-untyped]

from llamon_agent.domain.errors import BadParams, CallerError, ContextIsBusy, TaskNotFound, VersionNotSupported
from llamon_agent.inbound.a2a.bindings.grpc.binding import status_of
from llamon_agent.inbound.a2a.faults import FAULTS, ErrorTable, FaultReply, fault_reply
from llamon_agent.wire.operations import Dialect
from llamon_agent.wire.v03_proto.codec import V03_PROTO
from llamon_agent.wire.v10.codec import V10


def rich(failure: FaultReply) -> status_pb2.Status:
    """The google.rpc.Status in a status."""
    return status_pb2.Status.FromString(dict(status_of(failure, "1.0.1").trailing_metadata)["grpc-status-details-bin"])


@pytest.mark.parametrize("kind", FAULTS)
def test_every_error_has_a_status_and_its_reason(kind: type[CallerError]) -> None:
    failure = fault_reply(kind(), V10)
    status = status_of(failure, "1.0.1")
    assert (status.code.name, status.details) == (FAULTS[kind].grpc, kind.public)
    info = error_details_pb2.ErrorInfo()
    assert rich(failure).details[0].Unpack(info)
    assert (info.reason, info.domain) == (FAULTS[kind].reason, "a2a-protocol.org")


@pytest.mark.parametrize(
    ("table", "code"), [("1.0.1", grpc.StatusCode.FAILED_PRECONDITION), ("1.0.0", grpc.StatusCode.UNIMPLEMENTED)]
)
def test_the_table_decides_the_code(table: ErrorTable, code: grpc.StatusCode) -> None:
    assert status_of(fault_reply(VersionNotSupported(), V10), table).code is code


@pytest.mark.parametrize("dialect", [V10, V03_PROTO])
def test_what_a_program_can_use_comes_along(dialect: Dialect) -> None:
    retry, bad = error_details_pb2.RetryInfo(), error_details_pb2.BadRequest()
    assert rich(fault_reply(ContextIsBusy(), dialect)).details[1].Unpack(retry)
    assert retry.retry_delay.seconds == ContextIsBusy.retry_after_s
    assert rich(fault_reply(BadParams("id is required.", field="id"), dialect)).details[1].Unpack(bad)
    assert [one.field for one in bad.field_violations] == ["id"]


def test_a_0_3_caller_finds_the_errors_name_where_its_client_looks_for_it() -> None:
    assert (
        status_of(fault_reply(TaskNotFound(), V03_PROTO), "1.0.1").details
        == "TaskNotFoundError: The task was not found."
    )


def test_the_names_are_those_that_the_official_client_knows() -> None:
    ours = {fault.reason for fault in FAULTS.values()}
    known = {reason: kind.__name__ for reason, kind in A2A_REASON_TO_ERROR.items() if reason in ours}
    assert len(known) > 6
    for reason, name in known.items():
        kind = next(kind for kind, fault in FAULTS.items() if fault.reason == reason)
        details = status_of(fault_reply(kind(), V03_PROTO), "1.0.1").details
        assert details.startswith(f"{name}: ")
