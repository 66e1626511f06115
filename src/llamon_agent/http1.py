"""HTTP/1.1 as uvicorn reads it, without upgrades: the Upgrade header is passed over, and the request is answered.

Java's HTTP client, for one, offers HTTP/2 with its first request on every plain connection. A server may ignore that
(RFC 9110 §7.8), but the parser stops reading where an upgrade is asked for, and the request's body would be lost. So
the parser is not shown the header by its name. A line of that name cannot occur in a JSON body, whose strings hold no
raw line breaks.
"""

import re

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

_UPGRADE = re.compile(rb"\r\nupgrade[ \t]*:", re.IGNORECASE)


class NoUpgrades(HttpToolsProtocol):
    """uvicorn's protocol, deaf to Upgrade."""

    def data_received(self, data: bytes) -> None:
        if b"pgrade" in data or b"PGRADE" in data:  # cheap, as nearly no request has one
            data = _UPGRADE.sub(b"\r\nX-Upgrade:", data)
        super().data_received(data)

    def shutdown(self) -> None:
        """The server stops: let go of a caller whose request is not whole, as it may never be. Others are answered."""
        began = self.cycle is not None  # it is None before the first request, whatever its type says
        if began and self.cycle.more_body and not self.cycle.response_complete:
            self.transport.close()
        super().shutdown()
