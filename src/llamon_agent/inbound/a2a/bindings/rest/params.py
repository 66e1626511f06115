"""A request of HTTP+JSON becomes an operation: path, query and body together are the params of one of its methods.

Which JSON a caller of 0.3 uses. Its prose has the objects of the JSON schema (`kind`, `parts`, `user`), its proto file
those of a2a.v1 (`content`, `ROLE_USER`), and the clients of all official SDKs, and the kit, send and read the latter.
A body shows which one its sender uses, and the answer is in the same, if need be in the proto's spelling (see
`Dialect03Snake`); a request whose body does not show it is answered as those clients read it, in a2a.v1's. Nothing is
remembered of a caller. Two answers are always in the schema's JSON: the list of tasks, which the proto does not have,
and the card.

Source: A2A 1.0 §11.4, §11.5; 0.3 §7.
"""

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl

import msgspec

from llamon_agent.domain.errors import BadParams, BadRequest
from llamon_agent.domain.message import Message
from llamon_agent.domain.task import Task
from llamon_agent.inbound.a2a.bindings.rest.paths import Place
from llamon_agent.inbound.a2a.dialects import agree, dialect_for_refusal
from llamon_agent.inbound.a2a.endpoint import ParsedRequest
from llamon_agent.wire.json_body import read_object
from llamon_agent.wire.operations import Dialect, ListTasks
from llamon_agent.wire.proto_json import respelled
from llamon_agent.wire.v03.codec import V03
from llamon_agent.wire.v03_proto.codec import V03_PROTO, Dialect03Proto
from llamon_agent.wire.v10.codec import V10

_HUMP = re.compile(r"[A-Z]")


class Dialect03Snake(Dialect03Proto):
    """V03_PROTO for a caller that spells fields as the proto file does: `context_id`, not `contextId`.

    ProtoJSON's readers take both spellings, but not every writer of the one has such a reader: the official 0.3 kit
    looks for `context_id` in answers. Only the answer to a message is spelled so, as only its request shows how.
    Streams are not: the known readers of those take both, and their events are many.

    Source: ProtoJSON (field names); the official 0.3 kit over HTTP+JSON.
    """

    def write_sent(self, task: Task) -> bytes:
        return _spelled(super().write_sent(task))

    def write_message(self, message: Message) -> bytes:
        return _spelled(super().write_message(message))


def is_snake(body: bytes) -> bool:
    """Whether a request with a message spells its fields as the proto file does: each message has an id."""
    return b'"message_id"' in body


def _spelled(answer: bytes) -> bytes:
    return msgspec.json.encode(respelled(msgspec.json.decode(answer), _snake))


def _snake(key: str) -> str:
    return _HUMP.sub(lambda found: "_" + found[0].lower(), key)


V03_SNAKE = Dialect03Snake()


Json = dict[str, Any]

_QUERIES: Mapping[str, tuple[str, ...]] = {
    "GetTask": ("historyLength",),
    "ListTasks": (
        "contextId",
        "status",
        "pageSize",
        "pageToken",
        "historyLength",
        "statusTimestampAfter",
        "includeArtifacts",
    ),
    "ListTaskPushNotificationConfigs": ("pageSize", "pageToken"),
}
"""What the query of an operation may contain besides the tenant."""

_SPELLINGS: Mapping[str, str] = {"history_length": "historyLength", "page_size": "pageSize", "page_token": "pageToken"}
"""Names of the proto file, which the 0.3 kit puts into queries."""

_BOOLEANS: Mapping[str, bool] = {"true": True, "false": False}

_SENDS = ("SendMessage", "SendStreamingMessage")
_CREATE = "CreateTaskPushNotificationConfig"
_BARE = ("CancelTask", "SubscribeToTask")
"""Operations whose body may be missing, or null: their path says it all."""

_OLD_RPCS: Mapping[str, str] = {
    "SubscribeToTask": "TaskSubscription",
    "ListTaskPushNotificationConfigs": "ListTaskPushNotificationConfig",
    "GetExtendedAgentCard": "GetAgentCard",
}
"""Operations that a2a.v1 calls otherwise."""

_OLD_METHODS: Mapping[str, str] = {
    "SendMessage": "message/send",
    "SendStreamingMessage": "message/stream",
    "CancelTask": "tasks/cancel",
    "SubscribeToTask": "tasks/resubscribe",
    "CreateTaskPushNotificationConfig": "tasks/pushNotificationConfig/set",
}
"""Operations that have a body, as 0.3's JSON schema calls them."""

_OLD_LIST = ListTasks(page_size=100, include_artifacts=True, bytes_of_files=False)
"""0.3's list, which has neither filters nor pages: the newest tasks, as many as on 1.0's longest page."""

_IS_JSON_RPC = (
    "This is a JSON-RPC request, and this path takes HTTP+JSON. Send it to the agent's own URL, which its card names."
)

_encode = msgspec.json.Encoder().encode


def dialect_at(place: Place) -> Dialect:
    """In whose shape errors are written at a place: 0.3's both JSONs have the same."""
    return V10 if place.version == V10.version else V03_PROTO


class RestRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A request as it came, once it is known which operation it asks for, by 1.0's name.

    Shape: version is the A2A-Version that was asked for; body is None for a method that has none.
    """

    place: Place
    operation: str
    version: str | None = None
    query: bytes = b""
    body: bytes | None = None

    @property
    def fault_dialect(self) -> Dialect:
        """In whose shape its errors are written."""
        return dialect_for_refusal(dialect_at(self.place), self.version)

    def parse(self) -> ParsedRequest:
        """Raises: VersionNotSupported, BadJson, BadRequest, BadParams."""
        dialect = dialect_at(self.place)
        agree(dialect, self.version)
        return _asked_10(self) if dialect is V10 else _asked_03(self)


def _asked_10(request: RestRequest) -> ParsedRequest:
    place = request.place
    named = _ids(place, request.operation) | ({"tenant": place.tenant} if place.tenant else {})
    given = _given(request)
    _check_agreed(given, named)
    return ParsedRequest(V10.methods[request.operation](_params(request, given, named)), V10)


def _params(request: RestRequest, given: Json, named: Mapping[str, str]) -> bytes:
    """What was given, and what the path names besides."""
    return request.body if request.body and not named else _encode(given | dict(named))


def _ids(place: Place, operation: str) -> dict[str, str]:
    """What the path says, by the names that 1.0's params have for it."""
    match operation:
        case "GetTask" | "CancelTask" | "SubscribeToTask":
            return {"id": place.task_id}
        case "GetTaskPushNotificationConfig" | "DeleteTaskPushNotificationConfig":
            return {"taskId": place.task_id, "id": place.config_id}
        case "CreateTaskPushNotificationConfig" | "ListTaskPushNotificationConfigs":
            return {"taskId": place.task_id}
    return {}


def _check_agreed(given: Json, named: Mapping[str, str]) -> None:
    """Take away what the path says as well. Raises: BadParams: the two contradict each other."""
    for name, value in named.items():
        for spelling in {name, "task_id" if name == "taskId" else name}:
            if given.pop(spelling, None) not in (None, "", value):
                raise BadParams(f"{name}: the path names another one; leave it out.", field=name)


def _asked_03(request: RestRequest) -> ParsedRequest:
    operation = request.operation
    if operation == "ListTasks":
        return ParsedRequest(_OLD_LIST, V03)
    given = _given(request)
    if request.body is not None and _is_of_the_schema(operation, given):
        named = {} if operation in _SENDS else {"id": request.place.task_id, "taskId": request.place.task_id}
        params = _params(request, _config(given) if operation == _CREATE else given, named)
        return ParsedRequest(V03.methods[_OLD_METHODS[operation]](params), V03)
    dialect = V03_SNAKE if operation in _SENDS and is_snake(request.body or b"") else V03_PROTO
    opens = dialect.methods[_OLD_RPCS.get(operation, operation)]
    return ParsedRequest(opens(_params(request, given, _resource(request.place, operation))), dialect)


def _is_of_the_schema(operation: str, given: Json) -> bool:
    """Whether a body is of 0.3's JSON schema; else it is of a2a.v1."""
    if operation in _SENDS:
        message = given.get("message")
        return isinstance(message, dict) and "content" not in message and ("kind" in message or "parts" in message)
    return "taskId" in _config(given) if operation == _CREATE else "id" in given


def _config(given: Json) -> Json:
    """The configuration to be created, which 0.3's prose puts into a field `config` (§7.5)."""
    config = given.get("config")
    return config if isinstance(config, dict) else given


def _resource(place: Place, operation: str) -> dict[str, str]:
    """What the path names, as a2a.v1's requests name it."""
    task = f"tasks/{place.task_id}"
    match operation:
        case "GetTask" | "CancelTask" | "SubscribeToTask":
            return {"name": task}
        case "GetTaskPushNotificationConfig" | "DeleteTaskPushNotificationConfig":
            return {"name": f"{task}/pushNotificationConfigs/{place.config_id}"}
        case "CreateTaskPushNotificationConfig" | "ListTaskPushNotificationConfigs":
            return {"parent": task}
    return {}


def _given(request: RestRequest) -> Json:
    """What the body says, or the query where there can be none. Raises: BadJson, BadRequest, BadParams."""
    body = request.body
    if body is None:
        return _read_query(request.query, ("tenant", *_QUERIES.get(request.operation, ())))
    if request.operation in _BARE and body.strip() in (b"", b"null"):
        return {}
    given = read_object(body)
    if "jsonrpc" in given and "method" in given:
        raise BadRequest(_IS_JSON_RPC)
    return given


def _read_query(query: bytes, names: tuple[str, ...]) -> Json:
    """The parameters that an operation knows, those without a value left out. Raises: BadParams: one comes twice."""
    given: Json = {}
    for key, value in parse_qsl(query.decode("latin-1")) if query else ():
        name = _SPELLINGS.get(key, key)
        if name in given:
            raise BadParams(f"{name} is in the query more than once.", field=name)
        if name in names:
            given[name] = _read_boolean(value, name) if name == "includeArtifacts" else value
    return given


def _read_boolean(value: str, name: str) -> bool:
    if value not in _BOOLEANS:
        raise BadParams(f"{name} must be true or false.", field=name)
    return _BOOLEANS[value]
