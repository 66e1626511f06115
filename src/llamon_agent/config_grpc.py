"""The section `a2a.grpc`: where gRPC is spoken."""

from pathlib import Path
from typing import Literal

from llamon_agent.config_section import Section
from llamon_agent.config_values import HostPort
from llamon_agent.inbound.a2a.card import Scheme


class GrpcTlsConfig(Section):
    """TLS for gRPC, by files in PEM. They are read at the start."""

    certificate: Path
    """The server's certificate, and behind it those that signed it."""
    key: Path
    """The key of the certificate."""
    client_ca: Path | None = None
    """Lets only callers in whose certificate was signed by one of these. Without it, callers need none."""


class GrpcConfig(Section):
    """gRPC, on a port of its own, for A2A 1.0 and 0.3; it needs llamon-agent[grpc]."""

    listen: HostPort | None = None
    """Where to listen, as HOST:PORT. Port 0 takes a free one. Without it, gRPC is not spoken."""
    tls: GrpcTlsConfig | None = None
    """TLS on that port. Without it, plain text."""
    card: bool = False
    """Whether the agent cards list the gRPC address. Google's ADK refuses a card that names another origin."""
    card_url: Literal["authority", "url"] = "authority"
    """How 0.3's cards tell that address: as host:port, which its clients dial; or as a URL, http://host:port, which its
    conformance suite wants. 1.0's cards always say host:port."""

    @property
    def card_scheme(self) -> Scheme | None:
        """What 0.3's cards put before the address, if anything."""
        if self.card_url == "authority":
            return None
        return "https" if self.tls else "http"
