"""A2A 0.3 as protobuf has it, as a client speaks it over HTTP+JSON."""

import json
from typing import Any

import pytest
from tests.unit.wire.v03.test_codec_client import MESSAGE, PARTS, STATUS, TASK

from llamon_agent.domain.events import ArtifactUpdate, Snapshot, StatusUpdate
from llamon_agent.domain.message import Text
from llamon_agent.domain.task import TaskState
from llamon_agent.wire.operations import SendMessage
from llamon_agent.wire.replies import BadReply
from llamon_agent.wire.v03_proto.codec import V03_PROTO, Client03Proto

CODEC = Client03Proto()


def bytes_of(value: Any) -> bytes:
    return json.dumps(value).encode()


@pytest.mark.parametrize("blocking", [True, False])
def test_the_edge_reads_what_a_client_writes(blocking: bool) -> None:
    written = CODEC.write_send(MESSAGE, blocking=blocking)
    assert json.loads(written)["configuration"] == {"blocking": blocking}
    assert V03_PROTO.methods["SendMessage"](written) == SendMessage(message=MESSAGE, blocking=blocking)


def test_a_client_reads_what_the_edge_writes() -> None:
    assert CODEC.read_task(V03_PROTO.write_task(TASK)) == TASK
    assert CODEC.read_event(V03_PROTO.write_message(MESSAGE)).event == MESSAGE
    chunk = ArtifactUpdate(seq=3, artifact_id="a1", parts=PARTS, append=True, last=True)
    for event in (Snapshot(task=TASK), StatusUpdate(seq=3, status=STATUS), chunk):
        read = CODEC.read_event(V03_PROTO.write_event(event, task=TASK, final=False), seq=event.seq)
        assert (read.event, read.task_id, read.context_id) == (event, "t1", "c1")


@pytest.mark.parametrize(
    ("state", "read"),
    [
        ("TASK_STATE_CANCELLED", TaskState.CANCELED),
        ("TASK_STATE_CANCELED", TaskState.CANCELED),
        (5, TaskState.CANCELED),
        ("TASK_STATE_UNSPECIFIED", TaskState.WORKING),
    ],
)
def test_a_state_is_read_in_each_spelling(state: object, read: TaskState) -> None:
    assert CODEC.read_task(bytes_of({"id": "t1", "status": {"state": state}})).status.state is read


def test_the_protos_own_names_are_read_too() -> None:
    artifact = {"artifact_id": "a1", "parts": [{"file": {"file_with_uri": "http://h"}}, {}]}
    event = CODEC.read_event(bytes_of({"artifact_update": {"task_id": "t1", "artifact": artifact}}))
    assert isinstance(event.event, ArtifactUpdate)
    assert (event.task_id, event.event.artifact_id, len(event.event.parts)) == ("t1", "a1", 1)


@pytest.mark.parametrize("reply", [b"", b"{}", b'{"task":{}}', b'{"task":{"status":{"state":"dreaming"}}}'])
def test_what_is_no_reply_is_the_servers_fault(reply: bytes) -> None:
    with pytest.raises(BadReply):
        CODEC.read_event(reply)


def test_a_part_of_a_kind_that_we_do_not_know_is_left_out() -> None:
    message = {"messageId": "m", "content": [{"video": "x"}, {"text": "y"}]}
    assert CODEC.read_event(bytes_of({"message": message})).event.parts == (Text.of("y"),)  # type: ignore[union-attr]
