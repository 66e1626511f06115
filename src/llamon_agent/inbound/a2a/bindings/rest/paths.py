"""What a path of HTTP+JSON names: an operation of 1.0, or below `v1` one of 0.3.

Segments come percent-decoded. A verb is what follows the last colon of a task's segment, if it is one that we
know: ids may hold colons themselves.

Source: A2A 1.0 §11.3 and the annotations of `a2a.proto` (tenants); 0.3 §3.5.3, §3.5.6.
"""

from collections.abc import Mapping, Sequence

import msgspec

_WORDS: Mapping[str, Mapping[str, str]] = {
    "message:send": {"POST": "SendMessage"},
    "message:stream": {"POST": "SendStreamingMessage"},
    "tasks": {"GET": "ListTasks"},
}
_TASK: Mapping[str, str] = {"GET": "GetTask"}
_VERBS: Mapping[str, Mapping[str, str]] = {
    "cancel": {"POST": "CancelTask"},
    # GET by the annotations of both proto files, POST by both prose texts.
    "subscribe": {"POST": "SubscribeToTask", "GET": "SubscribeToTask"},
}
_CONFIGS = "pushNotificationConfigs"
_CONFIGS_OF_TASK: Mapping[str, str] = {
    "POST": "CreateTaskPushNotificationConfig",
    "GET": "ListTaskPushNotificationConfigs",
}
_CONFIG: Mapping[str, str] = {
    "GET": "GetTaskPushNotificationConfig",
    "DELETE": "DeleteTaskPushNotificationConfig",
}
_CARD: Mapping[str, str] = {"GET": "GetExtendedAgentCard"}

MOST_SEGMENTS = 5
"""How many segments the longest path has below an agent's: `TENANT/tasks/ID/pushNotificationConfigs/CONFIG`."""

_CARD_AT: Mapping[str, str] = {"1.0": "extendedAgentCard", "0.3": "card"}
_BEGINNINGS = frozenset({*_WORDS, _CARD_AT["1.0"]})


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """What a path names, and in which version's words.

    Shape: operations are 1.0's names of what each HTTP method does there, none where the path names nothing;
           config_id is that of a task's webhook.
    """

    version: str
    operations: Mapping[str, str] = {}
    tenant: str | None = None
    task_id: str = ""
    config_id: str = ""


def place_of(segments: Sequence[str]) -> Place | None:
    """The place of a path below an agent's own; None where it does not even look like one of HTTP+JSON."""
    if segments and segments[0] == "v1":
        return _place("0.3", segments[1:]) or Place(version="0.3")
    if place := _place("1.0", segments):
        return place
    if place := _place("1.0", segments[1:]):
        return msgspec.structs.replace(place, tenant=segments[0] or None)
    return None if _BEGINNINGS.isdisjoint(segments[:2]) else Place(version="1.0")


def _place(version: str, segments: Sequence[str]) -> Place | None:
    match segments:
        case [word] if word in _WORDS:
            return Place(version=version, operations=_WORDS[word])
        case [word] if word == _CARD_AT[version]:
            return Place(version=version, operations=_CARD)
        case ["tasks", last]:
            return _task(version, last)
        case ["tasks", task_id, word] if word == _CONFIGS:
            return Place(version=version, operations=_CONFIGS_OF_TASK, task_id=task_id)
        case ["tasks", task_id, word, config_id] if word == _CONFIGS:
            return Place(version=version, operations=_CONFIG, task_id=task_id, config_id=config_id)
    return None


def _task(version: str, segment: str) -> Place:
    task_id, _, verb = segment.rpartition(":")
    if verb in _VERBS and task_id:
        return Place(version=version, operations=_VERBS[verb], task_id=task_id)
    return Place(version=version, operations=_TASK, task_id=segment)
