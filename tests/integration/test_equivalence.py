"""One operation means the same over every transport and in every dialect; see `wires`.

What is compared was translated twice: by us, and back by somebody else.
"""

import asyncio
from base64 import b64encode
from collections.abc import Mapping
from typing import Any

import httpx
import pytest
from a2a.client.client import ClientCallContext
from a2a.client.transports.base import ClientTransport
from a2a.client.transports.grpc import GrpcTransport
from a2a.client.transports.jsonrpc import JsonRpcTransport
from a2a.client.transports.rest import RestTransport
from a2a.types import a2a_pb2 as pb
from google.protobuf.json_format import MessageToDict, ParseDict
from tests.conformance.sites import site
from tests.integration.wires import NEW, OLD, Wires, bare, begin, outcome, same, sending, some, wires

from llamon_agent import app

EVERY_BYTE = bytes(range(256))


def base64(data: bytes) -> str:
    return b64encode(data).decode()


PARTS: tuple[Any, ...] = (
    {"text": "mirror"},
    {"text": "한글 😀 \u2028\u0000", "metadata": {"deep": {"list": [1, None, 2.5, {"yes": True}]}}},
    {"raw": base64(EVERY_BYTE), "filename": "every.bin", "mediaType": "application/octet-stream"},
    {"raw": base64(b"aGVsbG8="), "mediaType": "text/plain"},  # whose content is base64 text itself
    {"raw": "", "filename": "empty", "mediaType": "text/plain"},
    {"url": "https://example.com/a%20b?c=d#e", "mediaType": "image/png"},
    {"data": {"text": "한", "numbers": [0, -1.5, 2**53], "null": None, "empty": {}}},
)


async def test_a_message_arrives_the_same_byte_for_byte() -> None:
    async with wires() as all_of_them:
        kept = {}
        for name, wire in all_of_them.items():
            sent = await wire.send_message(sending("tck-complete-task", parts=PARTS))
            kept[name] = await all_of_them["jsonrpc-1.0"].get_task(pb.GetTaskRequest(id=sent.task.id))
    parts = {name: [MessageToDict(part) for part in task.history[0].parts] for name, task in kept.items()}
    same(parts)
    for task in kept.values():
        told = task.history[0].parts
        assert [part.raw for part in told if part.HasField("raw")] == [EVERY_BYTE, b"aGVsbG8=", b""]
        assert [part.text for part in told if part.HasField("text")] == [PARTS[0]["text"], PARTS[1]["text"]]


@pytest.mark.parametrize(
    "scenario",
    [
        "tck-complete-task",
        "tck-artifact-file",
        "tck-artifact-file-url",
        "tck-artifact-data",
        "tck-input-required",
        "tck-reject-task",
        "tck-auth-required",
        "llamon-fail",
    ],
)
async def test_a_task_looks_the_same_over_every_transport_wherever_it_began(scenario: str) -> None:
    async with wires() as all_of_them:
        sent = {name: await wire.send_message(sending(scenario)) for name, wire in all_of_them.items()}
        same({name: bare(MessageToDict(answer)) for name, answer in sent.items()})
        for answer in sent.values():
            asked = pb.GetTaskRequest(id=answer.task.id)
            told = {name: MessageToDict(await wire.get_task(asked)) for name, wire in all_of_them.items()}
            assert same(told) == MessageToDict(answer.task)


@pytest.mark.parametrize(
    "scenario",
    [
        "tck-complete-task",
        "tck-stream-artifact-chunked",
        "tck-artifact-file",
        "tck-artifact-data",
        "tck-input-required",
        "tck-reject-task",
        "tck-message-response",
        "llamon-fail",
    ],
)
async def test_a_stream_tells_the_same_events(scenario: str) -> None:
    async with wires({"artifacts": "append"}) as all_of_them:
        told = {
            name: bare(await outcome(wire.send_message_streaming(sending(scenario))))
            for name, wire in all_of_them.items()
        }
    assert same(told)


async def test_a_direct_message_is_the_same() -> None:
    async with wires() as all_of_them:
        told = {
            name: await wire.send_message(sending("tck-message-response", contextId="c"))
            for name, wire in all_of_them.items()
        }
    assert {answer.message.context_id for answer in told.values()} == {"c"}
    assert same({name: bare(MessageToDict(answer)) for name, answer in told.items()})


async def test_a_subscriber_gets_the_same_events_as_the_caller_that_began_the_task() -> None:
    async with wires() as all_of_them:
        task_id = await begin(all_of_them["rest-1.0"], "llamon-hold")
        streams = [wire.subscribe(pb.SubscribeToTaskRequest(id=task_id)) for wire in all_of_them.values()]
        firsts = [MessageToDict(await anext(stream)) for stream in streams]
        await all_of_them["grpc-0.3"].cancel_task(pb.CancelTaskRequest(id=task_id))
        rests = [[MessageToDict(event) async for event in stream] for stream in streams]
    last = same(dict(zip(all_of_them, rests, strict=True)))[-1]
    assert same(dict(zip(all_of_them, firsts, strict=True)))["task"]["id"] == task_id
    assert last["statusUpdate"]["status"]["state"] == "TASK_STATE_CANCELED"


@pytest.mark.parametrize("length", [None, 1, 2, 3, 100])
async def test_a_history_is_cut_at_the_same_length(length: int | None) -> None:
    async with wires() as all_of_them:
        task_id = await begin(all_of_them["jsonrpc-1.0"], "tck-input-required")
        await all_of_them["jsonrpc-1.0"].send_message(sending("tck-input-required", taskId=task_id))
        asked = pb.GetTaskRequest(id=task_id, history_length=length)
        told = {name: MessageToDict(await wire.get_task(asked)) for name, wire in all_of_them.items()}
        sent = {
            name: len((await wire.send_message(sending("llamon-fail", {"historyLength": length}))).task.history)
            for name, wire in all_of_them.items()
        }
    assert len(same(told)["history"]) == min(length or 3, 3)
    assert same(sent) == min(length or 2, 2)


async def test_no_history_is_none_in_1_0_and_in_0_3s_schema_and_all_of_it_in_0_3s_protobuf() -> None:
    async with wires() as all_of_them:
        task_id = await begin(all_of_them["jsonrpc-1.0"], "tck-complete-task")
        asked = pb.GetTaskRequest(id=task_id, history_length=0)
        told = {name: len((await wire.get_task(asked)).history) for name, wire in all_of_them.items()}
    assert told == dict.fromkeys((*NEW, "jsonrpc-0.3"), 0) | dict.fromkeys(
        ("rest-0.3", "rest-0.3-schema", "grpc-0.3"), 1
    )


async def ended(wire: ClientTransport) -> str:
    return (await wire.send_message(sending("tck-complete-task"))).task.id


async def asking(wire: ClientTransport) -> str:
    return (await wire.send_message(sending("tck-input-required", contextId="mine"))).task.id


REFUSED: Mapping[str, tuple[Any, Any, str]] = {
    "get unknown": (None, lambda wire, _: wire.get_task(pb.GetTaskRequest(id="no-such")), "TaskNotFoundError"),
    "get none": (None, lambda wire, _: wire.cancel_task(pb.CancelTaskRequest(id=":x")), "TaskNotFoundError"),
    "cancel unknown": (None, lambda wire, _: wire.cancel_task(pb.CancelTaskRequest(id="no-such")), "TaskNotFoundError"),
    "cancel ended": (ended, lambda wire, it: wire.cancel_task(pb.CancelTaskRequest(id=it)), "TaskNotCancelableError"),
    "follow unknown": (
        None,
        lambda wire, _: wire.subscribe(pb.SubscribeToTaskRequest(id="no-such")),
        "TaskNotFoundError",
    ),
    "send to unknown": (
        None,
        lambda wire, _: wire.send_message(sending("tck-complete-task", taskId="no-such")),
        "TaskNotFoundError",
    ),
    "send to ended": (
        ended,
        lambda wire, it: wire.send_message(sending("tck-complete-task", taskId=it)),
        "UnsupportedOperationError",
    ),
    "stream to ended": (
        ended,
        lambda wire, it: wire.send_message_streaming(sending("tck-complete-task", taskId=it)),
        "UnsupportedOperationError",
    ),
    "send to another context": (
        asking,
        lambda wire, it: wire.send_message(sending("tck-complete-task", taskId=it, contextId="another")),
        "InvalidParamsError",
    ),
    "control character": (
        None,
        lambda wire, _: wire.send_message(sending("tck-complete-task", contextId="a\nb")),
        "InvalidParamsError",
    ),
    "nothing said": (
        None,
        lambda wire, _: wire.send_message(sending("tck-complete-task", parts=[{"text": ""}])),
        "InvalidParamsError",
    ),
    "webhook of unknown": (
        None,
        lambda wire, _: wire.create_task_push_notification_config(
            pb.TaskPushNotificationConfig(task_id="no-such", id="a", url="http://127.0.0.1:9/")
        ),
        "TaskNotFoundError",
    ),
    "webhook inside": (
        asking,
        lambda wire, it: wire.create_task_push_notification_config(
            pb.TaskPushNotificationConfig(task_id=it, id="a", url="http://169.254.169.254/")
        ),
        "InvalidParamsError",
    ),
    "unknown webhook": (
        asking,
        lambda wire, it: wire.get_task_push_notification_config(
            pb.GetTaskPushNotificationConfigRequest(task_id=it, id="no-such")
        ),
        "TaskNotFoundError",
    ),
}
"""What is refused everywhere: the task that is there before, what is asked, and the error that the client raises."""


@pytest.mark.parametrize("case", REFUSED)
async def test_what_is_refused_is_refused_everywhere_for_the_same_reason(case: str) -> None:
    prepare, ask, error = REFUSED[case]
    async with wires() as all_of_them:
        told = {
            name: await outcome(ask(wire, await prepare(wire) if prepare else "")) for name, wire in all_of_them.items()
        }
    assert same(told) == error


async def test_canceling_again_is_fine_in_1_0_and_an_error_in_0_3() -> None:
    async with wires() as all_of_them:
        told = {}
        for name, wire in all_of_them.items():
            cancel = pb.CancelTaskRequest(id=await begin(wire, "llamon-hold"))
            once, again = await outcome(wire.cancel_task(cancel)), await outcome(wire.cancel_task(cancel))
            assert once["status"]["state"] == "TASK_STATE_CANCELED"
            told[name] = again if isinstance(again, str) else again == once
    assert told == dict.fromkeys(NEW, True) | dict.fromkeys(OLD, "TaskNotCancelableError")


async def test_following_what_has_ended_is_refused_in_1_0_and_the_task_in_0_3() -> None:
    async with wires() as all_of_them:
        told = {}
        for name, wire in all_of_them.items():
            task_id = await ended(wire)
            events = await outcome(wire.subscribe(pb.SubscribeToTaskRequest(id=task_id)))
            told[name] = events if isinstance(events, str) else [event["task"]["id"] == task_id for event in events]
    assert told == dict.fromkeys(NEW, "UnsupportedOperationError") | {name: [True] for name in OLD}


async def test_a_webhook_is_the_same_wherever_it_was_registered() -> None:
    async with wires() as all_of_them:
        told = {}
        for name, wire in all_of_them.items():
            task_id = await asking(wire)
            hook = pb.TaskPushNotificationConfig(task_id=task_id, id="b: c%", url="http://127.0.0.1:9/hook", token="t")
            hook.authentication.scheme, hook.authentication.credentials = "Bearer", "c"
            made = MessageToDict(await wire.create_task_push_notification_config(hook))
            assert made == MessageToDict(hook)
            asked = pb.GetTaskPushNotificationConfigRequest(task_id=task_id, id="b: c%")
            for reader in some(all_of_them, NEW).values():
                assert MessageToDict(await reader.get_task_push_notification_config(asked)) == made
            told[name] = bare(made)
            forget = pb.DeleteTaskPushNotificationConfigRequest(task_id=task_id, id="b: c%")
            lists = some(all_of_them, ("jsonrpc-1.0", "rest-1.0", "grpc-1.0", "jsonrpc-0.3", "grpc-0.3"))
            every = pb.ListTaskPushNotificationConfigsRequest(task_id=task_id)
            listed = {n: await outcome(one.list_task_push_notification_configs(every)) for n, one in lists.items()}
            assert same(listed) == {"configs": [made]}
            for one in lists.values():  # again and again, which is fine
                await one.delete_task_push_notification_config(forget)
            left = {n: await outcome(one.list_task_push_notification_configs(every)) for n, one in lists.items()}
            assert same(left) == {}
    same(told)


async def test_the_extended_card_says_the_same() -> None:
    extended, signed_in = {"description": "More."}, ClientCallContext(service_parameters={"authorization": "Bearer t"})
    async with wires({"bearer_token": "t"}, extended=extended) as all_of_them:
        told = {
            name: await wire.get_extended_agent_card(pb.GetExtendedAgentCardRequest(), context=signed_in)
            for name, wire in all_of_them.items()
        }
    assert same({name: (card.name, card.description, card.version) for name, card in told.items()})
    assert same({name: [MessageToDict(skill) for skill in card.skills] for name, card in told.items()})
    for names in (NEW, OLD):
        assert same({name: MessageToDict(told[name].capabilities) for name in names})


FILTERS: tuple[Any, ...] = (
    {},
    {"contextId": "mine"},
    {"contextId": "nobody's"},
    {"status": "TASK_STATE_INPUT_REQUIRED"},
    {"status": "TASK_STATE_REJECTED"},
    {"status": "TASK_STATE_COMPLETED", "contextId": "mine", "includeArtifacts": True},
    {"includeArtifacts": True, "historyLength": 0},
    {"historyLength": 1},
    {"statusTimestampAfter": "2000-01-01T00:00:00.123456789Z"},
    {"statusTimestampAfter": "2100-01-01T00:00:00+09:00"},
    {"pageSize": 1},
    {"pageSize": 0},
    {"pageSize": 101},
    {"pageToken": "none of ours"},
    {"historyLength": -1},
)


async def test_every_filter_finds_the_same_tasks() -> None:
    async with wires() as all_of_them:
        for scenario in ("tck-complete-task", "tck-input-required", "tck-reject-task", "tck-artifact-file"):
            await all_of_them["jsonrpc-0.3"].send_message(sending(scenario, contextId=f"{scenario}'s"))
        await ended(all_of_them["rest-0.3"])
        await asking(all_of_them["grpc-0.3"])
        for asked in FILTERS:
            request = ParseDict(asked, pb.ListTasksRequest())
            told = {name: await outcome(wire.list_tasks(request)) for name, wire in some(all_of_them, NEW).items()}
            assert same(told), asked


async def test_pages_go_on_over_any_transport_while_tasks_of_one_moment_change(monkeypatch: pytest.MonkeyPatch) -> None:
    now_ms = [1_800_000_000_000]
    monkeypatch.setattr(app, "now_ms", lambda: now_ms[0])
    async with wires() as all_of_them:
        lists = some(all_of_them, NEW)
        begun = {await begin(wire, "tck-input-required", contextId=f"c-{n}") for n, wire in enumerate(lists.values())}
        begun |= {await begin(wire, "tck-input-required", contextId=f"d-{n}") for n, wire in enumerate(lists.values())}
        for task_id in begun:
            assert (await lists["rest-1.0"].get_task(pb.GetTaskRequest(id=task_id))).status.state == 6
        first = await lists["jsonrpc-1.0"].list_tasks(pb.ListTasksRequest(page_size=2))
        seen = [task.id for task in first.tasks]
        unseen = sorted(begun - set(seen))

        now_ms[0] += 1
        await all_of_them["grpc-0.3"].cancel_task(pb.CancelTaskRequest(id=seen[0]))  # both move in front of all pages
        await all_of_them["jsonrpc-0.3"].cancel_task(pb.CancelTaskRequest(id=unseen[0]))

        token = first.next_page_token
        rest: list[str] = []
        for _ in range(3):
            request = pb.ListTasksRequest(page_size=2, page_token=token)
            told = {name: MessageToDict(await wire.list_tasks(request)) for name, wire in lists.items()}
            page = same(told)
            assert (page["totalSize"], page["pageSize"]) == (6, 2)
            rest += [task["id"] for task in page["tasks"]]
            if not (token := page.get("nextPageToken", "")):
                break
        newest = await lists["grpc-1.0"].list_tasks(pb.ListTasksRequest(page_size=2))
    assert sorted(rest) == unseen[1:]
    assert {task.id for task in newest.tasks} == {seen[0], unseen[0]}


async def test_a_tenants_tasks_are_apart_wherever_it_is_named() -> None:
    async with (
        asyncio.timeout(30),
        site({"tenants": ["acme", "globex: 한국"]}) as at,
        httpx.AsyncClient(timeout=10) as http,
    ):
        url, card = f"{at.url}/a2a", pb.AgentCard()
        new: Wires = {
            "jsonrpc": JsonRpcTransport(http, card, url),
            "rest": RestTransport(http, card, url),
            "grpc": GrpcTransport(at.grpc, card),
        }
        for tenant in ("acme", "globex: 한국"):
            for wire in new.values():
                request = sending("tck-complete-task")
                request.tenant = tenant
                task = (await wire.send_message(request)).task
                for asked, found in (
                    (tenant, True),
                    ("", False),
                    ({"acme": "globex: 한국"}.get(tenant, "acme"), False),
                ):
                    told = {
                        n: await outcome(w.get_task(pb.GetTaskRequest(tenant=asked, id=task.id)))
                        for n, w in new.items()
                    }
                    assert same(told) == (MessageToDict(task) if found else "TaskNotFoundError")
            listed = {n: await outcome(w.list_tasks(pb.ListTasksRequest(tenant=tenant))) for n, w in new.items()}
            assert same(listed)["totalSize"] == 3
        nobodys = {n: await outcome(w.list_tasks(pb.ListTasksRequest(tenant="other"))) for n, w in new.items()}
    assert same(nobodys) == "InvalidParamsError"
