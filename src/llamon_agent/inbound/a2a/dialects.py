"""Which dialect a request is in. The version is read here, once; no other module asks for it.

The method's name decides: `message/send` can only be 0.x and `SendMessage` only 1.0. The A2A-Version header can object,
but it need not be there: 0.x has no such header, and some callers of 1.0 send none either. That is more lenient than
1.0 §3.6.2, by which a missing header means 0.3 and `SendMessage` without one would be an unknown method.
"""

import re

from llamon_agent.domain.errors import MAX_ECHO_CHARS, UnknownMethod, VersionNotSupported
from llamon_agent.wire.operations import Dialect
from llamon_agent.wire.v03.codec import V03
from llamon_agent.wire.v10.codec import V10

DIALECTS: tuple[Dialect, ...] = (V03, V10)

_BY_METHOD: dict[str, Dialect] = {method: dialect for dialect in DIALECTS for method in dialect.methods}
_BY_VERSION: dict[str, Dialect] = {"0.2": V03, "0.3": V03, "1.0": V10}

# §3.6: "Major.Minor"; §3.6.1: patch numbers are not to be considered.
_VERSION = re.compile(r"(\d{1,4}\.\d{1,4})(?:\.\d{1,4})?", re.ASCII)


def negotiate(method: str, version_header: str | None) -> Dialect:
    """The dialect that a call is made in; `version_header` is A2A-Version's value, None or empty where there is none.

    Raises: VersionNotSupported, whatever the method; UnknownMethod, also where method and header contradict each other.
    Source: A2A 1.0 §3.6.2.
    """
    wanted = _wanted(version_header)
    dialect = _BY_METHOD.get(method)
    if dialect is None:
        raise UnknownMethod(f"There is no method {_echo(method)}.")
    if wanted is not None and wanted is not dialect:
        raise UnknownMethod(
            f"{method} is a method of A2A {dialect.version}, but the A2A-Version header asks for {wanted.version}; "
            f"leave the header out, or call by the method names of {wanted.version}."
        )
    return dialect


def agree(dialect: Dialect, version_header: str | None) -> None:
    """Check that a caller asks for the version of its route or its service, or for none.

    Raises: VersionNotSupported, even if another address has that version. Source: A2A 1.0 §3.6.2.
    """
    wanted = _wanted(version_header)
    if wanted is not None and wanted.version != dialect.version:
        raise VersionNotSupported(
            f"This address speaks A2A {dialect.version}, and the A2A-Version header asks for {wanted.version}; "
            "the agent card names an address for that version."
        )


def dialect_for_refusal(dialect: Dialect, version_header: str | None) -> Dialect:
    """In whose shape a route's error is written: the route's, or 1.0's for a caller that asks for another version.

    0.3 has no error for that, and only callers of 1.0 and later know the header.
    """
    try:
        agree(dialect, version_header)
    except VersionNotSupported:
        return V10
    return dialect


def dialect_of(version: str) -> Dialect:
    """The dialect of the notifications to a webhook: that of the version that registered it, over any transport."""
    return _BY_VERSION[version]


def dialect_for_fault(method: str | None, version_header: str | None) -> Dialect:
    """In whose shape an error is written, when it may be that no dialect could be agreed on.

    Only callers of 1.0 and later know the header, so one that names no 0.x asks for 1.0's shape, supported or not; then
    the method decides; and 0.x is presumed of a caller that says nothing, as in §3.6.2.
    """
    try:
        wanted = _wanted(version_header)
    except VersionNotSupported:
        return V10
    return wanted or _BY_METHOD.get(method or "", V03)


def _wanted(version_header: str | None) -> Dialect | None:
    """The dialect that the header asks for, None where it asks for none. Raises: VersionNotSupported."""
    header = (version_header or "").strip()
    if not header:
        return None
    found = _VERSION.fullmatch(header)
    dialect = _BY_VERSION.get(found[1]) if found else None
    if dialect is None:
        raise VersionNotSupported
    return dialect


def _echo(method: str) -> str:
    """A method's name as the caller wrote it, as far as it is worth showing."""
    return repr(method if len(method) <= MAX_ECHO_CHARS else method[:MAX_ECHO_CHARS] + "...")


def reads_errors_from_streams(method: str) -> bool:
    """Whether callers of a method expect a stream whatever comes of it: 0.x clients take no plain answer there, and
    1.0's do.
    """
    return method in ("message/stream", "tasks/resubscribe")
