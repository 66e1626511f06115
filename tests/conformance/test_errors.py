"""The error table: every error of A2A, by both profiles, as each binding writes it."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import msgspec
import pytest
from tests.conformance.sites import Grpc, Host, JsonRpc, Rest, Site, message, site

from llamon_agent.inbound.a2a.faults import FAULTS, Fault

REQUIRED = "https://example.com/extensions/careful/v1"


class Row(msgspec.Struct, frozen=True):
    """An error as A2A has it. Shape: http and grpc are those of 1.0.1, and of 1.0.0 where they were others."""

    code: int
    grpc: str
    http: int
    of_100: tuple[str, int] | None = None


# Source: A2A 1.0.0 and 1.0.1 §5.4.
TABLE: Mapping[str, Row] = {
    "TASK_NOT_FOUND": Row(-32001, "NOT_FOUND", 404),
    "TASK_NOT_CANCELABLE": Row(-32002, "FAILED_PRECONDITION", 400, ("FAILED_PRECONDITION", 409)),
    "PUSH_NOTIFICATION_NOT_SUPPORTED": Row(-32003, "FAILED_PRECONDITION", 400, ("UNIMPLEMENTED", 400)),
    "UNSUPPORTED_OPERATION": Row(-32004, "FAILED_PRECONDITION", 400, ("UNIMPLEMENTED", 400)),
    "CONTENT_TYPE_NOT_SUPPORTED": Row(-32005, "INVALID_ARGUMENT", 400, ("INVALID_ARGUMENT", 415)),
    "EXTENDED_AGENT_CARD_NOT_CONFIGURED": Row(-32007, "FAILED_PRECONDITION", 400),
    "EXTENSION_SUPPORT_REQUIRED": Row(-32008, "FAILED_PRECONDITION", 400),
    "VERSION_NOT_SUPPORTED": Row(-32009, "FAILED_PRECONDITION", 400, ("UNIMPLEMENTED", 400)),
}
"""InvalidAgentResponse is left out: an agent is checked when it says something, and what is wrong fails its task."""


async def _canceled_too_late(host: Host) -> Any:
    return await host.call("CancelTask", id=(await host.begin("tck-complete-task"))["id"])


async def _of_a_type_that_is_not_taken(host: Host) -> Any:
    return await host.call("SendMessage", **message("m", parts=[{"raw": "aGk=", "mediaType": "image/png"}]))


OCCASIONS: Mapping[str, Callable[[Host], Awaitable[Any]]] = {
    "TASK_NOT_FOUND": lambda host: host.call("GetTask", id="unknown"),
    "TASK_NOT_CANCELABLE": _canceled_too_late,
    "PUSH_NOTIFICATION_NOT_SUPPORTED": lambda host: host.call("ListTaskPushNotificationConfigs", taskId="unknown"),
    "UNSUPPORTED_OPERATION": lambda host: host.call("GetExtendedAgentCard"),
    "CONTENT_TYPE_NOT_SUPPORTED": _of_a_type_that_is_not_taken,
}


def test_the_table_holds_every_error_of_the_specification() -> None:
    ours = {fault.reason: fault for fault in FAULTS.values() if fault.code in range(-32009, -32000)}
    assert ours == {reason: Fault(row.code, reason, row.grpc, row.http, row.of_100) for reason, row in TABLE.items()}


@pytest.mark.requirement("1.0/5.4-error-codes")
@pytest.mark.requirement("1.0/10.6-error-info")
@pytest.mark.parametrize("errors", ["1.0.1", "1.0.0"])
async def test_each_error_has_the_code_of_the_profile(errors: str) -> None:
    async with site({"errors": errors, "push": {"enabled": False}}, input_modes=["text/plain"]) as at:
        for reason, occasion in OCCASIONS.items():
            await _assert_told(at, reason, occasion, errors)
        await _assert_told(at, "VERSION_NOT_SUPPORTED", OCCASIONS["TASK_NOT_FOUND"], errors, version="99.0")
    async with site({"errors": errors}, extensions=[{"uri": REQUIRED, "required": True}]) as at:
        await _assert_told(at, "EXTENSION_SUPPORT_REQUIRED", OCCASIONS["TASK_NOT_FOUND"], errors)


async def _assert_told(
    at: Site, reason: str, occasion: Callable[[Host], Awaitable[Any]], errors: str, *, version: str = "1.0"
) -> None:
    row = TABLE[reason]
    grpc, http = row.of_100 if row.of_100 and errors == "1.0.0" else (row.grpc, row.http)
    rpc, rest, channel = [
        await occasion(binding(at, headers={"A2A-Version": version})) for binding in (JsonRpc, Rest, Grpc)
    ]
    assert (rpc.reason, rpc.status, rpc.code) == (reason, 200, row.code)
    assert (rest.reason, rest.status, rest.code, rest.body["error"]["status"]) == (reason, http, http, grpc)
    assert (channel.reason, channel.status) == (reason, grpc)
    assert rpc.message == rest.message == channel.message
