import asyncio
import json
import logging
from typing import Any

import pytest
from tests.loop_time import pass_time
from tests.unit.inbound.a2a.edges import (
    AGENT,
    call,
    edge,
    message_03,
    message_10,
    only_response,
    response_of,
    results_of,
)

from llamon_agent.domain.caller import Caller
from llamon_agent.domain.errors import BackendError
from llamon_agent.domain.events import ArtifactMade, Complete, Delta, Interrupt, Progress, Question
from llamon_agent.domain.message import Raw
from llamon_agent.domain.task import MAX_PAGE_BYTES, Artifact
from llamon_agent.inbound.a2a.bindings.jsonrpc.binding import RpcResponse, RpcStream, answer_call
from llamon_agent.inbound.a2a.endpoint import AgentPolicy, Endpoint, RequestHead, _read_seq
from llamon_agent.inbound.a2a.media_types import Modes
from llamon_agent.runs.ports.run import Limits, RunRequest
from llamon_agent.runs.run import Run
from llamon_agent.runs.service import RunService
from llamon_agent.store.memory import MemoryTaskStore
from llamon_agent.testing.scripted import Gate, HandClock, Step, counting_ids
from llamon_agent.wire.operations import Dialect

ANSWER: list[Step] = [Delta(text="Hel"), Delta(text="lo"), Complete()]
QUESTION: list[Step] = [Interrupt(text="Sure?", questions=(Question(id="q", value="Sure?"),))]
ANN = RequestHead(caller=Caller(principal="ann"))
BOB = RequestHead(caller=Caller(principal="bob"))


def text_of(task: Any) -> str:
    return "".join(part["text"] for artifact in task["artifacts"] for part in artifact["parts"])


# Sending.


@pytest.mark.parametrize(("method", "params"), [("message/send", message_03()), ("SendMessage", message_10())])
async def test_a_message_of_too_many_parts_is_refused(method: str, params: dict[str, Any]) -> None:
    params["message"]["parts"] *= 1001
    async with edge() as it:
        error = (await it.ask(method, params))["error"]
    assert (error["code"], error["message"]) == (-32602, "message.parts must have at most 1000 parts.")


async def test_a_blocking_send_is_answered_with_the_finished_task() -> None:
    async with edge(ANSWER, ANSWER) as it:
        old = await it.ask("message/send", message_03())
        new = await it.ask("SendMessage", message_10())
    assert (old["kind"], old["status"]["state"], text_of(old)) == ("task", "completed", "Hello")
    assert (new["task"]["status"]["state"], text_of(new["task"])) == ("TASK_STATE_COMPLETED", "Hello")


async def test_a_blocking_send_is_answered_at_a_pause() -> None:
    async with edge(QUESTION) as it:
        assert (await it.ask("message/send", message_03()))["status"]["state"] == "input-required"


async def test_a_blocking_send_waits_no_longer_than_configured() -> None:
    gate = Gate()
    async with edge([gate], wait_s=4) as it, asyncio.timeout(10):
        asking = asyncio.create_task(it.ask("message/send", message_03()))
        await gate.reached()
        pass_time(4)
        assert (await asking)["status"]["state"] == "working"


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("message/send", message_03() | {"configuration": {"blocking": False}}),
        ("SendMessage", message_10() | {"configuration": {"returnImmediately": True}}),
    ],
)
async def test_a_background_send_is_answered_at_once(method: str, params: dict[str, Any]) -> None:
    async with edge([Gate()]) as it:
        result = await it.ask(method, params)
    assert result.get("task", result)["status"]["state"] in ("working", "TASK_STATE_WORKING")


async def test_a_follow_up_answers_the_question_of_its_task() -> None:
    async with edge(QUESTION, ANSWER) as it:
        asked = await it.ask("message/send", message_03())
        done = await it.ask("message/send", message_03("yes", taskId=asked["id"]))
    assert (done["id"], done["contextId"]) == (asked["id"], asked["contextId"])
    assert [turn.answers for turn in it.agent.turns] == [False, True]


async def test_history_length_trims_what_is_answered_and_not_what_is_stored() -> None:
    async with edge(ANSWER) as it:
        sent = await it.ask("message/send", message_03() | {"configuration": {"historyLength": 0}})
        assert "history" not in sent
        assert len((await it.ask("tasks/get", {"id": sent["id"]}))["history"]) == 1
        assert "history" not in await it.ask("GetTask", {"id": sent["id"], "historyLength": 0})


async def test_the_hosts_history_reaches_the_agent_and_is_not_echoed() -> None:
    history = [{"role": "user", "parts": [{"text": "my number is 7"}]}]
    async with edge(ANSWER) as it:
        task = await it.ask("message/send", message_03(metadata={"history": history, "k": "v"}))
    [turn] = it.agent.turns
    assert len(turn.prefill) == 1
    assert turn.metadata == {"k": "v", "source": "a2a", "blocking": True}
    assert "my number" not in json.dumps(task)


async def test_push_in_a_send_is_refused_and_nothing_runs() -> None:
    config = {"configuration": {"pushNotificationConfig": {"url": "https://example.com/hook"}}}
    async with edge() as it:
        assert (await it.ask("message/send", message_03() | config))["error"]["code"] == -32003
        assert (await it.ask("ListTasks", {}))["totalSize"] == 0


# Faults.


@pytest.mark.parametrize(
    ("method", "params", "code"),
    [
        ("no/such", {}, -32601),
        ("message/send", [1], -32602),
        ("message/send", {"message": {}}, -32602),
        ("message/send", message_03(contextId="x" * 600), -32602),
        ("message/send", message_03(taskId="nope"), -32001),
        ("tasks/get", {"id": "nope"}, -32001),
        ("tasks/cancel", {"id": "nope"}, -32001),
        ("tasks/resubscribe", {"id": "nope"}, -32001),
        ("SubscribeToTask", {"id": "nope"}, -32001),
        ("ListTasks", {"pageToken": "nope"}, -32602),
        ("ListTasks", {"pageSize": 1000}, -32602),
        ("tasks/pushNotificationConfig/set", {"taskId": "nope", "pushNotificationConfig": {"url": "http://h"}}, -32003),
        ("ListTaskPushNotificationConfigs", {"taskId": "nope"}, -32003),
        ("agent/getAuthenticatedExtendedCard", None, -32007),
        ("GetExtendedAgentCard", None, -32004),
    ],
)
async def test_a_fault_has_its_code_and_nothing_is_written(method: str, params: object, code: int) -> None:
    async with edge() as it:
        response = await it.ask(method, params)
        assert (response["id"], response["error"]["code"]) == (1, code)
        assert (await it.ask("ListTasks", {}))["tasks"] == []


@pytest.mark.parametrize(
    ("method", "version", "code", "has_data"),
    [
        ("message/send", None, -32602, False),
        ("message/send", "0.3", -32602, False),
        ("SendMessage", None, -32602, True),
        ("SendMessage", "1.0.1", -32602, True),
        ("SendMessage", "99.0", -32009, True),
        ("message/send", "2.0", -32009, True),
        ("message/send", "1.0", -32601, True),
        ("no/such", None, -32601, False),
    ],
)
async def test_a_fault_is_in_the_callers_dialect(method: str, version: str | None, code: int, has_data: bool) -> None:
    async with edge() as it:
        error = (await it.ask(method, {}, RequestHead(version=version)))["error"]
    assert error["code"] == code
    assert ("data" in error) is has_data


async def test_an_error_before_the_first_event_is_a_plain_answer_in_1_0_and_a_stream_of_one_error_in_0_x() -> None:
    async with edge(ANSWER) as it:
        task_id = (await it.ask("message/send", message_03()))["id"]
        plain = await answer_call(it.endpoint, call("SubscribeToTask", {"id": task_id}), RequestHead())
        assert response_of(plain)["error"]["code"] == -32004
        streamed = await answer_call(it.endpoint, call("message/stream", message_03(taskId=task_id)), RequestHead())
        assert isinstance(streamed, RpcStream)
        assert (await only_response(streamed))["error"]["code"] == -32004


async def test_params_that_are_wrong_are_a_plain_answer_in_0_x_too() -> None:
    async with edge() as it:
        plain = await answer_call(it.endpoint, call("message/stream", {}), RequestHead())
    assert response_of(plain)["error"]["code"] == -32602


async def test_a_full_context_is_refused_with_a_hint() -> None:
    async with edge([Gate()], limits=Limits(waiting_per_context=0)) as it:
        await it.open("SendStreamingMessage", message_10(contextId="c"))
        error = (await it.ask("SendMessage", message_10(contextId="c")))["error"]
    assert error["code"] == -32000
    assert "RetryInfo" in error["data"][1]["@type"]


class BrokenRuns(RunService):
    """A run service whose every submission fails."""

    def __init__(self, error: Exception) -> None:
        super().__init__(MemoryTaskStore(), {}, clock=HandClock(), new_id=counting_ids())
        self.error = error

    async def submit_run(self, request: RunRequest) -> Run:
        raise self.error


@pytest.mark.parametrize(
    ("error", "public", "level"),
    [
        (BackendError(), BackendError.public, logging.DEBUG),  # what is away says so itself, and not for every call
        (RuntimeError("secret"), "Something went wrong.", logging.ERROR),
        (RecursionError("secret"), "Something went wrong.", logging.ERROR),
    ],
)
async def test_our_own_fault_is_logged_and_answered_without_its_text(
    error: Exception, public: str, level: int, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "llamon_agent")
    endpoint = Endpoint(BrokenRuns(error), agent=AGENT)
    response = response_of(await answer_call(endpoint, call("message/send", message_03()), RequestHead()))
    assert response["error"] == {"code": -32603, "message": public}
    [record] = caplog.records
    assert record.levelno == level
    assert record.exc_info is not None


async def test_the_callers_faults_are_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    async with edge() as it:
        await it.ask("tasks/get", {"id": "nope"})
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


# Whose task it is.


@pytest.mark.parametrize("method", ["tasks/get", "tasks/cancel", "tasks/resubscribe", "GetTask", "SubscribeToTask"])
async def test_the_task_of_another_caller_looks_like_none(method: str) -> None:
    async with edge([Gate()]) as it:
        theirs = await it.ask(method, {"id": await it.begin(ANN)}, BOB)
        unknown = await it.ask(method, {"id": "nope"}, BOB)
    assert theirs == unknown


async def test_a_list_shows_only_the_callers_tasks() -> None:
    async with edge(ANSWER, ANSWER) as it:
        await it.ask("message/send", message_03(), ANN)
        await it.ask("message/send", message_03(), BOB)
        assert (await it.ask("ListTasks", {}, BOB))["totalSize"] == 1


async def test_the_caller_of_a_message_reaches_the_agent_with_its_tenant() -> None:
    async with edge(ANSWER, policy=AgentPolicy(tenants=frozenset({"acme"}))) as it:
        await it.ask("SendMessage", {**message_10(), "tenant": "acme"}, ANN)
        assert [turn.caller for turn in it.agent.turns] == [Caller(principal="ann", tenant="acme")]


# Get, cancel, list, subscribe.


async def test_a_working_task_is_shown_with_the_answer_so_far() -> None:
    gate = Gate()
    async with edge([Delta(text="Hel"), Delta(text="lo"), Progress(text="thinking"), gate]) as it:
        task_id = await it.begin()
        await gate.reached()
        task = await it.ask("tasks/get", {"id": task_id})
    assert (task["status"]["state"], text_of(task)) == ("working", "Hello")


async def test_cancel_stops_the_work_and_a_second_one_goes_by_the_version() -> None:
    gate = Gate()
    async with edge([gate]) as it:
        task_id = await it.begin()
        await gate.reached()
        assert (await it.ask("tasks/cancel", {"id": task_id}))["status"]["state"] == "canceled"
        assert len(it.agent.cancelled) == 1
        assert (await it.ask("tasks/cancel", {"id": task_id}))["error"]["code"] == -32002
        assert (await it.ask("CancelTask", {"id": task_id}))["status"]["state"] == "TASK_STATE_CANCELED"


async def test_a_list_is_read_page_by_page() -> None:
    async with edge(*[ANSWER] * 5) as it:
        for _ in range(5):
            it.clock.advance(1)
            await it.ask("message/send", message_03())
        pages: list[Any] = []
        token = ""
        while not pages or token:
            pages.append(await it.ask("ListTasks", {"pageSize": 2, "pageToken": token}))
            token = pages[-1]["nextPageToken"]
    ids = [task["id"] for page in pages for task in page["tasks"]]
    assert [len(page["tasks"]) for page in pages] == [2, 2, 1]
    assert len(set(ids)) == 5
    assert all(page["totalSize"] == 5 and page["pageSize"] == 2 for page in pages)


async def test_a_list_filters_and_trims() -> None:
    async with edge(ANSWER, QUESTION) as it:
        await it.ask("message/send", message_03(contextId="c-1"))
        await it.ask("message/send", message_03(contextId="c-2"))
        paused = await it.ask("ListTasks", {"status": "TASK_STATE_INPUT_REQUIRED"})
        first = await it.ask("ListTasks", {"contextId": "c-1", "historyLength": 0, "includeArtifacts": True})
    assert [task["contextId"] for task in paused["tasks"]] == ["c-2"]
    assert "artifacts" not in paused["tasks"][0]
    assert text_of(first["tasks"][0]) == "Hello"
    assert "history" not in first["tasks"][0]


PICTURE = ArtifactMade(artifact=Artifact(artifact_id="picture", parts=(Raw(data=b"drawn", media_type="image/png"),)))
"""What a list must not carry unasked."""

SENT = {"raw": "AAECAw==", "mediaType": "image/png"}


async def test_a_list_leaves_out_the_bytes_of_files_except_in_artifacts_that_were_asked_for() -> None:
    modes = Modes(takes=("*/*",), gives=("*/*",))
    async with edge([PICTURE, *ANSWER], modes=modes) as it:
        sent = await it.ask("SendMessage", {"message": {"messageId": "m", "role": "ROLE_USER", "parts": [SENT]}})
        [listed] = (await it.ask("ListTasks", {}))["tasks"]
        [whole] = (await it.ask("ListTasks", {"includeArtifacts": True}))["tasks"]
        got = await it.ask("GetTask", {"id": sent["task"]["id"]})
    emptied = {"raw": "", "mediaType": "image/png", "metadata": {"omittedBytes": 4}}
    assert listed["history"][0]["parts"] == whole["history"][0]["parts"] == [emptied]
    assert "artifacts" not in listed
    assert whole["artifacts"] == got["artifacts"]
    assert whole["artifacts"][0]["parts"][0]["raw"] == "ZHJhd24="
    assert got["history"][0]["parts"] == [SENT]


async def test_a_page_that_is_full_of_bytes_ends_early_and_the_next_one_goes_on() -> None:
    text = "x" * (MAX_PAGE_BYTES // 3)
    async with edge(*[ANSWER] * 5) as it:
        for _ in range(5):
            it.clock.advance(1)
            await it.ask("SendMessage", message_10(text))
        first = await it.ask("ListTasks", {})
        second = await it.ask("ListTasks", {"pageToken": first["nextPageToken"]})
    assert [len(page["tasks"]) for page in (first, second)] == [3, 2]
    assert (first["totalSize"], second["nextPageToken"]) == (5, "")
    assert len({task["id"] for page in (first, second) for task in page["tasks"]}) == 5


async def test_a_finished_task_is_followed_in_0_3_by_showing_it() -> None:
    async with edge(ANSWER) as it:
        task = await it.ask("message/send", message_03())
        results = await results_of(await it.open("tasks/resubscribe", {"id": task["id"]}))
    assert [(result["kind"], text_of(result)) for result in results] == [("task", "Hello")]


async def test_a_subscription_stays_open_through_a_pause() -> None:
    gate = Gate()
    async with edge([gate, *QUESTION], ANSWER) as it:
        until_pause = await it.open("message/stream", message_03())
        task_id = await it.only_task()
        following = await it.open("tasks/resubscribe", {"id": task_id})
        gate.open()
        await results_of(until_pause)
        await it.ask("message/send", message_03("yes", taskId=task_id))
        results = await results_of(following)
    states = [result["status"]["state"] for result in results if "status" in result]
    assert states == ["working", "input-required", "working", "completed"]
    assert [bool(result.get("final")) for result in results].count(True) == 1


async def test_a_reader_that_comes_back_gets_only_what_it_has_not_seen() -> None:
    """A host that was cut off reconnects with a Last-Event-ID."""
    gate = Gate()
    async with edge([Delta(text="a"), Delta(text="b"), Delta(text="c"), gate, Complete()]) as it:
        task_id = await it.begin()
        await gate.reached()
        following = await it.open("tasks/resubscribe", {"id": task_id}, RequestHead(last_event_id="2"))
        gate.open()
        results = await results_of(following)
    texts = [part["text"] for result in results if "artifact" in result for part in result["artifact"]["parts"]]
    assert "".join(texts) == "bc"


async def test_auto_recognises_adk_in_a_subscription_by_the_tasks_history() -> None:
    gate = Gate()
    parts = [{"kind": "text", "text": "hi", "metadata": {"is_user_input": True}}]
    async with edge([gate, *ANSWER]) as it:
        following = await it.open("tasks/resubscribe", {"id": await it.begin(parts=parts)})
        gate.open()
        results = await results_of(following)
    last = [result for result in results if result["kind"] == "artifact-update"][-1]
    assert [part["text"] for part in last["artifact"]["parts"]] == ["Hello"]


@pytest.mark.parametrize(
    ("header", "seq"),
    [(None, None), ("", None), ("7", 7), ("0", 0), ("-1", None), ("1.5", None), ("x", None), ("٣", None), ("²", None)],
)
def test_a_last_event_id_that_is_not_ours_is_passed_over(header: str | None, seq: int | None) -> None:
    assert _read_seq(header) == seq


def test_a_last_event_id_of_any_length_is_a_number() -> None:
    assert _read_seq("9" * 10_000) == int("9" * 18)


# Tenants and extensions.


async def test_each_tenant_has_tasks_and_contexts_of_its_own() -> None:
    tenants = AgentPolicy(tenants=frozenset({"acme", "globex"}))
    async with edge(ANSWER, ANSWER, policy=tenants) as it:
        mine = (await it.ask("SendMessage", {**message_10(contextId="c"), "tenant": "acme"}))["task"]
        await it.ask("SendMessage", {**message_10(contextId="c"), "tenant": "globex"})
        assert (await it.ask("GetTask", {"id": mine["id"], "tenant": "globex"}))["error"]["code"] == -32001
        assert (await it.ask("GetTask", {"id": mine["id"]}))["error"]["code"] == -32001
        assert [task["id"] for task in (await it.ask("ListTasks", {"tenant": "acme"}))["tasks"]] == [mine["id"]]
    one, other = it.agent.turns
    assert one.thread_id != other.thread_id


EXTENSIONS = AgentPolicy(extensions={"urn:needed": True, "urn:nice": False})


@pytest.mark.parametrize("named", [frozenset[str](), frozenset({"urn:nice"})])
async def test_a_required_extension_must_be_named(named: frozenset[str]) -> None:
    async with edge(policy=EXTENSIONS) as it:
        for method in ("SendMessage", "SendStreamingMessage"):
            error = (await it.ask(method, message_10(), RequestHead(extensions=named)))["error"]
            assert (error["code"], error["data"][0]["reason"]) == (-32008, "EXTENSION_SUPPORT_REQUIRED")
            assert "urn:needed" in error["message"]
        assert (await it.ask("message/send", message_03(), RequestHead(extensions=named)))["error"]["code"] == -32600


async def test_what_both_sides_support_is_activated_and_the_rest_ignored() -> None:
    head = RequestHead(extensions=frozenset({"urn:needed", "urn:other"}))
    async with edge(ANSWER, policy=EXTENSIONS) as it:
        answer = await answer_call(it.endpoint, call("SendMessage", message_10()), head)
    assert isinstance(answer, RpcResponse)
    assert answer.extensions == ("urn:needed",)


@pytest.mark.parametrize(
    ("method", "params"),
    [("message/stream", message_03()), ("SendStreamingMessage", message_10()), ("SubscribeToTask", {"id": "x"})],
)
async def test_an_agent_that_does_not_stream_says_so(method: str, params: object) -> None:
    async with edge(policy=AgentPolicy(streaming=False)) as it:
        assert (await it.ask(method, params))["error"]["code"] == -32004
        assert (await it.ask("ListTasks", {}))["totalSize"] == 0


async def test_the_extended_card_is_given_in_the_callers_shape() -> None:
    def card(base_url: str, dialect: Dialect) -> bytes:
        return json.dumps([base_url, dialect.version]).encode()

    head = RequestHead(base_url=lambda: "https://agents.example")
    async with edge(policy=AgentPolicy(extended_card=card)) as it:
        assert await it.ask("GetExtendedAgentCard", {}, head) == ["https://agents.example", "1.0"]
        old = await it.ask("agent/getAuthenticatedExtendedCard", None, head)
    assert old == ["https://agents.example", "0.3"]


async def test_a_message_under_a_key_is_taken_once_and_another_one_is_refused() -> None:
    head = RequestHead(idempotency_key="k")
    async with edge([Complete(text="once")]) as it:
        first, again = [await it.ask("message/send", message_03(), head) for _ in range(2)]
        assert first == again
        assert (await it.ask("message/send", message_03("other"), head))["error"]["code"] == -32602
        assert (await it.ask("message/send", message_03(), RequestHead(idempotency_key="")))["error"]["code"] == -32602


async def test_a_message_id_is_a_key_only_where_that_is_configured() -> None:
    async with edge([Complete()], [Complete()]) as it:
        assert len({(await it.ask("message/send", message_03()))["id"] for _ in range(2)}) == 2
    async with edge([Complete()], policy=AgentPolicy(by_message_id=True)) as it:
        assert len({(await it.ask("message/send", message_03()))["id"] for _ in range(2)}) == 1
