import json
from typing import Any

import pytest

from llamon_agent.domain.events import ArtifactUpdate, Snapshot, StatusUpdate
from llamon_agent.domain.message import Message, Role, Text
from llamon_agent.domain.task import Artifact, TaskState, TaskStatus
from llamon_agent.wire.operations import SendMessage
from llamon_agent.wire.replies import BadReply, TaskEvent
from llamon_agent.wire.v10.codec import V10, Client10

CODEC = Client10()
MESSAGE = Message(message_id="m1", role=Role.USER, parts=(Text.of("hi"),))


def bytes_of(value: Any) -> bytes:
    return json.dumps(value).encode()


def test_the_least_that_a_client_sends_is_the_message() -> None:
    message = {"messageId": "m1", "role": "ROLE_USER", "parts": [{"text": "hi"}]}
    assert json.loads(CODEC.write_send(MESSAGE)) == {"message": message}


def test_the_edge_reads_what_a_client_writes() -> None:
    written = Client10("acme").write_send(MESSAGE, blocking=False)
    assert V10.methods["SendMessage"](written) == SendMessage(message=MESSAGE, blocking=False, tenant="acme")


def test_a_send_is_answered_with_a_task_or_a_message() -> None:
    heard = CODEC.read_event(bytes_of({"task": {"id": "t1", "status": {"state": "TASK_STATE_WORKING"}}})).event
    message = {"messageId": "m2", "role": "ROLE_AGENT", "parts": [{"text": "hello"}], "contextId": "c1"}
    assert isinstance(heard, Snapshot)
    assert (heard.task.id, heard.task.status.state) == ("t1", TaskState.WORKING)
    assert CODEC.read_event(bytes_of({"message": message})).event == Message(
        message_id="m2", role=Role.AGENT, parts=(Text.of("hello"),), context_id="c1"
    )


def test_the_specs_own_stream_is_read_although_it_leaves_required_fields_out() -> None:
    """A2A 1.0 §6.2."""
    first, second, third = (
        CODEC.read_event(bytes_of(frame), seq=seq)
        for seq, frame in enumerate(
            [
                {"task": {"id": "task-uuid", "status": {"state": "TASK_STATE_WORKING"}}},
                {"artifactUpdate": {"taskId": "task-uuid", "artifact": {"parts": [{"text": "# Report\n\n"}]}}},
                {"statusUpdate": {"taskId": "task-uuid", "status": {"state": "TASK_STATE_COMPLETED"}}},
            ],
            1,
        )
    )
    report = Artifact(artifact_id="", parts=(Text.of("# Report\n\n"),))
    assert isinstance(first.event, Snapshot)
    assert first.event.task.seq == 1
    assert second == TaskEvent(
        event=ArtifactUpdate(seq=2, artifact_id="", parts=report.parts, append=False, whole=report),
        task_id="task-uuid",
        context_id=None,
    )
    assert third == TaskEvent(
        event=StatusUpdate(seq=3, status=TaskStatus(state=TaskState.COMPLETED, at_ms=0)),
        task_id="task-uuid",
        context_id=None,
    )


def test_an_event_may_be_a_message_with_its_ids() -> None:
    frame = {"message": {"messageId": "m", "role": "ROLE_AGENT", "parts": [{"text": "x"}], "contextId": "c1"}}
    heard = CODEC.read_event(bytes_of(frame))
    assert isinstance(heard.event, Message)
    assert (heard.task_id, heard.context_id) == (None, "c1")


def test_a_last_update_that_does_not_append_is_the_whole_artifact() -> None:
    artifact = {"artifactId": "a1", "name": "answer", "parts": [{"text": "all"}]}
    frame = {"artifactUpdate": {"taskId": "t1", "contextId": "c1", "artifact": artifact, "lastChunk": True}}
    whole = Artifact(artifact_id="a1", name="answer", parts=(Text.of("all"),))
    assert CODEC.read_event(bytes_of(frame), seq=9) == TaskEvent(
        event=ArtifactUpdate(seq=9, artifact_id="a1", parts=whole.parts, append=False, last=True, whole=whole),
        task_id="t1",
        context_id="c1",
    )


def test_a_last_update_that_appends_is_only_its_own_piece() -> None:
    artifact = {"artifactId": "a1", "parts": [{"text": "the end"}]}
    heard = CODEC.read_event(bytes_of({"artifactUpdate": {"artifact": artifact, "append": True, "lastChunk": True}}))
    assert isinstance(heard.event, ArtifactUpdate)
    assert heard.event.last
    assert heard.event.whole is None


def test_a_task_is_as_old_as_its_status() -> None:
    status = {"state": "TASK_STATE_COMPLETED", "timestamp": "2026-11-30T12:00:00Z"}
    task = CODEC.read_task(bytes_of({"id": "t1", "contextId": "c1", "status": status}))
    assert task.created_ms == task.status.at_ms == 1_796_040_000_000


@pytest.mark.parametrize(
    ("timestamp", "at_ms"),
    [
        ("2026-11-30T12:00:00.5", 1_796_040_000_500),
        ("2026-11-30T14:00:00+02:00", 1_796_040_000_000),
        ("yesterday", 0),
        ("", 0),
    ],
)
def test_a_time_without_a_zone_is_utc_and_no_time_costs_the_answer(timestamp: str, at_ms: int) -> None:
    status = {"state": "TASK_STATE_COMPLETED", "timestamp": timestamp}
    assert CODEC.read_task(bytes_of({"id": "t1", "contextId": "c1", "status": status})).status.at_ms == at_ms


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
        b'{"artifactUpdate":{}}',
        b'{"artifactUpdate":{"artifact":{"parts":[{"text":"x","url":"y"}]}}}',
        b'{"kind":"task","id":"t1"}',
    ],
)
def test_what_is_no_reply_to_a_send_is_the_servers_fault(reply: bytes) -> None:
    with pytest.raises(BadReply):
        CODEC.read_event(reply)


def test_a_part_of_a_kind_that_we_do_not_know_is_left_out() -> None:
    event = CODEC.read_event(b'{"artifactUpdate":{"artifact":{"parts":[{"video":"x"},{"text":"y"}]}}}').event
    assert isinstance(event, ArtifactUpdate)
    assert event.parts == (Text.of("y"),)


@pytest.mark.parametrize("state", ["TASK_STATE_UNSPECIFIED", 0, "TASK_STATE_DREAMING"])
def test_a_state_that_we_do_not_know_is_work(state: object) -> None:
    assert CODEC.read_task(bytes_of({"id": "t1", "status": {"state": state}})).status.state is TaskState.WORKING


def test_a_message_without_a_role_is_the_agents() -> None:
    event = CODEC.read_event(bytes_of({"message": {"parts": [{"text": "x"}]}})).event
    assert isinstance(event, Message)
    assert event.role is Role.AGENT


def test_the_protos_own_names_are_read_too() -> None:
    event = CODEC.read_event(
        bytes_of({"artifact_update": {"task_id": "t1", "artifact": {"artifact_id": "a1", "parts": []}}})
    )
    assert event.task_id == "t1"
    assert isinstance(event.event, ArtifactUpdate)
    assert event.event.artifact_id == "a1"
