"""What a push configuration must look like to be kept, and the parts of its URL. Each refusal names its field.

The check at registration and every delivery read a URL the same way, so that nothing is checked in one spelling and
called in another.
"""

import re
from ipaddress import IPv4Address, IPv6Address, ip_address

import httpx2
import msgspec

from llamon_agent.domain.errors import BadParams
from llamon_agent.domain.task import PushConfig

MAX_URL_CHARACTERS = 2048

_NAME = re.compile(r"[a-z0-9_-]{1,63}(\.[a-z0-9_-]{1,63})*\.?")
_NUMBER = re.compile(r"\d+|0x[0-9a-f]*")


class WebhookUrl(msgspec.Struct, frozen=True):
    """The parts of a webhook's URL.

    Shape: host is in lower case and ASCII, an IPv6 address without brackets; target is the path with the query, as it
           goes into the request.
    """

    scheme: str
    host: str
    port: int
    target: bytes

    @property
    def literal(self) -> IPv4Address | IPv6Address | None:
        """The host where it is an address itself, None where it is a name."""
        return None if _NAME.fullmatch(self.host) and not _ends_in_number(self.host) else ip_address(self.host)


def read_webhook_url(url: str) -> WebhookUrl:
    """Read a webhook's URL.

    A host that ends in a number is an IPv4 address to any resolver, however it is spelt (`127.1`, `0x7f.0.0.1`,
    `2130706433`); only the plain spelling is taken.

    Raises: BadParams: it is no URL of a webhook.
    Source: WHATWG URL, "ends in a number checker".
    """
    try:
        parts = httpx2.URL(url) if len(url) <= MAX_URL_CHARACTERS else httpx2.URL()
        host = parts.raw_host.decode("ascii")
        if not _NAME.fullmatch(host) or _ends_in_number(host):
            ip_address(host)
    except (httpx2.InvalidURL, ValueError) as exc:
        raise BadParams("url must be an absolute http or https URL with a host name or a plain IP address.") from exc
    if parts.scheme not in ("http", "https") or parts.userinfo or "%" in host or parts.port == 0:
        raise BadParams("url must be an absolute http or https URL, without user and password.")
    port = parts.port or (443 if parts.scheme == "https" else 80)
    if port > 65535:
        raise BadParams("url must have a port of at most 65535.")
    return WebhookUrl(parts.scheme, host, port, parts.raw_path)


def _ends_in_number(host: str) -> bool:
    return _NUMBER.fullmatch(host.removesuffix(".").rpartition(".")[2]) is not None


MAX_ID_CHARACTERS = 256
MAX_SECRET_CHARACTERS = 8192
MAX_SCHEMES = 16

_ID = re.compile(r"[^/\x00-\x1f\x7f]*")
_SCHEME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,64}")
_OTHER_SCHEME = re.compile(r"[\x20-\x7e]{0,64}")
"""0.3 names several. Those that are not used need not make sense, but they are kept, and so bounded."""

_SECRET = re.compile(r"([\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?)?")
"""A header's value neither begins nor ends with a space (RFC 9110 §5.5), and such a request would never be sent."""


def check_config(config: PushConfig) -> WebhookUrl:
    """Where the webhook is, if the configuration can be kept.

    What becomes part of a request's header must not be able to end a line of it (RFC 9110 §5.5); an id becomes part of
    a path and of a resource name.

    Raises: BadParams that names the field.
    """
    if len(config.id) > MAX_ID_CHARACTERS or not _ID.fullmatch(config.id):
        raise BadParams(f"id must have at most {MAX_ID_CHARACTERS} characters, none a slash or a control character.")
    for name, value in (("token", config.token), ("authentication.credentials", config.credentials)):
        if value is not None and not (len(value) <= MAX_SECRET_CHARACTERS and _SECRET.fullmatch(value)):
            raise BadParams(
                f"{name} must be at most {MAX_SECRET_CHARACTERS} printable ASCII characters, no space at its ends."
            )
    if len(config.schemes) > MAX_SCHEMES or not all(map(_OTHER_SCHEME.fullmatch, config.schemes)):
        raise BadParams(f"authentication must name at most {MAX_SCHEMES} schemes, of which the first is used.")
    if config.schemes and not _SCHEME.fullmatch(config.schemes[0]):
        raise BadParams("authentication must name an HTTP authentication scheme, such as Bearer.")
    return read_webhook_url(config.url)
