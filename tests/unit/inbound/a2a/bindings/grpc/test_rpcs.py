"""Every rpc of both services over a real channel."""

import json
from typing import Any

import grpc
import pytest
from a2a.compat.v0_3 import a2a_v0_3_pb2 as old
from a2a.types import a2a_pb2 as new
from google.protobuf.empty_pb2 import Empty
from tests.unit.inbound.a2a.bindings.grpc.calling import (
    NEW,
    OLD,
    answering,
    calling,
    kinds,
    old_saying,
    refusal,
    saying,
    text_of,
)

from llamon_agent.domain.events import Complete, Delta
from llamon_agent.domain.message import Message as DomainMessage
from llamon_agent.domain.message import Role, Text
from llamon_agent.domain.task import PushConfig, Task
from llamon_agent.inbound.a2a.bindings.streaming import OneEventStream, SentEvent
from llamon_agent.inbound.a2a.endpoint import AgentPolicy, Result
from llamon_agent.inbound.a2a.media_types import Modes
from llamon_agent.testing.scripted import Gate, Step
from llamon_agent.wire.v03_proto.codec import V03_PROTO
from llamon_agent.wire.v10.codec import V10

ANSWER: list[Step] = [Delta(text="Hel"), Delta(text="lo"), Complete()]
URI = "https://example.com/ext"
FILES = Modes(takes=("*/*",), gives=("*/*",))


class Hooks:
    """The webhooks of one task, in memory."""

    def __init__(self) -> None:
        self.kept: dict[str, PushConfig] = {}

    def check(self, config: PushConfig) -> None:
        pass

    async def register(self, task: Task, config: PushConfig) -> PushConfig:
        self.kept[config.id] = config
        return config

    async def get(self, owner: str, agent: str, task_id: str, config_id: str | None) -> PushConfig:
        return self.kept[config_id or ""]

    async def list(self, owner: str, agent: str, task_id: str) -> tuple[PushConfig, ...]:
        return tuple(self.kept.values())

    async def delete(self, owner: str, agent: str, task_id: str, config_id: str) -> None:
        del self.kept[config_id]


# Every rpc of 1.0.


async def test_a_1_0_task_is_sent_got_listed_and_canceled() -> None:
    async with calling(ANSWER, [Gate()]) as it:
        sent = (await it.ask(NEW + "SendMessage", saying(), new.SendMessageResponse)).task
        assert (sent.status.state, text_of(sent)) == (new.TASK_STATE_COMPLETED, "Hello")
        got = await it.ask(NEW + "GetTask", new.GetTaskRequest(id=sent.id, history_length=0), new.Task)
        assert (got.id, len(sent.history), len(got.history)) == (sent.id, 1, 0)
        working = await it.begin()
        listing = new.ListTasksRequest(page_size=1, status=new.TASK_STATE_WORKING)
        page = await it.ask(NEW + "ListTasks", listing, new.ListTasksResponse)
        assert ([task.id for task in page.tasks], page.total_size, page.page_size) == ([working], 1, 1)
        for _ in range(2):
            canceled = await it.ask(NEW + "CancelTask", new.CancelTaskRequest(id=working), new.Task)
            assert canceled.status.state == new.TASK_STATE_CANCELED


async def test_a_1_0_stream_is_the_task_then_updates_then_its_end() -> None:
    async with calling(ANSWER) as it:
        events = [event async for event in it.follow(NEW + "SendStreamingMessage", saying(), new.StreamResponse)]
    assert kinds(events) == ["task", "artifact_update", "artifact_update", "status_update"]
    assert events[-1].status_update.status.state == new.TASK_STATE_COMPLETED


async def test_a_1_0_subscription_begins_with_the_task_and_ends_with_it() -> None:
    gate = Gate()
    async with calling([Delta(text="Hel"), Delta(text="lo"), gate, Complete()]) as it:
        request = new.SubscribeToTaskRequest(id=await it.begin())
        await gate.reached()
        following = aiter(it.follow(NEW + "SubscribeToTask", request, new.StreamResponse))
        first = await anext(following)
        assert text_of(first.task) == "Hello"
        gate.open()
        assert kinds([event async for event in following]) == ["status_update"]


async def test_a_1_0_task_keeps_its_webhooks() -> None:
    async with calling([Gate()], webhooks=Hooks()) as it:
        config = new.TaskPushNotificationConfig(id="c", task_id=await it.begin(), url="https://example.com/", token="t")
        kept = await it.ask(NEW + "CreateTaskPushNotificationConfig", config, new.TaskPushNotificationConfig)
        assert (kept.id, kept.url, kept.token) == ("c", "https://example.com/", "t")
        named = {"id": "c", "task_id": config.task_id}
        request = new.GetTaskPushNotificationConfigRequest(**named)
        assert await it.ask(NEW + "GetTaskPushNotificationConfig", request, new.TaskPushNotificationConfig) == kept
        request_all = new.ListTaskPushNotificationConfigsRequest(task_id=config.task_id)
        method, gives = NEW + "ListTaskPushNotificationConfigs", new.ListTaskPushNotificationConfigsResponse
        assert list((await it.ask(method, request_all, gives)).configs) == [kept]
        deletion = new.DeleteTaskPushNotificationConfigRequest(**named)
        await it.ask(NEW + "DeleteTaskPushNotificationConfig", deletion, Empty)
        assert list((await it.ask(method, request_all, gives)).configs) == []


def extended(base_url: str, dialect: Any) -> bytes:
    card = {"name": base_url, "capabilities": {"streaming": True}}
    old_only = {"security": [{"bearer": []}], "securitySchemes": {"bearer": {"type": "http", "scheme": "Bearer"}}}
    return json.dumps(card if dialect.version == "1.0" else card | old_only).encode()


async def test_the_extended_card_names_the_address_that_it_is_given() -> None:
    async with calling(policy=AgentPolicy(extended_card=extended), base_url="https://agents.example.com") as it:
        card = await it.ask(NEW + "GetExtendedAgentCard", new.GetExtendedAgentCardRequest(), new.AgentCard)
        old_card = await it.ask(OLD + "GetAgentCard", old.GetAgentCardRequest(), old.AgentCard)
    assert card.name == old_card.name == "https://agents.example.com"
    assert old_card.security_schemes["bearer"].http_auth_security_scheme.scheme == "Bearer"


# Every rpc of 0.3.


@pytest.mark.requirement("0.3/3.2.2-grpc")
@pytest.mark.requirement("0.3/3.4-equivalent")
async def test_a_0_3_task_is_sent_got_and_canceled_once() -> None:
    async with calling(ANSWER, [Gate()]) as it:
        sent = (await it.ask(OLD + "SendMessage", old_saying(), old.SendMessageResponse)).task
        assert (sent.status.state, text_of(sent)) == (old.TASK_STATE_COMPLETED, "Hello")
        got = await it.ask(OLD + "GetTask", old.GetTaskRequest(name=f"tasks/{sent.id}"), old.Task)
        assert got == sent
        request = old.CancelTaskRequest(name=f"tasks/{await it.begin()}")
        canceled = await it.ask(OLD + "CancelTask", request, old.Task)
        assert canceled.status.state == old.TASK_STATE_CANCELLED
        error = await refusal(it.ask(OLD + "CancelTask", request, old.Task))
    assert error.code() is grpc.StatusCode.FAILED_PRECONDITION
    assert str(error.details()).startswith("TaskNotCancelableError: ")


@pytest.mark.requirement("0.3/3.2.2-grpc")
@pytest.mark.requirement("0.3/7.2-final")
async def test_a_0_3_stream_has_one_final_event() -> None:
    async with calling(ANSWER) as it:
        events = [event async for event in it.follow(OLD + "SendStreamingMessage", old_saying(), old.StreamResponse)]
    assert kinds(events) == ["task", *["artifact_update"] * 3, "status_update"]
    assert [part.text for part in events[-2].artifact_update.artifact.parts] == ["Hello"]
    assert events[-1].status_update.final


@pytest.mark.requirement("0.3/3.2.2-grpc")
@pytest.mark.requirement("0.3/7.9-resubscribe")
async def test_a_0_3_subscription_to_a_finished_task_is_the_task() -> None:
    async with calling(ANSWER) as it:
        sent = (await it.ask(OLD + "SendMessage", old_saying(), old.SendMessageResponse)).task
        request = old.TaskSubscriptionRequest(name=f"tasks/{sent.id}")
        events = [event async for event in it.follow(OLD + "TaskSubscription", request, old.StreamResponse)]
    assert [event.task for event in events] == [sent]


@pytest.mark.requirement("0.3/3.2.2-grpc")
@pytest.mark.requirement("0.3/7.5-push")
async def test_a_0_3_task_keeps_its_webhooks() -> None:
    async with calling([Gate()], webhooks=Hooks()) as it:
        parent = f"tasks/{await it.begin()}"
        name = f"{parent}/pushNotificationConfigs/c"
        config = old.PushNotificationConfig(url="https://example.com/")
        creation = old.CreateTaskPushNotificationConfigRequest(
            parent=parent,
            config_id="c",
            config=old.TaskPushNotificationConfig(push_notification_config=config),
        )
        method, gives = OLD + "CreateTaskPushNotificationConfig", old.TaskPushNotificationConfig
        kept = await it.ask(method, creation, gives)
        assert (kept.name, kept.push_notification_config.url) == (name, "https://example.com/")
        request = old.GetTaskPushNotificationConfigRequest(name=name)
        assert await it.ask(OLD + "GetTaskPushNotificationConfig", request, gives) == kept
        listing = old.ListTaskPushNotificationConfigRequest(parent=parent)
        method = OLD + "ListTaskPushNotificationConfig"
        page = await it.ask(method, listing, old.ListTaskPushNotificationConfigResponse)
        assert list(page.configs) == [kept]
        deletion = old.DeleteTaskPushNotificationConfigRequest(name=name)
        await it.ask(OLD + "DeleteTaskPushNotificationConfig", deletion, Empty)


# Messages without a task.


SPOKEN = DomainMessage(message_id="m", role=Role.AGENT, parts=(Text.of("Hi!"),))


async def test_a_direct_message_is_an_answer() -> None:
    for service, dialect, kind, asked in (
        (NEW, V10, new.SendMessageResponse, saying()),
        (OLD, V03_PROTO, old.SendMessageResponse, old_saying()),
    ):
        async with answering(Result(dialect.write_message(SPOKEN))) as (endpoint, channel):
            endpoint.gate.open()
            ask: Any = channel.unary_unary(service + "SendMessage", response_deserializer=kind.FromString)
            answer = await ask(asked.SerializeToString())
        assert (answer.message if service is NEW else answer.msg).message_id == "m"


async def test_a_direct_message_is_a_stream_of_one() -> None:
    for service, dialect, kind, asked in (
        (NEW, V10, new.StreamResponse, saying()),
        (OLD, V03_PROTO, old.StreamResponse, old_saying()),
    ):
        async with answering(OneEventStream(SentEvent(None, dialect.write_message(SPOKEN)))) as (endpoint, channel):
            endpoint.gate.open()
            follow: Any = channel.unary_stream(service + "SendStreamingMessage", response_deserializer=kind.FromString)
            [event] = [event async for event in follow(asked.SerializeToString())]
        assert (event.message if service is NEW else event.msg).message_id == "m"
