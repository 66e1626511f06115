"""What all sections of the configuration share, and the small ones: `a2a.history`, `a2a.push` and `a2a.grpc`."""

import re
from ipaddress import ip_network
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from llamon_agent.config.problems import Wrong
from llamon_agent.config.values import HostPort
from llamon_agent.domain.profile import Scheme


class Section(BaseModel):
    """A section: frozen, no unknown keys, docstrings become the schema's descriptions."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True, hide_input_in_errors=True)


class HistoryConfig(Section):
    """How the history that a host sends along is read."""

    readers: tuple[Literal["role-content", "ui-message", "copilot-studio"], ...] = (
        "role-content",
        "ui-message",
        "copilot-studio",
    )
    """The shapes that are read besides A2A's messages: {role, content}; the UIMessage of AI SDK and VoltAgent; and the
    chat history that Copilot Studio sends under a key of its own. An empty list reads A2A's messages only."""


_NAME = re.compile(r"(?=.*[A-Za-z])[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*\.?")


def _check_place(value: str) -> str:
    if not _NAME.fullmatch(value):
        try:
            ip_network(value)
        except ValueError as exc:
            raise Wrong("must be a host name, an address, or a network such as 10.1.0.0/16 or fd00::/8") from exc
    return value


Place = Annotated[str, AfterValidator(_check_place)]


class WebhooksConfig(Section):
    """Push notifications: webhooks that are notified of tasks."""

    enabled: bool = True
    """Whether callers may register webhooks."""
    allow: tuple[Place, ...] = ()
    """Host names, addresses and networks that webhooks may have although they are not on the public internet."""
    timeout_s: Annotated[float, Field(gt=0, le=60)] = 15.0
    """How many seconds a webhook has to answer, before it is tried again."""
    max_per_task: Annotated[int, Field(ge=1, le=100)] = 10
    """How many webhooks a task may have."""


class GrpcTlsConfig(Section):
    """TLS for gRPC, by files in PEM. They are read at the start."""

    certificate: Path
    """The server's certificate, followed by those that signed it."""
    key: Path
    """The key of the certificate."""
    client_ca: Path | None = None
    """Callers need a certificate that one of these signed. Without it, callers need none."""


class GrpcConfig(Section):
    """gRPC, on a port of its own, for A2A 1.0 and 0.3; it needs llamon-agent[grpc]."""

    listen: HostPort | None = None
    """Where to listen, as HOST:PORT. Port 0 takes a free one. Without it, there is no gRPC."""
    tls: GrpcTlsConfig | None = None
    """TLS on that port. Without it, plain text."""
    card: bool = False
    """Whether the agent cards list the gRPC address. Google's ADK refuses a card that names another origin."""
    card_url: Literal["authority", "url"] = "authority"
    """How 0.3's cards write that address: as host:port, which its clients dial; or as a URL, http://host:port, which
    its conformance suite wants. 1.0's cards always say host:port."""

    @property
    def card_scheme(self) -> Scheme | None:
        """What 0.3's cards put before the address, if anything."""
        if self.card_url == "authority":
            return None
        return "https" if self.tls else "http"
