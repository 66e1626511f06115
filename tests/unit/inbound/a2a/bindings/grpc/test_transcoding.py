import json
from typing import Any

import msgspec
import pytest
from a2a.compat.v0_3 import a2a_v0_3_pb2 as old
from a2a.types import a2a_pb2 as new
from google.protobuf.json_format import MessageToDict, Parse
from google.protobuf.message import Message
from google.protobuf.struct_pb2 import Value
from hypothesis import given, settings
from tests.strategies import messages

from llamon_agent.domain import message as domain
from llamon_agent.domain.errors import BadParams, BadRequest
from llamon_agent.inbound.a2a.bindings.grpc import transcoding
from llamon_agent.inbound.a2a.bindings.grpc.transcoding import MAX_DEPTH, Unsayable, read_message, write_message
from llamon_agent.wire.operations import Dialect
from llamon_agent.wire.v03_proto.codec import V03_PROTO
from llamon_agent.wire.v10.codec import V10


def read(message: Message) -> Any:
    return json.loads(read_message(type(message), message.SerializeToString()))


def deep(levels: int, *, lists: bool = False) -> Any:
    """A value of so many objects, or lists, in each other."""
    value: Any = 1
    for _ in range(levels):
        value = [value] if lists else {"a": value}
    return value


# Reading.


def test_a_request_is_read_as_protobufs_own_converter_reads_it() -> None:
    request = new.SendMessageRequest(
        tenant="t",
        message=new.Message(
            message_id="m",
            role=new.ROLE_USER,
            parts=[
                new.Part(text="é\u0000"),
                new.Part(raw=b"\x00\xff", filename="f", media_type="image/png"),
                new.Part(url="https://example.com"),
            ],
            metadata={"a": [None, True, "x", {}, [], 0.5]},
            reference_task_ids=["t-1", "t-2"],
        ),
        configuration=new.SendMessageConfiguration(history_length=0, return_immediately=False),
    )
    assert read(request) == MessageToDict(request, use_integers_for_enums=True)


def test_what_is_set_to_its_default_is_read_where_the_field_has_presence() -> None:
    assert read(new.GetTaskRequest(id="t", history_length=0)) == {"id": "t", "historyLength": 0}
    assert read(new.GetTaskRequest(id="t")) == {"id": "t"}
    assert read(new.Part(text="")) == {"text": ""}
    assert read(old.GetTaskRequest(name="tasks/t", history_length=0)) == {"name": "tasks/t"}


def test_json_names_that_are_not_the_fields_own_are_used() -> None:
    assert read(old.SendMessageRequest(request=old.Message(message_id="m"))) == {"message": {"messageId": "m"}}


def test_a_time_is_read_as_rfc_3339() -> None:
    request = new.ListTasksRequest()
    request.status_timestamp_after.FromMilliseconds(1_042)
    assert read(request) == {"statusTimestampAfter": "1970-01-01T00:00:01.042Z"}


def test_a_time_that_does_not_exist_is_refused() -> None:
    request = new.ListTasksRequest()
    request.status_timestamp_after.seconds = 1 << 60
    with pytest.raises(BadParams, match="statusTimestampAfter"):
        read(request)


@pytest.mark.parametrize(
    ("number", "shown"),
    [
        (42.0, "42"),
        (-1.0, "-1"),
        (0.5, "0.5"),
        (2.0**53, "9007199254740992"),
        (2.0**60, "1.152921504606847e18"),
        (1e300, "1e300"),
    ],
)
def test_a_whole_number_is_read_as_an_integer_as_far_as_doubles_are_exact(number: float, shown: str) -> None:
    part = new.Part(data=Value(number_value=number))
    assert read_message(new.Part, part.SerializeToString()) == b'{"data":%b}' % shown.encode()


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
def test_a_number_that_is_not_finite_is_refused(number: float) -> None:
    with pytest.raises(BadParams, match="finite"):
        read(new.Part(data=Value(number_value=number)))


def test_a_value_that_is_none_is_refused() -> None:
    with pytest.raises(BadParams, match="is none"):
        read(new.Part(data=Value()))


def test_bytes_that_are_no_message_are_refused_and_not_shown() -> None:
    with pytest.raises(BadRequest, match=r"lf\.a2a\.v1\.GetTaskRequest"):
        read_message(new.GetTaskRequest, b"\x0a\xff")


def test_a_message_of_too_many_values_is_refused_before_it_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transcoding, "MAX_VALUES", 100)
    body = new.Message(parts=[new.Part()] * 101).SerializeToString()
    with pytest.raises(BadRequest, match="more than 100 values"):
        read_message(new.Message, body)


@pytest.mark.parametrize("lists", [False, True])
def test_what_nests_too_deep_is_refused(lists: bool) -> None:
    allowed = {"a": deep(MAX_DEPTH - 1, lists=lists)}
    assert read(new.Message(metadata=allowed)) == {"metadata": allowed}
    with pytest.raises(BadParams, match="deep"):
        read(new.Message(metadata={"a": deep(MAX_DEPTH, lists=lists)}))


# Writing.


@pytest.mark.parametrize(
    ("kind", "wire"),
    [
        (
            new.Task,
            {
                "id": "t",
                "status": {"state": "TASK_STATE_WORKING", "timestamp": "2026-11-30T14:12:58.042Z"},
                "artifacts": [
                    {
                        "artifactId": "a",
                        "parts": [
                            {"raw": "AP8=", "filename": "f"},
                            {"data": [None, True, 0.5, "x", {"fields": {"a": 1}}]},
                            {"data": None},
                        ],
                    }
                ],
                "metadata": {"fields": {"numberValue": 1}, "list": [1, [2]], "none": None},
            },
        ),
        (new.TaskArtifactUpdateEvent, {"taskId": "t", "append": True, "lastChunk": False}),
        (new.ListTasksResponse, {"tasks": [], "nextPageToken": "", "pageSize": 50, "totalSize": 0}),
        (
            new.AgentCard,
            {
                "name": "n",
                "securitySchemes": {"bearer": {"httpAuthSecurityScheme": {"scheme": "Bearer"}}},
                "securityRequirements": [{"schemes": {"bearer": {}}}],
                "signatures": [{"protected": "p", "signature": "s", "header": {"kid": "k"}}],
            },
        ),
        (old.SendMessageResponse, {"message": {"messageId": "m", "role": "ROLE_AGENT", "content": [{"text": ""}]}}),
    ],
)
def test_an_answer_is_written_as_protobufs_own_converter_writes_it(kind: type[Message], wire: Any) -> None:
    body = json.dumps(wire).encode()
    assert kind.FromString(write_message(kind, body)) == Parse(body, kind())


@pytest.mark.parametrize(("dialect", "kind"), [(V10, new.StreamResponse), (V03_PROTO, old.StreamResponse)])
@settings(max_examples=30)
@given(message=messages)
def test_any_message_is_written_as_protobufs_own_converter_writes_it(
    dialect: Dialect, kind: type[Message], message: domain.Message
) -> None:
    body = dialect.write_message(message)
    assert kind.FromString(write_message(kind, body)) == Parse(body, kind())


def test_the_deepest_answer_can_be_read_back() -> None:
    part = {"data": deep(MAX_DEPTH), "metadata": deep(MAX_DEPTH)}
    task = {"id": "t", "status": {"message": {"messageId": "m", "parts": [part]}}}
    body = msgspec.json.encode({"tasks": [task], "nextPageToken": "", "pageSize": 1, "totalSize": 1})
    message = new.ListTasksResponse.FromString(write_message(new.ListTasksResponse, body))
    assert len(message.tasks) == 1


@pytest.mark.parametrize(
    "data",
    [deep(MAX_DEPTH + 1), deep(MAX_DEPTH + 1, lists=True), 10**400],
    ids=["too deep", "too deep in lists", "no double"],
)
def test_what_no_client_could_read_is_not_written(data: Any) -> None:
    with pytest.raises(Unsayable):
        write_message(new.Part, msgspec.json.encode({"data": data}))


@pytest.mark.parametrize("body", [b'{"no such field":1}', b'{"id":1}', b'{"status":{"state":"NO SUCH STATE"}}'])
def test_an_answer_that_is_no_message_of_its_type_is_not_written(body: bytes) -> None:
    with pytest.raises(Unsayable):
        write_message(new.Task, body)
