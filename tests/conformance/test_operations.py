"""What each operation must do, over each binding of A2A 1.0."""

import asyncio
from datetime import datetime
from typing import Any

import pytest
from a2a.types.a2a_pb2 import ListTasksResponse, Task
from google.protobuf.json_format import ParseDict
from tests.conformance.sites import BINDINGS, Host, Site, message, site, state_of

UNKNOWN = "0d4b5e4e-unknown"


def kinds(events: list[Any]) -> list[str]:
    return [kind for event in events for kind in event]


def text_of(task: Any) -> str:
    return "".join(part.get("text", "") for artifact in task["artifacts"] for part in artifact["parts"])


@pytest.mark.requirement("1.0/3.1.1-send-answers-task-or-message")
async def test_a_send_is_answered_with_a_task_or_a_message(host: Host) -> None:
    task = await host.value("SendMessage", **message("tck-complete-task"))
    said = await host.value("SendMessage", **message("tck-message-response"))
    assert (list(task), state_of(task["task"])) == (["task"], "COMPLETED")
    assert (list(said), said["message"]["role"]) == (["message"], "ROLE_AGENT")


@pytest.mark.requirement("1.0/3.1.1-ended-task-takes-no-message")
@pytest.mark.parametrize("operation", ["SendMessage", "SendStreamingMessage"])
@pytest.mark.parametrize("ending", ["tck-complete-task", "tck-reject-task", "llamon-fail"])
async def test_a_task_that_has_ended_takes_no_message(host: Host, operation: str, ending: str) -> None:
    task = await host.begin(ending)
    more = message("tck-complete-task", taskId=task["id"])
    assert await host.refused(operation, **more) == "UNSUPPORTED_OPERATION"
    assert await host.value("GetTask", id=task["id"]) == task


@pytest.mark.requirement("1.0/3.1.1-media-types")
async def test_a_media_type_that_the_agent_does_not_take_is_refused() -> None:
    picture = message("tck-complete-task", parts=[{"raw": "aGk=", "mediaType": "image/png"}])
    async with site(input_modes=["text/plain"]) as at:
        for host in (binding(at) for binding in BINDINGS):
            for operation in ("SendMessage", "SendStreamingMessage"):
                assert await host.refused(operation, **picture) == "CONTENT_TYPE_NOT_SUPPORTED"
            assert (await host.value("ListTasks"))["tasks"] == []


@pytest.mark.requirement("1.0/3.1.2-stream-of-a-message")
async def test_a_stream_that_is_answered_with_a_message_holds_just_that(host: Host) -> None:
    events = await host.events("SendStreamingMessage", **message("tck-message-response"))
    assert kinds(events) == ["message"]


@pytest.mark.requirement("1.0/3.1.2-stream-first-task")
@pytest.mark.requirement("1.0/3.1.2-stream-ends-with-the-task")
@pytest.mark.requirement("1.0/3.5.2-order")
async def test_a_stream_begins_with_the_task_and_ends_with_its_end(host: Host) -> None:
    events = await host.events("SendStreamingMessage", **message("tck-stream-artifact-chunked"))
    assert kinds(events)[0] == "task"
    assert set(kinds(events)[1:]) == {"statusUpdate", "artifactUpdate"}
    chunks = [event["artifactUpdate"] for event in events if "artifactUpdate" in event]
    assert "".join(part["text"] for chunk in chunks for part in chunk["artifact"]["parts"]) == "chunk-1 chunk-2"
    assert state_of(events[-1]["statusUpdate"]) == "COMPLETED"


@pytest.mark.requirement("1.0/3.1.2-immediate-feedback")
async def test_a_stream_tells_before_the_work_is_done(host: Host) -> None:
    stream = host.follow("SendStreamingMessage", **message("llamon-hold"))
    task = (await anext(stream))["task"]
    progress = (await anext(stream))["statusUpdate"]
    assert state_of(progress) == "WORKING"
    await host.value("CancelTask", id=task["id"])
    assert state_of([event async for event in stream][-1]["statusUpdate"]) == "CANCELED"


@pytest.mark.requirement("1.0/3.1.3-get-task")
async def test_a_task_is_returned_as_it_is(host: Host) -> None:
    task = await host.begin("tck-artifact-text")
    assert await host.value("GetTask", id=task["id"]) == task
    assert text_of(task) == "Generated text content"
    assert await host.refused("GetTask", id=UNKNOWN) == "TASK_NOT_FOUND"


@pytest.mark.requirement("1.0/3.1.4-newest-first")
@pytest.mark.requirement("1.0/3.1.4-cursor")
@pytest.mark.requirement("1.0/3.1.4-next-page-token")
async def test_pages_hold_every_task_once_the_newest_first(host: Host) -> None:
    begun = [(await host.begin("tck-complete-task"))["id"] for _ in range(5)]
    seen: list[Any] = []
    token = ""
    while True:
        page = await host.value("ListTasks", pageSize=2, **({"pageToken": token} if token else {}))
        seen += page["tasks"]
        assert (page["totalSize"], page["pageSize"]) == (5, 2)
        if not (token := page["nextPageToken"]):
            break
    times = [datetime.fromisoformat(task["status"]["timestamp"]) for task in seen]
    assert times == sorted(times, reverse=True)
    assert sorted(task["id"] for task in seen) == sorted(begun)


@pytest.mark.requirement("1.0/3.1.4-artifacts-left-out")
async def test_a_list_leaves_artifacts_out_unless_they_are_asked_for(host: Host) -> None:
    await host.begin("tck-complete-task")
    assert "artifacts" not in (await host.value("ListTasks"))["tasks"][0]
    assert text_of((await host.value("ListTasks", includeArtifacts=True))["tasks"][0]) == "Hello from TCK"


@pytest.mark.requirement("1.0/3.1.4-page-size")
@pytest.mark.parametrize("page_size", [0, 101, -1])
async def test_a_page_holds_1_to_100_tasks(host: Host, page_size: int) -> None:
    assert await host.refused("ListTasks", pageSize=page_size) == "INVALID_PARAMS"


@pytest.mark.requirement("1.0/3.1.4-filters")
async def test_a_list_is_of_one_context_and_of_one_state(host: Host) -> None:
    asking = await host.begin("tck-input-required", contextId="c1")
    done = await host.begin("tck-complete-task", contextId="c2")
    for filters, expected in (
        ({"contextId": "c1"}, asking),
        ({"status": "TASK_STATE_COMPLETED"}, done),
        ({"statusTimestampAfter": done["status"]["timestamp"], "status": "TASK_STATE_COMPLETED"}, done),
    ):
        assert [task["id"] for task in (await host.value("ListTasks", **filters))["tasks"]] == [expected["id"]]


@pytest.mark.requirement("1.0/3.1.5-cancel")
@pytest.mark.requirement("1.0/3.3.1-cancel-again")
async def test_a_task_is_canceled_once_and_stays_so(host: Host) -> None:
    task = await host.begin("tck-input-required")
    canceled = await host.value("CancelTask", id=task["id"])
    assert state_of(canceled) == "CANCELED"
    assert await host.value("CancelTask", id=task["id"]) == canceled


@pytest.mark.requirement("1.0/3.1.5-not-cancelable")
async def test_a_task_that_has_ended_or_is_unknown_cannot_be_canceled(host: Host) -> None:
    task = await host.begin("tck-complete-task")
    assert await host.refused("CancelTask", id=task["id"]) == "TASK_NOT_CANCELABLE"
    assert await host.refused("CancelTask", id=UNKNOWN) == "TASK_NOT_FOUND"


@pytest.mark.requirement("1.0/3.1.6-subscribe-first-task")
@pytest.mark.requirement("1.0/3.1.6-subscribe-ends-with-the-task")
@pytest.mark.requirement("1.0/3.5.2-every-stream")
@pytest.mark.requirement("1.0/3.5.2-same-order")
async def test_every_subscription_begins_with_the_task_and_hears_all_to_its_end(host: Host) -> None:
    task = await host.begin("tck-input-required")
    streams = [host.follow("SubscribeToTask", id=task["id"]) for _ in range(2)]
    assert [await anext(stream) for stream in streams] == [{"task": task}, {"task": task}]
    await host.value("SendMessage", **message("tck-complete-task", taskId=task["id"]))
    one, other = [[event async for event in stream] for stream in streams]
    assert one == other
    assert state_of(one[-1]["statusUpdate"]) == "COMPLETED"


@pytest.mark.requirement("1.0/3.5.2-closing-one")
async def test_a_stream_that_is_closed_takes_nothing_from_the_others_or_the_task(host: Host) -> None:
    task = await host.begin("tck-input-required")
    left, stays = [host.follow("SubscribeToTask", id=task["id"]) for _ in range(2)]
    await anext(left)
    await anext(stays)
    await left.aclose()
    await host.value("SendMessage", **message("tck-complete-task", taskId=task["id"]))
    assert state_of([event async for event in stays][-1]["statusUpdate"]) == "COMPLETED"


@pytest.mark.requirement("1.0/3.1.6-subscribe-ended")
async def test_a_task_that_has_ended_or_is_unknown_cannot_be_followed(host: Host) -> None:
    task = await host.begin("tck-complete-task")
    assert await host.refused("SubscribeToTask", id=task["id"]) == "UNSUPPORTED_OPERATION"
    assert await host.refused("SubscribeToTask", id=UNKNOWN) == "TASK_NOT_FOUND"


@pytest.mark.requirement("1.0/3.2.2-blocking")
async def test_a_send_waits_until_the_task_is_done_or_asks(host: Host) -> None:
    for configuration in (None, {"returnImmediately": False}):
        for scenario, state in (("tck-complete-task", "COMPLETED"), ("tck-input-required", "INPUT_REQUIRED")):
            assert state_of(await host.begin(scenario, configuration=configuration)) == state


@pytest.mark.requirement("1.0/3.2.2-return-immediately")
async def test_a_send_that_does_not_want_to_wait_gets_the_task_at_once(host: Host) -> None:
    async with asyncio.timeout(5):
        task = await host.begin("llamon-hold", configuration={"returnImmediately": True})
    assert state_of(task) in ("SUBMITTED", "WORKING")
    await host.value("CancelTask", id=task["id"])


@pytest.mark.requirement("1.0/3.2.4-history-length")
@pytest.mark.parametrize(("length", "messages"), [({}, 3), ({"historyLength": 0}, None), ({"historyLength": 1}, 1)])
async def test_history_is_as_long_as_it_was_asked_for(host: Host, length: dict[str, int], messages: int | None) -> None:
    task = await host.begin("tck-input-required")
    await host.value("SendMessage", **message("tck-complete-task", taskId=task["id"]))
    told = await host.value("GetTask", id=task["id"], **length)
    assert (len(told["history"]) if "history" in told else None) == messages


@pytest.mark.requirement("1.0/3.4.1-context-is-told")
@pytest.mark.requirement("1.0/3.4.2-task-id")
async def test_generated_ids_are_returned_and_never_the_same(host: Host) -> None:
    tasks = [await host.begin("tck-complete-task") for _ in range(2)]
    said = (await host.value("SendMessage", **message("tck-message-response")))["message"]
    assert len({task["id"] for task in tasks}) == 2
    assert len({*(task["contextId"] for task in tasks), said["contextId"]}) == 3


@pytest.mark.requirement("1.0/3.4.1-context-of-the-client")
async def test_a_context_that_the_client_names_is_kept_or_refused_and_never_replaced(host: Host) -> None:
    assert (await host.begin("tck-complete-task", contextId="a:b/c ü"))["contextId"] == "a:b/c ü"
    refused = message("tck-complete-task", contextId="c" * 513)
    assert await host.refused("SendMessage", **refused) == "INVALID_PARAMS"


@pytest.mark.requirement("1.0/3.4.2-unknown-task")
async def test_a_message_to_a_task_that_is_unknown_begins_none(host: Host) -> None:
    assert await host.refused("SendMessage", **message("tck-complete-task", taskId=UNKNOWN)) == "TASK_NOT_FOUND"
    assert (await host.value("ListTasks"))["tasks"] == []


@pytest.mark.requirement("1.0/3.4.3-context-of-the-task")
@pytest.mark.requirement("1.0/3.4.3-mismatch")
async def test_a_task_has_one_context(host: Host) -> None:
    task = await host.begin("tck-input-required")
    wrong = message("tck-complete-task", taskId=task["id"], contextId="another")
    assert await host.refused("SendMessage", **wrong) == "INVALID_PARAMS"
    assert await host.value("GetTask", id=task["id"]) == task
    after = (await host.value("SendMessage", **message("tck-complete-task", taskId=task["id"])))["task"]
    assert (after["id"], after["contextId"]) == (task["id"], task["contextId"])


@pytest.mark.requirement("1.0/7.6.1-auth-required")
async def test_a_task_that_needs_a_sign_in_says_so_and_goes_on_with_a_message(host: Host) -> None:
    task = await host.begin("tck-auth-required")
    said = task["status"]["message"]["parts"][0]["text"]
    assert (state_of(task), said) == ("AUTH_REQUIRED", "Sign in at the travel desk.")
    assert await host.value("GetTask", id=task["id"]) == task
    after = (await host.value("SendMessage", **message("tck-complete-task", taskId=task["id"])))["task"]
    assert state_of(after) == "COMPLETED"


@pytest.mark.requirement("1.0/5.1-equivalent")
async def test_a_task_is_the_same_over_every_binding(at: Site, token: str) -> None:
    hosts = [binding(at, token=token) for binding in BINDINGS]
    task = await hosts[0].begin("tck-artifact-data")
    told = [ParseDict(await host.value("GetTask", id=task["id"]), Task()) for host in hosts]
    assert told == [ParseDict(task, Task())] * len(hosts)
    pages = [ParseDict(await host.value("ListTasks", includeArtifacts=True), ListTasksResponse()) for host in hosts]
    assert pages == [pages[0]] * len(hosts)
