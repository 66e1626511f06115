"""Bearer tokens: who calls, by the Authorization header alone."""

import hmac
from collections.abc import Mapping
from hashlib import sha256

from llamon_agent.domain.errors import Unauthenticated
from llamon_agent.domain.principal import Principal

_OPEN = Principal()


class Auth:
    """The tokens that are let in.

    Shape: tokens by principal id; none at all is an open edge, where everybody is the default principal.
    Raises: ValueError: a token is empty.
    """

    def __init__(self, tokens: Mapping[str, str]) -> None:
        if not all(tokens.values()):
            raise ValueError("a bearer token must not be empty")
        self._digests = [(Principal(name), _digest(token.encode())) for name, token in tokens.items()]

    @property
    def is_open(self) -> bool:
        return not self._digests

    def principal(self, authorization: bytes | None) -> Principal:
        """Who it is.

        Compares digests, all of them, each in constant time: how long it takes tells neither a token, nor its length,
        nor whose it nearly was.

        Raises: Unauthenticated.
        Source: RFC 6750 §2.1; RFC 9110 §11.1 (the scheme is case-insensitive).
        """
        if self.is_open:
            return _OPEN
        scheme, _, token = (authorization or b"").strip().partition(b" ")
        given = _digest(token.strip())
        known = [principal for principal, digest in self._digests if hmac.compare_digest(digest, given)]
        if scheme.lower() != b"bearer" or not known:
            raise Unauthenticated
        return known[0]


def _digest(token: bytes) -> bytes:
    return sha256(token).digest()
