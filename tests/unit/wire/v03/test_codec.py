import json
from typing import Any

import pytest

from llamon_agent.domain.errors import BadParams
from llamon_agent.domain.events import Snapshot, StatusUpdate, Update
from llamon_agent.domain.message import Message, Role, Text
from llamon_agent.domain.task import Artifact, PushConfig, Task, TaskPage, TaskState, TaskStatus
from llamon_agent.wire.operations import CancelTask, Dialect, GetExtendedCard, GetTask, SendMessage, Subscribe
from llamon_agent.wire.v03.codec import V03

AT_MS = 1_796_040_000_042
AT = "2026-11-30T12:00:00.042Z"

TASK = Task(
    id="t1",
    context_id="c1",
    owner="alice",
    agent="demo",
    status=TaskStatus(state=TaskState.COMPLETED, at_ms=AT_MS),
    seq=7,
    created_ms=1,
    history=(Message(message_id="m1", role=Role.USER, parts=(Text.of("hi"),), context_id="c1", task_id="t1"),),
    artifacts=(Artifact(artifact_id="a1", parts=(Text.of("hello"),), name="answer"),),
    metadata={"history": {"seeded": 2}},
)
TASK_JSON = {
    "kind": "task",
    "id": "t1",
    "contextId": "c1",
    "status": {"state": "completed", "timestamp": AT},
    "history": [
        {
            "kind": "message",
            "messageId": "m1",
            "role": "user",
            "parts": [{"kind": "text", "text": "hi"}],
            "contextId": "c1",
            "taskId": "t1",
        }
    ],
    "artifacts": [{"artifactId": "a1", "name": "answer", "parts": [{"kind": "text", "text": "hello"}]}],
    "metadata": {"history": {"seeded": 2}},
}

TEXT = {"kind": "text", "text": "hi"}
LEAST = {"messageId": "m1", "role": "user", "parts": [TEXT]}


def opened(method: str, params: Any) -> Any:
    return V03.methods[method](json.dumps(params).encode())


def sent(**message: Any) -> Message:
    call = opened("message/send", {"message": LEAST | message})
    assert isinstance(call, SendMessage)
    return call.message


def refused(method: str, params: Any) -> str:
    with pytest.raises(BadParams) as caught:
        opened(method, params)
    return caught.value.public


# message/send and message/stream.


def test_the_specs_own_first_message_is_read() -> None:
    """A2A 0.3 §9.2."""
    params = {
        "message": {
            "role": "user",
            "parts": [{"kind": "text", "text": "tell me a joke"}],
            "messageId": "9229e770-767c-417b-a0b0-f0741243c589",
        },
        "metadata": {},
    }
    message = Message(
        message_id="9229e770-767c-417b-a0b0-f0741243c589", role=Role.USER, parts=(Text.of("tell me a joke"),)
    )
    assert opened("message/send", params) == SendMessage(message=message, metadata={})
    assert opened("message/stream", params) == SendMessage(message=message, metadata={}, stream=True)


def test_everything_that_a_send_can_say_is_read() -> None:
    params = {
        "message": {
            "kind": "message",
            "messageId": "m1",
            "contextId": "c1",
            "taskId": "t1",
            "role": "agent",
            "parts": [TEXT],
            "metadata": {"history": []},
            "extensions": ["https://example.com/x"],
            "referenceTaskIds": ["t0"],
        },
        "configuration": {
            "acceptedOutputModes": ["text/plain"],
            "pushNotificationConfig": {"url": "https://example.com/hook"},
            "historyLength": 0,
            "blocking": False,
        },
        "metadata": {"trace": "1"},
    }
    assert opened("message/send", params) == SendMessage(
        message=Message(
            message_id="m1",
            role=Role.AGENT,
            parts=(Text.of("hi"),),
            context_id="c1",
            task_id="t1",
            metadata={"history": []},
            extensions=("https://example.com/x",),
            reference_task_ids=("t0",),
        ),
        metadata={"trace": "1"},
        blocking=False,
        history_length=0,
        accepted_output_modes=("text/plain",),
        push=PushConfig(id="", url="https://example.com/hook", version="0.3"),
    )


@pytest.mark.parametrize(
    ("configuration", "waits"),
    [(None, True), ({}, True), ({"blocking": True}, True), ({"blocking": None}, True), ({"blocking": False}, False)],
)
def test_a_send_waits_unless_it_says_not_to(configuration: Any, waits: bool) -> None:
    assert opened("message/send", {"message": LEAST, "configuration": configuration}).blocking is waits


def test_an_empty_list_of_output_modes_is_anything() -> None:
    """Gemini Enterprise sends it."""
    call = opened("message/send", {"message": LEAST, "configuration": {"acceptedOutputModes": []}})
    assert call == SendMessage(message=sent())


@pytest.mark.parametrize("key", ["contextId", "taskId", "metadata", "extensions", "referenceTaskIds"])
def test_null_and_absent_are_the_same(key: str) -> None:
    assert sent(**{key: None}) == sent()


def test_an_empty_id_is_an_absent_one() -> None:
    assert sent(contextId="", taskId="") == sent()


def test_unknown_keys_are_ignored() -> None:
    assert sent(context={"userId": "u"}, parts=[TEXT | {"type": "text"}]) == sent()


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({}, "message.parts[1].kind must be text, file or data."),
        ({"kind": "video", "text": "x"}, "message.parts[1].kind must be text, file or data."),
        ({"kind": "text"}, "message.parts[1].text is required."),
        ({"kind": "data", "text": "x"}, "message.parts[1].data is required."),
        ({"kind": "file", "text": "x"}, "message.parts[1].file is required."),
        ({"kind": "data", "data": [1]}, "message.parts[1].data is not valid."),
        ({"kind": "text", "text": 7}, "message.parts[1].text is not valid."),
        ({"kind": "file", "file": {}}, "message.parts[1].file must have exactly one of bytes, uri."),
        # The 0.2 conformance suite sends `url`; it is no key of a FilePart.
        ({"kind": "file", "file": {"url": "u"}}, "message.parts[1].file must have exactly one of bytes, uri."),
        (
            {"kind": "file", "file": {"bytes": "aGk=", "uri": "u"}},
            "message.parts[1].file must have exactly one of bytes, uri.",
        ),
        ({"kind": "file", "file": {"bytes": "@"}}, "message.parts[1].file.bytes is not valid base64."),
    ],
)
def test_the_error_for_a_bad_part_names_its_position(wrong: dict[str, Any], says: str) -> None:
    assert refused("message/send", {"message": LEAST | {"parts": [TEXT, wrong]}}) == says


@pytest.mark.parametrize(
    ("params", "says"),
    [
        ({}, "message is required."),
        ({"message": None}, "message is not valid."),
        ({"message": {"role": "user", "parts": [TEXT]}}, "message.messageId is required."),
        ({"message": LEAST | {"messageId": ""}}, "message.messageId is not valid."),
        ({"message": LEAST | {"role": "ROLE_USER"}}, "message.role is not valid."),
        ({"message": {"messageId": "m1", "parts": [TEXT]}}, "message.role is required."),
        ({"message": {"messageId": "m1", "role": "user"}}, "message.parts is required."),
        ({"message": LEAST | {"parts": []}}, "message.parts is not valid."),
        ({"message": LEAST | {"kind": "task"}}, "message.kind is not valid."),
        ({"message": LEAST, "configuration": {"historyLength": -1}}, "configuration.historyLength is not valid."),
        ({"message": LEAST, "metadata": []}, "metadata is not valid."),
        ("x", "params must be an object."),
        ([], "params must be an object."),
        (None, "params must be an object."),
    ],
)
def test_the_error_for_a_bad_send_names_the_field(params: Any, says: str) -> None:
    assert refused("message/send", params) == says


def test_what_a_caller_sent_is_not_echoed() -> None:
    assert "secret" not in refused("message/send", {"message": LEAST | {"role": "secret"}})


def test_missing_params_are_refused() -> None:
    with pytest.raises(BadParams, match="params are required"):
        V03.methods["message/send"](b"")


# What real clients send.


@pytest.mark.parametrize(
    ("message", "is_read_as"),
    [
        # a2a-bridge: no kind on the message.
        (
            {"role": "user", "messageId": "m1", "parts": [{"kind": "text", "text": "hi"}], "contextId": "c1"},
            Message(message_id="m1", role=Role.USER, parts=(Text.of("hi"),), context_id="c1"),
        ),
        # An HTTP node with hand-written JSON: no kind anywhere.
        (
            {"messageId": "m1", "role": "user", "parts": [{"text": "hi"}]},
            Message(message_id="m1", role=Role.USER, parts=(Text.of("hi"),)),
        ),
        # pydantic without exclude_none (Strands).
        (
            {
                "contextId": None,
                "extensions": None,
                "kind": "message",
                "messageId": "m1",
                "metadata": None,
                "parts": [{"kind": "text", "metadata": None, "text": "hi"}],
                "referenceTaskIds": None,
                "role": "user",
                "taskId": None,
            },
            Message(message_id="m1", role=Role.USER, parts=(Text.of("hi"),)),
        ),
        # Copilot Studio.
        (
            {
                "contextId": "6a3cbf6e",
                "kind": "message",
                "messageId": "m1",
                "metadata": {"copilotstudio.microsoft.com/a2a/chathistory": [{"HasValue": True, "Value": []}]},
                "parts": [{"kind": "text", "text": "hi"}],
                "role": "user",
            },
            Message(
                message_id="m1",
                role=Role.USER,
                parts=(Text.of("hi"),),
                context_id="6a3cbf6e",
                metadata={"copilotstudio.microsoft.com/a2a/chathistory": [{"HasValue": True, "Value": []}]},
            ),
        ),
    ],
    ids=["a2a-bridge", "by hand", "pydantic", "Copilot Studio"],
)
def test_messages_of_real_clients_are_read(message: dict[str, Any], is_read_as: Message) -> None:
    assert opened("message/send", {"message": message}) == SendMessage(message=is_read_as)


# The other methods.


def test_get_reads_the_id_and_the_history_length() -> None:
    params = {"id": "t1", "historyLength": 10, "metadata": {}}
    assert opened("tasks/get", params) == GetTask(task_id="t1", history_length=10)


def test_canceling_again_is_an_error_and_a_finished_task_is_shown() -> None:
    """A2A 0.3 §7.4, §7.9."""
    cancel = opened("tasks/cancel", {"id": "t1", "metadata": {"why": "x"}})
    assert cancel == CancelTask(task_id="t1", again_ok=False, metadata={"why": "x"})
    assert opened("tasks/resubscribe", {"id": "t1"}) == Subscribe(task_id="t1", ended_ok=True)


@pytest.mark.parametrize("method", ["tasks/get", "tasks/cancel", "tasks/resubscribe"])
@pytest.mark.parametrize("params", [{}, {"id": ""}, {"id": None}, {"id": 7}, {"taskId": "t1"}])
def test_a_task_method_needs_an_id(method: str, params: Any) -> None:
    assert refused(method, params) in ("id is required.", "id is not valid.")


def test_a_negative_history_length_is_refused() -> None:
    assert refused("tasks/get", {"id": "t1", "historyLength": -1}) == "historyLength is not valid."


# The extended card.


@pytest.mark.parametrize("method", ["agent/getAuthenticatedExtendedCard", "agent/authenticatedExtendedCard"])
@pytest.mark.parametrize("params", [b"", b"{}", b"[]", b"nonsense"])
def test_the_extended_card_has_two_names_and_no_params(method: str, params: bytes) -> None:
    """A2A 0.3 §7.10; 0.2.6 §7.10."""
    assert V03.methods[method](params) == GetExtendedCard()


# What is written.


def event(event: Snapshot | Update, *, final: bool = False) -> Any:
    return json.loads(V03.write_event(event, task=TASK, final=final))


def test_a_task_is_bare_with_its_kind() -> None:
    """A2A 0.3 §6.1. Owner, agent, seq and creation never leave the edge."""
    assert json.loads(V03.write_sent(TASK)) == TASK_JSON
    assert json.loads(V03.write_task(TASK)) == TASK_JSON


def test_no_history_no_artifacts_and_no_metadata_are_absent_keys() -> None:
    bare = Task(
        id="t1",
        context_id="c1",
        owner="alice",
        agent="demo",
        status=TaskStatus(state=TaskState.SUBMITTED, at_ms=AT_MS),
        seq=1,
        created_ms=1,
    )
    status = {"state": "submitted", "timestamp": AT}
    assert json.loads(V03.write_task(bare)) == {"kind": "task", "id": "t1", "contextId": "c1", "status": status}


@pytest.mark.parametrize("final", [True, False])
def test_a_status_says_whether_it_is_the_last_event(final: bool) -> None:
    """A2A 0.3 §7.2.2."""
    asks = TaskStatus(
        state=TaskState.INPUT_REQUIRED,
        at_ms=AT_MS,
        message=Message(message_id="q1", role=Role.AGENT, parts=(Text.of("Sure?"),)),
    )
    assert event(StatusUpdate(seq=2, status=asks), final=final) == {
        "kind": "status-update",
        "taskId": "t1",
        "contextId": "c1",
        "status": {
            "state": "input-required",
            "timestamp": AT,
            "message": {
                "kind": "message",
                "messageId": "q1",
                "role": "agent",
                "parts": [{"kind": "text", "text": "Sure?"}],
            },
        },
        "final": final,
    }


def test_a_snapshot_is_the_task() -> None:
    assert event(Snapshot(task=TASK)) == TASK_JSON


def test_a_page_is_a_bare_array() -> None:
    """A2A 0.3 §3.5.6 has a list over HTTP+JSON."""
    page = TaskPage(tasks=(TASK,), total=3, more=True)
    with_them = json.loads(V03.write_page(page, next_token="n", page_size=1, include_artifacts=True))
    without = json.loads(V03.write_page(page, next_token="n", page_size=1, include_artifacts=False))
    assert with_them == [TASK_JSON]
    assert without == [{key: value for key, value in TASK_JSON.items() if key != "artifacts"}]


def test_a_message_answers_a_send_and_a_stream_alike() -> None:
    answer = Message(message_id="m2", role=Role.AGENT, parts=(Text.of("hello"),), context_id="c1")
    assert json.loads(V03.write_message(answer)) == {
        "kind": "message",
        "messageId": "m2",
        "role": "agent",
        "parts": [{"kind": "text", "text": "hello"}],
        "contextId": "c1",
    }


def test_an_error_has_no_data() -> None:
    dialect: Dialect = V03
    assert dialect.write_fault_data("TASK_NOT_FOUND", "The task was not found.", []) is None
