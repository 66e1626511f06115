"""What calls over gRPC are for. A module of its own, so that what builds it needs no gRPC."""

import msgspec

from llamon_agent.inbound.a2a.bindings.asgi import Admission
from llamon_agent.inbound.a2a.bindings.web_guard import KnownHosts
from llamon_agent.inbound.a2a.endpoint import Performer
from llamon_agent.inbound.a2a.faults import ErrorTable


class GrpcTarget(msgspec.Struct, frozen=True, kw_only=True):
    """What a call over gRPC is for at this moment; a reload gives another one.

    Shape: errors is whose table of status codes is used; base_url is the address that cards name;
           known is None where a token is needed.
    """

    endpoint: Performer
    admission: Admission
    errors: ErrorTable = "1.0.1"
    base_url: str = ""
    known: KnownHosts | None = None
