"""Push notifications by calls: every mode of sending, both versions' shapes, from the request to the webhook."""

import asyncio
import json
from typing import Any

import pytest
from tests.unit.inbound.a2a.edges import call, message_03, message_10
from tests.unit.inbound.a2a.push.receiver import Receiver, receiving
from tests.unit.inbound.a2a.push.test_webhooks import Edge, edge, has_ended, said
from tests.unit.runs.serving import ASK, paused

from llamon_agent.domain.events import Complete, Delta
from llamon_agent.inbound.a2a.bindings.jsonrpc.binding import RpcResponse, RpcStream, answer_call
from llamon_agent.inbound.a2a.bindings.streaming import Frames
from llamon_agent.inbound.a2a.endpoint import Endpoint, RequestHead
from llamon_agent.testing.scripted import Step

SCRIPT: list[Step] = [Delta(text="Hi"), Complete()]

OLD, NEW = "0.3", "1.0"


async def ask(here: Edge, method: str, params: object) -> Any:
    """What a call is answered with; a stream is read to its end."""
    endpoint = Endpoint(here.runs, agent="demo", webhooks=here.hooks)
    reply = await answer_call(endpoint, call(method, params), RequestHead())
    if isinstance(reply, RpcStream):
        await Frames(reply.stream, reply.envelope, ping_s=15).deliver(lambda _: asyncio.sleep(0))
        return None
    assert isinstance(reply, RpcResponse)
    response = json.loads(reply.body)
    return response.get("result", response)


def sending(version: str, mode: str, config: dict[str, Any], **more: object) -> tuple[str, dict[str, Any]]:
    """A method and its params that send a message with a webhook."""
    if version == OLD:
        configuration = {"pushNotificationConfig": config, "blocking": mode == "waiting"}
        method = "message/stream" if mode == "streamed" else "message/send"
        return method, message_03(**more) | {"configuration": configuration}
    configuration = {"taskPushNotificationConfig": config, "returnImmediately": mode != "waiting"}
    method = "SendStreamingMessage" if mode == "streamed" else "SendMessage"
    return method, message_10(**more) | {"configuration": configuration}


async def states_of(version: str, receiver: Receiver) -> list[str]:
    hooks = await receiver.until(has_ended)
    if version == OLD:
        assert {hook.json["kind"] for hook in hooks} == {"task"}
        return [hook.json["status"]["state"] for hook in hooks]
    return [state.partition(": ")[2] for state in said(hooks) if ": " in state]


@pytest.mark.parametrize("mode", ["waiting", "at once", "streamed"])
@pytest.mark.parametrize("version", [OLD, NEW])
async def test_a_webhook_that_comes_with_a_message_gets_its_events_in_every_mode(version: str, mode: str) -> None:
    async with receiving() as receiver, edge(SCRIPT) as here:
        scheme = {"schemes": ["Bearer"]} if version == OLD else {"scheme": "Bearer"}
        authentication = {**scheme, "credentials": "s3"}
        config = {"url": receiver.url, "token": "t", "authentication": authentication}
        await ask(here, *sending(version, mode, config))
        assert await states_of(version, receiver) == ["working", "completed"]
        assert {hook.headers["authorization"] for hook in receiver.hooks} == {"Bearer s3"}
        assert {hook.headers["x-a2a-notification-token"] for hook in receiver.hooks} == {"t"}


@pytest.mark.parametrize("version", [OLD, NEW])
async def test_a_webhook_hears_of_the_question_and_of_what_follows_the_answer(version: str) -> None:
    async with receiving() as receiver, edge([ASK], SCRIPT) as here:
        await ask(here, *sending(version, "waiting", {"url": receiver.url, "id": "a"}, contextId="c"))
        await receiver.heard(2)
        await ask(here, "message/send", message_03("yes", contextId="c"))
        states = [state.replace("_", "-") for state in await states_of(version, receiver)]
        assert states == ["working", "input-required", "working", "completed"]


async def test_a_bad_webhook_is_refused_before_the_task_begins() -> None:
    async with edge(SCRIPT) as here:
        for method, params in (
            sending(OLD, "waiting", {"url": "http://169.254.169.254/"}),
            sending(NEW, "at once", {"url": "file:///etc/passwd"}),
        ):
            assert (await ask(here, method, params))["error"]["code"] == -32602
        assert (await ask(here, "ListTasks", {}))["totalSize"] == 0


async def test_configurations_are_set_got_listed_and_deleted_in_0_3() -> None:
    async with edge([ASK]) as here:
        task_id = (await paused(here.runs)).id
        config = {"url": "https://hooks.example/", "token": "t"}
        kept = await ask(
            here, "tasks/pushNotificationConfig/set", {"taskId": task_id, "pushNotificationConfig": config}
        )
        assert kept == {"taskId": task_id, "pushNotificationConfig": {"id": task_id, **config}}
        assert await ask(here, "tasks/pushNotificationConfig/get", {"id": task_id}) == kept
        assert await ask(here, "tasks/pushNotificationConfig/list", {"id": task_id}) == [kept]
        named = {"id": task_id, "pushNotificationConfigId": task_id}
        for _ in range(2):
            assert await ask(here, "tasks/pushNotificationConfig/delete", named) is None
        assert await ask(here, "tasks/pushNotificationConfig/list", {"id": task_id}) == []
        gone = (await ask(here, "tasks/pushNotificationConfig/get", named))["error"]
        assert (gone["code"], "task" in gone["message"]) == (-32001, True)
        nowhere = {"taskId": "nowhere", "pushNotificationConfig": config}
        assert (await ask(here, "tasks/pushNotificationConfig/set", nowhere))["error"]["code"] == -32001


async def test_configurations_are_set_got_listed_and_deleted_in_1_0() -> None:
    async with edge([ASK]) as here:
        task_id = (await paused(here.runs)).id
        authentication = {"scheme": "Basic", "credentials": "x"}
        config = {"taskId": task_id, "url": "https://hooks.example/", "authentication": authentication}
        kept = await ask(here, "CreateTaskPushNotificationConfig", config)
        assert kept == {"id": "hook-1", **config}
        other = await ask(here, "CreateTaskPushNotificationConfig", {**config, "id": "a"})
        named = {"taskId": task_id, "id": "hook-1"}
        assert await ask(here, "GetTaskPushNotificationConfig", named) == kept
        listed = await ask(here, "ListTaskPushNotificationConfigs", {"taskId": task_id})
        assert listed["configs"] == [other, kept]
        for _ in range(2):
            assert await ask(here, "DeleteTaskPushNotificationConfig", named) == {}
        assert (await ask(here, "GetTaskPushNotificationConfig", named))["error"]["code"] == -32001
