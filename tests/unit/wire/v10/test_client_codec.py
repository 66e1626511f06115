import json
from typing import Any

import pytest

from llamon_agent.domain.events import ArtifactUpdate, Snapshot, StatusUpdate
from llamon_agent.domain.message import Message, Role, Text
from llamon_agent.domain.task import Artifact, TaskState, TaskStatus
from llamon_agent.wire.operations import CancelTask, GetTask, SendMessage
from llamon_agent.wire.v10.client_codec import (
    BadReply,
    Heard,
    read_event,
    read_task,
    write_cancel_params,
    write_get_params,
    write_send_params,
)
from llamon_agent.wire.v10.codec import V10

MESSAGE = Message(message_id="m1", role=Role.USER, parts=(Text.of("hi"),))


def bytes_of(value: Any) -> bytes:
    return json.dumps(value).encode()


def test_the_least_that_a_client_sends_is_the_message() -> None:
    message = {"messageId": "m1", "role": "ROLE_USER", "parts": [{"text": "hi"}]}
    assert json.loads(write_send_params(MESSAGE)) == {"message": message}


def test_the_edge_reads_what_a_client_writes() -> None:
    written = write_send_params(
        MESSAGE, metadata={"k": 1}, blocking=False, history_length=0, accepted_output_modes=["text/plain"]
    )
    assert V10.methods["SendMessage"](written) == SendMessage(
        message=MESSAGE, metadata={"k": 1}, blocking=False, history_length=0, accepted_output_modes=("text/plain",)
    )
    assert V10.methods["GetTask"](write_get_params("t1", history_length=2)) == GetTask(task_id="t1", history_length=2)
    assert V10.methods["CancelTask"](write_cancel_params("t1")) == CancelTask(task_id="t1", again_ok=True)


def test_a_send_is_answered_with_a_task_or_a_message() -> None:
    heard = read_event(bytes_of({"task": {"id": "t1", "status": {"state": "TASK_STATE_WORKING"}}})).event
    message = {"messageId": "m2", "role": "ROLE_AGENT", "parts": [{"text": "hello"}], "contextId": "c1"}
    assert isinstance(heard, Snapshot)
    assert (heard.task.id, heard.task.status.state) == ("t1", TaskState.WORKING)
    assert read_event(bytes_of({"message": message})).event == Message(
        message_id="m2", role=Role.AGENT, parts=(Text.of("hello"),), context_id="c1"
    )


def test_the_specs_own_stream_is_read_although_it_leaves_required_fields_out() -> None:
    """A2A 1.0 §6.2."""
    first, second, third = (
        read_event(bytes_of(frame), seq=seq)
        for seq, frame in enumerate(
            [
                {"task": {"id": "task-uuid", "status": {"state": "TASK_STATE_WORKING"}}},
                {"artifactUpdate": {"taskId": "task-uuid", "artifact": {"parts": [{"text": "# Report\n\n"}]}}},
                {"statusUpdate": {"taskId": "task-uuid", "status": {"state": "TASK_STATE_COMPLETED"}}},
            ],
            1,
        )
    )
    assert isinstance(first.event, Snapshot)
    assert first.event.task.seq == 1
    assert second == Heard(
        event=ArtifactUpdate(seq=2, artifact_id="", parts=(Text.of("# Report\n\n"),), append=False),
        task_id="task-uuid",
        context_id=None,
    )
    assert third == Heard(
        event=StatusUpdate(seq=3, status=TaskStatus(state=TaskState.COMPLETED, at_ms=0)),
        task_id="task-uuid",
        context_id=None,
    )


def test_an_event_may_be_a_message_with_its_ids() -> None:
    frame = {"message": {"messageId": "m", "role": "ROLE_AGENT", "parts": [{"text": "x"}], "contextId": "c1"}}
    heard = read_event(bytes_of(frame))
    assert isinstance(heard.event, Message)
    assert (heard.task_id, heard.context_id) == (None, "c1")


def test_a_last_update_that_does_not_append_is_the_whole_artifact() -> None:
    artifact = {"artifactId": "a1", "name": "answer", "parts": [{"text": "all"}]}
    frame = {"artifactUpdate": {"taskId": "t1", "contextId": "c1", "artifact": artifact, "lastChunk": True}}
    whole = Artifact(artifact_id="a1", name="answer", parts=(Text.of("all"),))
    assert read_event(bytes_of(frame), seq=9) == Heard(
        event=ArtifactUpdate(seq=9, artifact_id="a1", parts=whole.parts, append=False, last=True, whole=whole),
        task_id="t1",
        context_id="c1",
    )


def test_a_last_update_that_appends_is_only_its_own_piece() -> None:
    artifact = {"artifactId": "a1", "parts": [{"text": "the end"}]}
    heard = read_event(bytes_of({"artifactUpdate": {"artifact": artifact, "append": True, "lastChunk": True}}))
    assert isinstance(heard.event, ArtifactUpdate)
    assert heard.event.last
    assert heard.event.whole is None


def test_a_task_is_as_old_as_its_status() -> None:
    status = {"state": "TASK_STATE_COMPLETED", "timestamp": "2026-11-30T12:00:00Z"}
    task = read_task(bytes_of({"id": "t1", "contextId": "c1", "status": status}))
    assert task.created_ms == task.status.at_ms == 1_796_040_000_000


@pytest.mark.parametrize(
    "reply",
    [
        b"",
        b"<html>",
        b"null",
        b"[]",
        b"{}",
        b'{"task":{}}',
        b'{"task":{"id":"t1","status":{"state":"working"}}}',
        b'{"message":{}}',
        b'{"statusUpdate":{}}',
        b'{"artifactUpdate":{"artifact":{"parts":[{}]}}}',
        b'{"kind":"task","id":"t1"}',
    ],
)
def test_what_is_no_reply_to_a_send_is_the_servers_fault(reply: bytes) -> None:
    with pytest.raises(BadReply):
        read_event(reply)
