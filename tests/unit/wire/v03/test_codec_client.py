"""A2A 0.3 as a client speaks it over JSON-RPC."""

import json
from typing import Any

import pytest

from llamon_agent.domain.events import ArtifactUpdate, Snapshot, StatusUpdate
from llamon_agent.domain.message import Data, Message, Raw, Role, Text, Url
from llamon_agent.domain.task import Artifact, Task, TaskState, TaskStatus
from llamon_agent.wire.operations import SendMessage
from llamon_agent.wire.replies import BadReply
from llamon_agent.wire.v03.codec import V03, Client03

CODEC = Client03()
PARTS = (Text.of("hi"), Raw(data=b"\xfb\x00", filename="a", media_type="x/y"), Url(url="http://h/f"), Data(data=[1]))
MESSAGE = Message(message_id="m1", role=Role.USER, parts=PARTS, context_id="c1", metadata={"k": 1})
STATUS = TaskStatus(state=TaskState.INPUT_REQUIRED, at_ms=1_796_040_000_042, message=MESSAGE)
TASK = Task(
    id="t1",
    context_id="c1",
    owner="",
    agent="",
    status=STATUS,
    seq=0,
    created_ms=STATUS.at_ms,
    history=(MESSAGE,),
    artifacts=(Artifact(artifact_id="a1", parts=PARTS, name="n"),),
    metadata={"k": 1.5},
)


def bytes_of(value: Any) -> bytes:
    return json.dumps(value).encode()


@pytest.mark.parametrize("blocking", [True, False])
def test_the_edge_reads_what_a_client_writes(blocking: bool) -> None:
    written = CODEC.write_send(MESSAGE, blocking=blocking)
    assert json.loads(written)["configuration"] == {"blocking": blocking}
    assert V03.methods["message/send"](written) == SendMessage(message=MESSAGE, blocking=blocking)


def test_a_client_reads_what_the_edge_writes() -> None:
    assert CODEC.read_task(V03.write_task(TASK)) == TASK
    assert CODEC.read_event(V03.write_message(MESSAGE)).event == MESSAGE
    chunk = ArtifactUpdate(seq=3, artifact_id="a1", parts=PARTS, append=True, last=True)
    for event in (Snapshot(task=TASK), StatusUpdate(seq=3, status=STATUS), chunk):
        read = CODEC.read_event(V03.write_event(event, task=TASK, final=False), seq=event.seq)
        assert (read.event, read.task_id, read.context_id) == (event, "t1", "c1")


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        ({"id": "t1", "contextId": "c1", "status": {"state": "working"}}, Snapshot),
        ({"messageId": "m", "role": "agent", "parts": []}, Message),
        ({"taskId": "t1", "status": {"state": "working"}}, StatusUpdate),
        ({"taskId": "t1", "artifact": {"artifactId": "a", "parts": [{"text": "x"}]}}, ArtifactUpdate),
    ],
)
def test_the_kind_of_a_reply_may_be_missing(reply: Any, kind: type) -> None:
    assert isinstance(CODEC.read_event(bytes_of(reply)).event, kind)


def test_a_state_that_is_unknown_is_work() -> None:
    task = CODEC.read_task(bytes_of({"id": "t1", "status": {"state": "unknown"}}))
    assert (task.status.state, task.status.at_ms) == (TaskState.WORKING, 0)


@pytest.mark.parametrize(
    "reply",
    [
        b"",
        b"null",
        b"{}",
        b'{"kind":"task","id":"t1"}',
        b'{"kind":"task","id":"t1","status":{"state":"dreaming"}}',
        b'{"kind":"message"}',
        b'{"kind":"dream","id":"t1"}',
        b'{"kind":"message","messageId":"m","parts":[{"kind":"file","file":{"bytes":"!!!!"}}]}',
    ],
)
def test_what_is_no_reply_is_the_servers_fault(reply: bytes) -> None:
    with pytest.raises(BadReply):
        CODEC.read_event(reply)


def test_a_part_of_a_kind_that_we_do_not_know_is_left_out() -> None:
    event = CODEC.read_event(
        bytes_of({"kind": "message", "messageId": "m", "parts": [{"kind": "video"}, {"text": "x"}]})
    )
    assert isinstance(event.event, Message)
    assert event.event.parts == (Text.of("x"),)
