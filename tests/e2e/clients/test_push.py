"""Webhooks: what clients register, and what is posted there, in the shape of the version that registered it."""

from collections.abc import Iterator

import pytest
from tests.e2e.clients.catalogue import TASK_NOT_FOUND, that_can
from tests.e2e.clients.receiver import Receiver, Told, receiving
from tests.e2e.clients.running import Refused, Remote, unique
from tests.e2e.clients.shapes import Hook


@pytest.fixture(scope="module")
def receiver() -> Iterator[Receiver]:
    with receiving() as receiver:
        yield receiver


def hook_for(task: str, receiver: Receiver) -> Hook:
    name = unique("hook")
    return Hook(id=name, task=task, url=f"{receiver.url}/{name}", token="a-token")


def test_a_webhook_is_kept_as_it_was_registered(remote: Remote, receiver: Receiver) -> None:
    task = remote.task("ask colour")
    hook = hook_for(task.id, receiver)
    assert remote.set_push(hook) == hook
    assert remote.get_push(task.id, hook.id) == hook


def test_an_unknown_tasks_webhook_is_refused(remote: Remote, receiver: Receiver) -> None:
    with pytest.raises(Refused, match=remote.client.named(TASK_NOT_FOUND)):
        remote.set_push(hook_for("nope", receiver))


@pytest.mark.parametrize("remote", that_can("list_push", "delete_push"), indirect=True, ids=str)
def test_webhooks_are_listed_and_deleted(remote: Remote, receiver: Receiver) -> None:
    task = remote.task("ask colour")
    hooks = [remote.set_push(hook_for(task.id, receiver)) for _ in range(2)]
    assert set(remote.list_push(task.id)) == set(hooks)
    remote.delete_push(task.id, hooks[0].id)
    assert remote.list_push(task.id) == (hooks[1],)
    with pytest.raises(Refused):
        remote.get_push(task.id, hooks[0].id)


def test_a_webhook_gets_the_end_of_its_task(remote: Remote, receiver: Receiver) -> None:
    gate = unique("gate")
    task = remote.task(f"wait {gate}", waits=False)
    hook = remote.set_push(hook_for(task.id, receiver))
    remote.task(f"open {gate}")
    check_told(remote, receiver.until("completed", f"/{hook.id}"), task.id, f"Let go: {gate}")


@pytest.mark.parametrize("remote", that_can("inline_push"), indirect=True, ids=str)
def test_a_webhook_that_comes_with_the_message_gets_its_events_too(remote: Remote, receiver: Receiver) -> None:
    hook = hook_for("", receiver)
    task = remote.task("hello", hook=hook)
    check_told(remote, receiver.until("completed", f"/{hook.id}"), task.id, "You said: hello ")
    assert remote.get_push(task.id, hook.id).url == hook.url


def check_told(remote: Remote, told: list[Told], task_id: str, answer: str) -> None:
    """The notifications are of that task, and in the shape of the client's version."""
    last = told[-1]
    assert last.headers["x-a2a-notification-token"] == "a-token"
    if remote.client.is_old:
        assert last.headers["content-type"] == "application/json"
        assert (last.body["kind"], last.body["id"]) == ("task", task_id)
        assert last.body["artifacts"][0]["parts"] == [{"kind": "text", "text": answer}]
    else:
        assert last.headers["content-type"] == "application/a2a+json"
        assert last.body["statusUpdate"]["taskId"] == task_id
        [artifact] = [each.body["artifactUpdate"]["artifact"] for each in told if "artifactUpdate" in each.body]
        assert artifact["parts"] == [{"text": answer}]
