import json
from typing import Any

import pytest

from llamon_agent.domain.errors import BadJson, BadParams
from llamon_agent.domain.events import Snapshot, StatusUpdate, Update
from llamon_agent.domain.message import Data, Message, Role, Text
from llamon_agent.domain.task import Artifact, PushConfig, Task, TaskPage, TaskState, TaskStatus
from llamon_agent.wire.operations import CancelTask, GetExtendedCard, GetTask, ListTasks, SendMessage, Subscribe
from llamon_agent.wire.v10.codec import V10

AT_MS = 1_796_040_000_042
AT = "2026-11-30T12:00:00.042Z"

QUESTION = Message(message_id="m1", role=Role.USER, parts=(Text.of("hi"),), context_id="c1", task_id="t1")
ANSWER = Artifact(artifact_id="a1", parts=(Text.of("hello"),), name="answer")
TASK = Task(
    id="t1",
    context_id="c1",
    owner="alice",
    agent="demo",
    status=TaskStatus(state=TaskState.COMPLETED, at_ms=AT_MS),
    seq=7,
    created_ms=1,
    history=(QUESTION,),
    artifacts=(ANSWER,),
    metadata={"history": {"seeded": 2}},
)
TASK_JSON = {
    "id": "t1",
    "contextId": "c1",
    "status": {"state": "TASK_STATE_COMPLETED", "timestamp": AT},
    "artifacts": [{"artifactId": "a1", "name": "answer", "parts": [{"text": "hello"}]}],
    "history": [{"messageId": "m1", "contextId": "c1", "taskId": "t1", "role": "ROLE_USER", "parts": [{"text": "hi"}]}],
    "metadata": {"history": {"seeded": 2}},
}


def opened(method: str, params: Any) -> Any:
    return V10.methods[method](json.dumps(params).encode())


def sent(**message: Any) -> Message:
    params = {"message": {"messageId": "m1", "role": "ROLE_USER", "parts": [{"text": "hi"}]} | message}
    call = opened("SendMessage", params)
    assert isinstance(call, SendMessage)
    return call.message


def refused(method: str, params: Any) -> str:
    with pytest.raises(BadParams) as caught:
        opened(method, params)
    return caught.value.public


# SendMessage and SendStreamingMessage.


def test_the_specs_own_first_message_is_read() -> None:
    """A2A 1.0 §6.1."""
    params = {
        "message": {
            "role": "ROLE_USER",
            "parts": [{"text": "What is the weather today?"}],
            "messageId": "msg-uuid",
        }
    }
    message = Message(message_id="msg-uuid", role=Role.USER, parts=(Text.of("What is the weather today?"),))
    assert opened("SendMessage", params) == SendMessage(message=message)
    assert opened("SendStreamingMessage", params) == SendMessage(message=message, stream=True)


def test_everything_that_a_send_can_say_is_read() -> None:
    params = {
        "tenant": "acme",
        "message": {
            "messageId": "m1",
            "contextId": "c1",
            "taskId": "t1",
            "role": "ROLE_AGENT",
            "parts": [{"text": "hi"}],
            "metadata": {"history": []},
            "extensions": ["https://example.com/x"],
            "referenceTaskIds": ["t0"],
        },
        "configuration": {
            "acceptedOutputModes": ["text/plain"],
            "taskPushNotificationConfig": {"url": "https://example.com/hook"},
            "historyLength": 0,
            "returnImmediately": True,
        },
        "metadata": {"trace": "1"},
    }
    assert opened("SendMessage", params) == SendMessage(
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
        push=PushConfig(id="", url="https://example.com/hook", version="1.0"),
        tenant="acme",
    )


@pytest.mark.parametrize(
    ("configuration", "waits"),
    [
        (None, True),
        ({}, True),
        ({"returnImmediately": False}, True),
        ({"returnImmediately": None}, True),
        ({"returnImmediately": True}, False),
    ],
)
def test_a_send_waits_unless_it_says_to_return(configuration: Any, waits: bool) -> None:
    message = {"messageId": "m1", "role": "ROLE_USER", "parts": [{"text": "hi"}]}
    assert opened("SendMessage", {"message": message, "configuration": configuration}).blocking is waits


@pytest.mark.parametrize("key", ["contextId", "taskId", "metadata", "extensions", "referenceTaskIds"])
def test_null_and_absent_are_the_same(key: str) -> None:
    assert sent(**{key: None}) == sent()


def test_an_empty_id_is_an_absent_one() -> None:
    """proto3 strings have no presence."""
    assert sent(contextId="", taskId="") == sent()


def test_unknown_keys_are_ignored() -> None:
    assert sent(kind="message", parts=[{"kind": "text", "text": "hi"}]) == sent()


@pytest.mark.parametrize(
    ("params", "says"),
    [
        ({}, "message is required."),
        ({"message": None}, "message is required."),
        ({"message": "hi"}, "message is not valid."),
        ({"message": {"role": "ROLE_USER", "parts": [{"text": "hi"}]}}, "message.messageId is required."),
        (
            {"message": {"messageId": "", "role": "ROLE_USER", "parts": [{"text": "hi"}]}},
            "message.messageId is required.",
        ),
        ({"message": {"messageId": 7, "role": "ROLE_USER"}}, "message.messageId is not valid."),
        ({"message": {"messageId": "m1", "role": "ROLE_USER"}}, "message.parts must have at least one part."),
        (
            {"message": {"messageId": "m1", "role": "ROLE_USER", "parts": []}},
            "message.parts must have at least one part.",
        ),
        ({"message": {"messageId": "m1", "role": "ROLE_USER", "parts": "hi"}}, "message.parts is not valid."),
        ({"message": {"messageId": "m1", "parts": [{"text": "hi"}]}}, "message.role must be ROLE_USER or ROLE_AGENT."),
        (
            {"message": {"messageId": "m1", "role": "ROLE_USER", "parts": [{"text": 7}]}},
            "message.parts[0].text is not valid.",
        ),
        (
            {"message": {"messageId": "m1", "role": "ROLE_USER", "parts": [{"raw": "@"}]}},
            "message.parts[0].raw is not valid base64.",
        ),
        (
            {
                "message": {"messageId": "m1", "role": "ROLE_USER", "parts": [{"text": "hi"}]},
                "configuration": {"historyLength": -1},
            },
            "configuration.historyLength is not valid.",
        ),
        ({"metadata": []}, "metadata is not valid."),
        ("x", "params must be an object."),
        ([], "params must be an object."),
        (None, "params must be an object."),
    ],
)
def test_the_error_for_a_bad_send_names_the_field(params: Any, says: str) -> None:
    assert refused("SendMessage", params) == says


def test_missing_params_are_refused() -> None:
    with pytest.raises(BadParams, match="params are required"):
        V10.methods["SendMessage"](b"")


# The other methods.


def test_get_reads_the_id_and_the_history_length() -> None:
    """A2A 1.0 §9.4.3."""
    assert opened("GetTask", {"id": "t1", "historyLength": 10}) == GetTask(task_id="t1", history_length=10)
    assert opened("GetTask", {"id": "t1", "tenant": "acme"}) == GetTask(task_id="t1", tenant="acme")


@pytest.mark.parametrize(
    ("spelled", "meant"), [(5, 5), ("5", 5), (5.0, 5), ("0", 0), (None, None), ("2147483647", 2**31 - 1)]
)
def test_a_number_goes_by_any_of_its_protojson_spellings(spelled: Any, meant: int | None) -> None:
    assert opened("GetTask", {"id": "t1", "historyLength": spelled}).history_length == meant


@pytest.mark.parametrize("spelled", [-1, "-1", 5.5, "5.5", "", "five", "٥", 2**31, "9999999999", 1e300, True, [5]])
def test_what_is_no_number_is_refused(spelled: Any) -> None:
    assert refused("GetTask", {"id": "t1", "historyLength": spelled}) == "historyLength is not valid."


def test_canceling_again_is_fine_and_a_finished_task_is_not_followed() -> None:
    """A2A 1.0 §3.3.1, §3.1.6."""
    assert opened("CancelTask", {"id": "t1", "metadata": {"why": "x"}}) == CancelTask(
        task_id="t1", again_ok=True, metadata={"why": "x"}
    )
    assert opened("SubscribeToTask", {"id": "t1"}) == Subscribe(task_id="t1", ended_ok=False)


@pytest.mark.parametrize("method", ["GetTask", "CancelTask", "SubscribeToTask"])
@pytest.mark.parametrize("params", [{}, {"id": ""}, {"id": None}, {"id": 7}, {"taskId": "t1"}])
def test_a_task_method_needs_an_id(method: str, params: Any) -> None:
    assert refused(method, params) in ("id is required.", "id is not valid.")


def test_a_list_asks_for_fifty_of_anything_by_default() -> None:
    unset = {"contextId": "", "status": "TASK_STATE_UNSPECIFIED", "pageToken": "", "includeArtifacts": None}
    assert opened("ListTasks", {}) == opened("ListTasks", unset) == opened("ListTasks", {"status": 0}) == ListTasks()
    assert ListTasks().page_size == 50


def test_everything_that_a_list_can_ask_is_read() -> None:
    params = {
        "tenant": "acme",
        "contextId": "c1",
        "status": "TASK_STATE_WORKING",
        "pageSize": 100,
        "pageToken": "cursor-token",
        "historyLength": 0,
        "statusTimestampAfter": "2026-11-30T21:00:00.042+09:00",
        "includeArtifacts": True,
    }
    assert opened("ListTasks", params) == ListTasks(
        context_id="c1",
        state=TaskState.WORKING,
        changed_since_ms=AT_MS,
        page_size=100,
        page_token="cursor-token",
        history_length=0,
        include_artifacts=True,
        tenant="acme",
    )


@pytest.mark.parametrize(
    ("params", "field"),
    [
        ({"pageSize": 0}, "pageSize"),
        ({"pageSize": 101}, "pageSize"),
        ({"pageSize": "0"}, "pageSize"),
        ({"pageSize": 100.5}, "pageSize"),
        ({"pageSize": -1}, "pageSize"),
        ({"historyLength": -1}, "historyLength"),
        ({"status": "working"}, "status"),
        ({"status": 99}, "status"),
        ({"statusTimestampAfter": "yesterday"}, "statusTimestampAfter"),
    ],
)
def test_the_error_for_a_bad_list_names_the_field(params: Any, field: str) -> None:
    assert refused("ListTasks", params).startswith(f"{field} ")


# The extended card.


@pytest.mark.parametrize("params", [b"", b"null", b"{}"])
def test_the_extended_card_needs_no_params(params: bytes) -> None:
    assert V10.methods["GetExtendedAgentCard"](params) == GetExtendedCard()
    assert opened("GetExtendedAgentCard", {"tenant": "acme"}) == GetExtendedCard(tenant="acme")
    assert refused("GetExtendedAgentCard", []) == "params must be an object."


# Proto names.


def test_proto_field_names_are_read_as_well() -> None:
    """ProtoJSON parsers accept both spellings; what a caller put into metadata and data stays as it is."""
    params = {
        "message": {
            "message_id": "m1",
            "context_id": "c1",
            "role": "ROLE_USER",
            "parts": [
                {"data": {"snake_key": 1}, "media_type": "application/json", "metadata": {"is_user_input": True}}
            ],
            "metadata": {"some_key": {"other_key": 1}},
            "reference_task_ids": ["t0"],
        },
        "configuration": {"return_immediately": True, "history_length": 3, "accepted_output_modes": ["text/plain"]},
    }
    part = Data(data={"snake_key": 1}, media_type="application/json", metadata={"is_user_input": True})
    assert opened("SendMessage", params) == SendMessage(
        message=Message(
            message_id="m1",
            role=Role.USER,
            parts=(part,),
            context_id="c1",
            metadata={"some_key": {"other_key": 1}},
            reference_task_ids=("t0",),
        ),
        blocking=False,
        history_length=3,
        accepted_output_modes=("text/plain",),
    )
    assert opened("GetTask", {"id": "t1", "history_length": 3}).history_length == 3
    assert opened("ListTasks", {"page_size": 3, "include_artifacts": True}) == ListTasks(
        page_size=3, include_artifacts=True
    )


def test_one_name_of_the_protos_among_others_is_read_too() -> None:
    mixed = {"messageId": "m1", "context_id": "c1", "role": "ROLE_USER", "parts": [{"text": "hi"}]}
    call = opened("SendMessage", {"message": mixed, "configuration": {"return_immediately": True}})
    assert (call.message.message_id, call.message.context_id, call.blocking) == ("m1", "c1", False)


def test_proto_names_in_broken_json_are_bad_json() -> None:
    with pytest.raises(BadJson):
        V10.methods["SendMessage"](b'{"message":{"message_id":')


# What is written.


def event(event: Snapshot | Update, *, final: bool = False) -> Any:
    return json.loads(V10.write_event(event, task=TASK, final=final))


def test_a_task_is_bare_from_get_and_wrapped_from_send() -> None:
    """A2A 1.0 §9.4.1, §9.4.3. Owner, agent, seq and creation never leave the edge."""
    assert json.loads(V10.write_task(TASK)) == TASK_JSON
    assert json.loads(V10.write_sent(TASK)) == {"task": TASK_JSON}


def test_no_history_no_artifacts_and_no_metadata_are_absent_keys() -> None:
    """A2A 1.0 §3.2.4."""
    bare = Task(
        id="t1",
        context_id="c1",
        owner="alice",
        agent="demo",
        status=TaskStatus(state=TaskState.SUBMITTED, at_ms=AT_MS),
        seq=1,
        created_ms=1,
    )
    status = {"state": "TASK_STATE_SUBMITTED", "timestamp": AT}
    assert json.loads(V10.write_task(bare)) == {"id": "t1", "contextId": "c1", "status": status}


@pytest.mark.parametrize("final", [True, False])
def test_every_event_is_wrapped_by_its_kind_and_marks_no_end(final: bool) -> None:
    """A2A 1.0 §3.2.3."""
    asks = TaskStatus(
        state=TaskState.INPUT_REQUIRED,
        at_ms=AT_MS,
        message=Message(message_id="q1", role=Role.AGENT, parts=(Text.of("Sure?"),)),
    )
    assert event(Snapshot(task=TASK), final=final) == {"task": TASK_JSON}
    assert event(StatusUpdate(seq=2, status=asks), final=final) == {
        "statusUpdate": {
            "taskId": "t1",
            "contextId": "c1",
            "status": {
                "state": "TASK_STATE_INPUT_REQUIRED",
                "message": {"messageId": "q1", "role": "ROLE_AGENT", "parts": [{"text": "Sure?"}]},
                "timestamp": AT,
            },
        }
    }


def test_a_page_says_all_four_fields_even_when_it_is_empty() -> None:
    """A2A 1.0 §3.1.4."""
    page = TaskPage(tasks=(), total=0, more=False)
    written = V10.write_page(page, next_token="", page_size=50, include_artifacts=False)
    assert json.loads(written) == {"tasks": [], "nextPageToken": "", "pageSize": 50, "totalSize": 0}


def test_a_page_has_artifacts_only_where_they_were_asked_for() -> None:
    page = TaskPage(tasks=(TASK,), total=3, more=True)
    with_them = json.loads(V10.write_page(page, next_token="n", page_size=1, include_artifacts=True))
    without = json.loads(V10.write_page(page, next_token="n", page_size=1, include_artifacts=False))
    assert with_them == {"tasks": [TASK_JSON], "nextPageToken": "n", "pageSize": 1, "totalSize": 3}
    assert without["tasks"] == [{key: value for key, value in TASK_JSON.items() if key != "artifacts"}]


def test_fault_data_is_an_error_info_and_then_the_details() -> None:
    """A2A 1.0 §9.5."""
    retry = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "2s"}
    assert json.loads(V10.write_fault_data("CONTEXT_IS_BUSY", "Too many.", [retry])) == [
        {
            "@type": "type.googleapis.com/google.rpc.ErrorInfo",
            "reason": "CONTEXT_IS_BUSY",
            "domain": "a2a-protocol.org",
            "metadata": {},
        },
        retry,
    ]


def test_a_message_answers_a_send_and_a_stream_alike() -> None:
    """A2A 1.0 §3.1.2."""
    answer = Message(message_id="m2", role=Role.AGENT, parts=(Text.of("hello"),), context_id="c1")
    written = {"messageId": "m2", "contextId": "c1", "role": "ROLE_AGENT", "parts": [{"text": "hello"}]}
    assert json.loads(V10.write_message(answer)) == {"message": written}
