"""The request headers that a caller adds to one call of a remote agent.

Rules.
- They go where the client's token goes: to the origin of the agent's URL and, as no redirect is followed, nowhere else.
- They go with the requests of their call and not with the one for the card, as a card is kept for all callers.
- They never take the place of a header that the client, or the connection, makes.
- Values are secrets until shown otherwise: they are `Private`, and no error repeats one.

`Authorization` may be added only if the client has no token of its own. With one there are two identities, and neither
choice would be safe: the caller could replace the operator's, or be believed to act as itself while it does not.

Source: RFC 9110 §5.1, §5.5 (names, values), §7.6.1 (Connection and the fields of a single connection).
"""

import re
from collections.abc import Mapping
from typing import Any

from llamon_agent.client.errors import BadHeader
from llamon_agent.domain.caller import Private

MADE_BY_THE_CLIENT = frozenset(
    {
        "a2a-extensions",  # an extension changes the answers, and the client reads those that it knows
        "a2a-version",
        "accept",
        "accept-encoding",
        "connection",
        "cookie",  # belongs to the site that set it, which is another one
        "expect",
        "host",
        "keep-alive",
        "last-event-id",  # would leave out the beginning of a stream
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
        "user-agent",
        "x-a2a-extensions",
    }
)
"""The headers of a request that only the client, or the connection, may make."""

_MADE_PREFIXES = ("content-", "proxy-")
"""The same, by how they begin: what describes the body, and what is between a client and a proxy."""

_NAME = re.compile(r"[a-z0-9!#$%&'*+.^_`|~-]+")
_VALUE = re.compile(r"(?:[\x21-\x7e\x80-\xff](?:[\t\x20-\x7e\x80-\xff]*[\x21-\x7e\x80-\xff])?)?")


def read_request_headers(given: Mapping[Any, Any], *, has_token: bool) -> Private[str]:
    """The headers as they are sent.

    Shape:  by their names in lower case; a value is Latin-1, as HTTP carries it.
    Raises: BadHeader.
    """
    headers: dict[str, str] = {}
    for name, value in given.items():
        if fault := name_fault(name, has_token=has_token):
            raise BadHeader(fault)
        known = name.lower()
        if known in headers:
            raise BadHeader(f"The request header {known!r} is given twice.")
        if not isinstance(value, str) or not _VALUE.fullmatch(value):
            raise BadHeader(f"The value for the request header {known!r} holds what no HTTP header can carry.")
        headers[known] = value
    return Private(headers)


def name_fault(name: Any, *, has_token: bool) -> str | None:
    """Why a header of this name cannot be added to a call, as a sentence; None if it can."""
    if not isinstance(name, str) or not name.isascii() or not _NAME.fullmatch(known := name.lower()):
        return "A name for a request header is not the name of an HTTP header, such as x-request-id."
    if known in MADE_BY_THE_CLIENT or known.startswith(_MADE_PREFIXES):
        return f"The request header {known!r} is made by the client itself and cannot be added."
    if known == "authorization" and has_token:
        return "The request header 'authorization' cannot be added, as the client has a token of its own."
    return None
