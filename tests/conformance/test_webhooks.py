"""Webhooks: kept, read, posted to and deleted, over each binding of A2A 1.0."""

from typing import Any

import pytest
from tests.conformance.sites import Host, message, state_of
from tests.unit.inbound.a2a.push.receiver import BROKEN, OK, Receiver, receiving

UNKNOWN = "unknown"
AUTHENTICATION = {"scheme": "Bearer", "credentials": "of-the-hook"}


async def with_a_hook(host: Host, url: str, **more: Any) -> tuple[Any, Any]:
    """A task that asks, and a webhook for it."""
    task = await host.begin("tck-input-required")
    return task, await host.value("CreateTaskPushNotificationConfig", taskId=task["id"], url=url, **more)


async def done(host: Host, task: Any) -> None:
    await host.value("SendMessage", **message("tck-complete-task", taskId=task["id"]))


def tells(receiver: Receiver, state: str) -> bool:
    """Whether a state was posted to a webhook."""
    return any(state_of(hook.json["statusUpdate"]) == state for hook in receiver.hooks if "statusUpdate" in hook.json)


@pytest.mark.requirement("1.0/3.1.7-push-create")
@pytest.mark.requirement("1.0/4.3.3-webhook-credentials")
@pytest.mark.requirement("1.0/4.3.3-webhook-payload")
@pytest.mark.requirement("1.0/4.3.3-webhook-attempt")
async def test_a_webhook_gets_its_credentials_and_one_of_four_kinds(host: Host) -> None:
    async with receiving() as receiver:
        task, config = await with_a_hook(host, receiver.url, authentication=AUTHENTICATION)
        assert (config["taskId"], config["url"], config["authentication"]) == (
            task["id"],
            receiver.url,
            AUTHENTICATION,
        )
        await done(host, task)
        hooks = await receiver.until(lambda _: tells(receiver, "COMPLETED"))
        for hook in hooks:
            assert len(hook.json.keys() & {"task", "message", "statusUpdate", "artifactUpdate"}) == 1
            assert hook.headers["authorization"] == "Bearer of-the-hook"
            assert hook.headers["content-type"] == "application/a2a+json"


@pytest.mark.requirement("1.0/4.3.3-webhook-attempt")
async def test_a_webhook_that_comes_with_the_message_is_tried_until_it_takes_it(host: Host) -> None:
    async with receiving() as receiver:
        receiver.answers[:] = [BROKEN, OK]
        inline = {"taskPushNotificationConfig": {"url": receiver.url, "authentication": AUTHENTICATION}}
        await host.value("SendMessage", **message("tck-complete-task", configuration=inline))
        hooks = await receiver.until(lambda _: tells(receiver, "COMPLETED"))
        assert hooks[0].body == hooks[1].body


@pytest.mark.requirement("1.0/3.1.8-push-get")
async def test_a_webhook_can_be_read_and_one_that_is_not_there_is_an_error(host: Host) -> None:
    task, config = await with_a_hook(host, "http://127.0.0.1:9/hook", id="w1")
    assert await host.value("GetTaskPushNotificationConfig", taskId=task["id"], id="w1") == config
    assert await host.refused("GetTaskPushNotificationConfig", taskId=task["id"], id=UNKNOWN) == "TASK_NOT_FOUND"
    assert await host.refused("GetTaskPushNotificationConfig", taskId=UNKNOWN, id="w1") == "TASK_NOT_FOUND"


@pytest.mark.requirement("1.0/3.1.9-push-list")
async def test_all_webhooks_of_a_task_are_listed(host: Host) -> None:
    task, one = await with_a_hook(host, "http://127.0.0.1:9/hook", id="w1")
    other = await host.value("CreateTaskPushNotificationConfig", taskId=task["id"], url="http://127.0.0.1:9/b", id="w2")
    assert (await host.value("ListTaskPushNotificationConfigs", taskId=task["id"]))["configs"] == [one, other]


@pytest.mark.requirement("1.0/3.1.10-push-delete")
async def test_a_webhook_that_was_deleted_gets_no_more_and_may_be_deleted_again(host: Host) -> None:
    async with receiving() as deleted, receiving() as stays:
        task, config = await with_a_hook(host, deleted.url)
        await host.value("CreateTaskPushNotificationConfig", taskId=task["id"], url=stays.url)
        for _ in range(2):
            await host.value("DeleteTaskPushNotificationConfig", taskId=task["id"], id=config["id"])
        await done(host, task)
        await stays.until(lambda _: tells(stays, "COMPLETED"))
        assert not tells(deleted, "COMPLETED")
