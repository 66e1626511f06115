"""Messages that are sent twice and taken once.

It is asked for, never guessed: real clients reuse their message ids, so an id alone says nothing. A caller asks by a
header, or the configuration says for all callers that equal message ids mean one message.

Source: draft-ietf-httpapi-idempotency-key-header (Idempotency-Key).
"""

from hashlib import sha256

import msgspec

from llamon_agent.domain.errors import BadParams
from llamon_agent.domain.message import Message, Metadata

_MAX_CHARS = 255


def key_of(
    message: Message, metadata: Metadata | None, header: str | None, *, by_message_id: bool
) -> tuple[str, str] | None:
    """The key of a message and a digest of all that it says; None where nobody asked for one.

    Shape:  the two kinds of key never meet. How the answer is wanted (blocking, its length) is not in the digest.
    Raises: BadParams: the header is no key.
    """
    if header is not None:
        if not 0 < len(header) <= _MAX_CHARS or not header.isprintable():
            raise BadParams(f"Idempotency-Key: 1 to {_MAX_CHARS} printable characters", field="Idempotency-Key")
        return f"header:{header}", _digest(message, metadata)
    if not by_message_id:
        return None
    name = sha256(message.message_id.encode()).hexdigest()  # an id may be of any length, and stores index keys
    return f"message:{name}", _digest(message, metadata)


def _digest(message: Message, metadata: Metadata | None) -> str:
    return sha256(msgspec.json.encode([message, metadata], order="sorted")).hexdigest()
