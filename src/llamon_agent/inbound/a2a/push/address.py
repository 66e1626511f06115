"""Where a webhook is, taken apart once and then used as it was judged.

The same reading serves the check at registration and every delivery, so that nothing is checked in one spelling and
called in another.
"""

import re
from ipaddress import IPv4Address, IPv6Address, ip_address

import httpx2
import msgspec

from llamon_agent.domain.errors import BadParams

MAX_URL_CHARACTERS = 2048

_NAME = re.compile(r"[a-z0-9_-]{1,63}(\.[a-z0-9_-]{1,63})*\.?")
_NUMBER = re.compile(r"\d+|0x[0-9a-f]*")


class Address(msgspec.Struct, frozen=True):
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


def read_address(url: str) -> Address:
    """Take a webhook's URL apart.

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
    return Address(parts.scheme, host, port, parts.raw_path)


def _ends_in_number(host: str) -> bool:
    return _NUMBER.fullmatch(host.removesuffix(".").rpartition(".")[2]) is not None
