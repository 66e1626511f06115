"""A send-message operation becomes a run request: metadata merged, history read, prompt built.

A message that is sent twice is taken once where that is asked for: real clients reuse their message ids, so an id alone
says nothing. A caller asks by a header, or the configuration says for all callers that equal ids mean one message.

Source: draft-ietf-httpapi-idempotency-key-header (Idempotency-Key).
"""

import re
from collections.abc import Collection
from hashlib import sha256

import msgspec

from llamon_agent.domain.caller import Caller
from llamon_agent.domain.errors import BadParams
from llamon_agent.domain.message import MAX_CONTEXT_ID_CHARS, Message, Metadata, Text, texts
from llamon_agent.inbound.a2a.history.converter import prefill
from llamon_agent.inbound.a2a.history.shapes import history_keys, take_history
from llamon_agent.inbound.a2a.media_types import Modes, check_files, check_output, objection
from llamon_agent.runs.ports.run import RunRequest
from llamon_agent.wire.operations import SendMessage

_MAX_KEY_CHARS = 255

_CONTEXT_ID = re.compile(rf"[^\x00-\x1f\x7f]{{1,{MAX_CONTEXT_ID_CHARS}}}")
_TENANT = _CONTEXT_ID
"""A tenant is as free as a contextId, for it divides contexts."""


def run_request(
    call: SendMessage,
    *,
    caller: Caller,
    agent: str,
    modes: Modes = Modes(),
    readers: Collection[str] = (),
    key: str | None = None,
    by_message_id: bool = False,
) -> RunRequest:
    """What the run service is asked for. Shape: for key and by_message_id see `key_of`; readers are those of histories.

    Shape:  the message is kept without the history in its metadata, so that no task repeats it to the host; the run's
            metadata is what the host sent in both places, with our `source` and `blocking` on top.
    Raises: BadParams, ContentTypeNotSupported.
    """
    message = call.message
    _check(message)
    check_output(call.accepted_output_modes, modes)
    check_files(message.parts, modes)
    metadata = _merge_metadata(message.metadata, call.metadata)
    reading = prefill(take_history(metadata, readers), current=message, readers=readers)
    return RunRequest(
        caller=caller,
        agent=agent,
        message=_without_history(message, readers),
        prompt="\n".join(texts(message.parts)),
        task_id=message.task_id,
        context_id=message.context_id,
        prefill=reading.turns,
        history_received=reading.received,
        metadata={**metadata, "source": "a2a", "blocking": call.blocking},
        objection=objection(message.parts, modes),
        key=key_of(message, call.metadata, key, by_message_id=by_message_id),
    )


def _merge_metadata(message_metadata: Metadata | None, params_metadata: Metadata | None) -> Metadata:
    """Both places where a host may put metadata, as one new dict; where both have a key, the message wins."""
    return {**(params_metadata or {}), **(message_metadata or {})}


def _without_history(message: Message, readers: Collection[str]) -> Message:
    if not message.metadata:
        return message
    keys = history_keys(readers)
    rest = {key: value for key, value in message.metadata.items() if key not in keys}
    return msgspec.structs.replace(message, metadata=rest or None) if len(rest) < len(message.metadata) else message


def _check(message: Message) -> None:
    """What both dialects ask of a message, and no schema can say."""
    if message.context_id is not None and not _CONTEXT_ID.fullmatch(message.context_id):
        raise BadParams(
            f"message.contextId: 1 to {MAX_CONTEXT_ID_CHARS} characters, none of them a control character; "
            "leave it out for a new context",
            field="message.contextId",
        )
    if not any(part.text if isinstance(part, Text) else True for part in message.parts):
        raise BadParams("message.parts: at least one part must not be empty text", field="message.parts")


def key_of(
    message: Message, metadata: Metadata | None, header: str | None, *, by_message_id: bool
) -> tuple[str, str] | None:
    """The key of a message and a digest of all that it says; None where there is none.

    Shape:  the two kinds of key never meet. How the answer is wanted (blocking, its length) is not in the digest.
    Raises: BadParams: the header is no key.
    """
    if header is not None:
        if not 0 < len(header) <= _MAX_KEY_CHARS or not header.isprintable():
            raise BadParams(f"Idempotency-Key: 1 to {_MAX_KEY_CHARS} printable characters", field="Idempotency-Key")
        return f"header:{header}", _digest(message, metadata)
    if not by_message_id:
        return None
    name = sha256(message.message_id.encode()).hexdigest()  # an id may be of any length, and stores index keys
    return f"message:{name}", _digest(message, metadata)


def _digest(message: Message, metadata: Metadata | None) -> str:
    return sha256(msgspec.json.encode([message, metadata], order="sorted")).hexdigest()


ANY_TENANT = "*"


def check_tenant(tenant: str | None, known: frozenset[str]) -> None:
    """Refuse a tenant that is none of ours, or that could not be kept. Raises: BadParams."""
    if not tenant or (tenant in known and tenant != ANY_TENANT):
        return
    if ANY_TENANT not in known:
        raise BadParams("tenant: there is no such tenant here; leave it out, or name one that is", field="tenant")
    if not _TENANT.fullmatch(tenant):
        raise BadParams(
            f"tenant: at most {MAX_CONTEXT_ID_CHARS} characters, none of them a control character", field="tenant"
        )
