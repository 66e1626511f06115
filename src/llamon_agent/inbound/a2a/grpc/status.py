"""How an error is told over gRPC: a status code, our text, and google.rpc details for programs.

Source: A2A 1.0.1 §10.6; google/rpc/status.proto (`grpc-status-details-bin`).
"""

import grpc
import msgspec
from google.protobuf.any_pb2 import Any as AnyMessage
from google.protobuf.json_format import ParseDict
from google.rpc import error_details_pb2  # type: ignore[import-untyped]  # noqa: F401 (the parser must know the details)
from google.rpc.status_pb2 import Status  # type: ignore[import-untyped]
from grpc_status.rpc_status import to_status

from llamon_agent.inbound.a2a.faults import ErrorTable, Refused
from llamon_agent.inbound.a2a.v10.codec import V10


def status_of(failure: Refused, table: ErrorTable) -> grpc.Status:
    """The status that an rpc ends with.

    0.3 knows no details, but they harm nobody. What its clients read is the text: the official one looks for the name
    of the error in front of a colon, so that is how a caller of 0.3 gets it.
    """
    name, _ = failure.fault.mapped(table)
    public = failure.public if failure.dialect.version == V10.version else f"{_name_03(failure)}: {failure.public}"
    details = msgspec.json.decode(V10.write_fault_data(failure.fault.reason, failure.public, failure.details))
    status: grpc.Status = to_status(
        Status(
            code=grpc.StatusCode[name].value[0],
            message=public,
            details=[ParseDict(detail, AnyMessage()) for detail in details],
        )
    )
    return status


def _name_03(failure: Refused) -> str:
    """`TaskNotFoundError` for TASK_NOT_FOUND."""
    return "".join(word.capitalize() for word in failure.fault.reason.split("_")) + "Error"
