"""Values for property tests, made at random: domain messages, JSON, and params that look like a caller's."""

from collections.abc import Mapping
from typing import Any

import msgspec
from hypothesis import strategies as st

from llamon_agent.domain.message import Data, Message, Part, Raw, Role, Text, Url

texts = st.text(max_size=12)
ids = st.text(min_size=1, max_size=12)

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
json_objects = st.dictionaries(texts, json_values, max_size=3)
metadata = st.none() | json_objects | st.just({"data_part_compat": True})
_extras: dict[str, Any] = {
    "metadata": metadata,
    "filename": st.none() | texts,
    "media_type": st.none() | texts,
}

parts: st.SearchStrategy[Part] = st.one_of(
    st.builds(Text, text=texts, **_extras),
    st.builds(Raw, data=st.binary(max_size=12), **_extras),
    st.builds(Url, url=texts, **_extras),
    st.builds(Data, data=json_values | st.builds(lambda value: {"value": value}, json_values), **_extras),
)

messages = st.builds(
    Message,
    message_id=ids,
    role=st.sampled_from(Role),
    parts=st.lists(parts, max_size=3).map(tuple),
    context_id=st.none() | ids,
    task_id=st.none() | ids,
    metadata=metadata,
    extensions=st.lists(texts, max_size=2).map(tuple),
    reference_task_ids=st.lists(texts, max_size=2).map(tuple),
)


def without(losses: Mapping[str, str], message: Message) -> Message:
    """The message as it is after a trip over a wire with these losses."""
    carried = tuple([_part_without(losses, part) for part in message.parts])
    if not carried and "parts.empty" in losses:
        carried = (Text.of(""),)
    references = () if "message.reference_task_ids" in losses else message.reference_task_ids
    return msgspec.structs.replace(message, parts=carried, reference_task_ids=references)


def _part_without(losses: Mapping[str, str], part: Part) -> Part:
    kind = type(part).__name__.lower()
    changes: dict[str, Any] = {
        name: None for name in ("filename", "media_type", "metadata") if f"{kind}.{name}" in losses
    }
    if isinstance(part, Data) and part.metadata is not None:
        kept = {key: value for key, value in part.metadata.items() if f"data.metadata.{key}" not in losses}
        is_wrapped = "data.metadata.empty" in losses and not isinstance(part.data, dict)
        changes["metadata"] = None if is_wrapped and not kept else kept
    return msgspec.structs.replace(part, **changes)


# Params that are nearly right: a caller's keys, with anything in them.

_near_parts = st.lists(
    st.dictionaries(
        st.sampled_from(["kind", "text", "raw", "url", "data", "file", "metadata"]), json_values, max_size=3
    ),
    max_size=2,
)
_near_messages = st.fixed_dictionaries(
    {},
    optional={
        "kind": st.sampled_from(["message", "task", None]),
        "messageId": ids | json_values,
        "message_id": ids | json_values,
        "role": st.sampled_from(["user", "agent", "ROLE_USER", "ROLE_AGENT", 1, "x", None]),
        "parts": _near_parts | json_values,
        "content": _near_parts | json_values,
        "contextId": json_values,
        "metadata": json_values,
    },
)
_near_webhooks = (
    st.dictionaries(st.sampled_from(["id", "url", "token", "authentication"]), json_values, max_size=3) | json_values
)
params = st.one_of(
    json_values,
    st.fixed_dictionaries(
        {},
        optional={
            "message": _near_messages | json_values,
            "configuration": json_values
            | st.dictionaries(
                st.sampled_from(["blocking", "returnImmediately", "historyLength", "pushNotificationConfig"]),
                json_values,
            ),
            "metadata": json_values,
            "id": ids | json_values,
            "taskId": ids | json_values,
            "name": st.sampled_from(["tasks/t1", "tasks/t1/pushNotificationConfigs/p1"]) | json_values,
            "parent": st.just("tasks/t1") | json_values,
            "url": texts | json_values,
            "pushNotificationConfig": _near_webhooks,
            "config": st.fixed_dictionaries({}, optional={"pushNotificationConfig": _near_webhooks}) | json_values,
            "historyLength": json_values,
            "pageSize": json_values,
            "page_size": json_values,
            "status": st.sampled_from(["TASK_STATE_WORKING", 2, 99, "x", "", None]) | json_values,
            "statusTimestampAfter": st.sampled_from(["2026-11-30T12:00:00Z", "2026-02-30T12:00:00Z", "x"])
            | json_values,
        },
    ),
)
