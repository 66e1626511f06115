"""One webhook of one task: what it is told, in which order, and what happens when it does not take it."""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest
from tests.unit.runs.serving import ASK, ask, paused, request, serving

from llamon_agent.domain.errors import AgentError, BackendError
from llamon_agent.domain.events import ArtifactMade, Complete, Delta, Progress
from llamon_agent.domain.message import Text
from llamon_agent.domain.task import Artifact, PushConfig, Task, TaskPushConfig
from llamon_agent.inbound.a2a.push.delivery import PAUSES_S, Delivery, Write
from llamon_agent.inbound.a2a.push.sender import Accepted, Declined, PostResult, TryLater
from llamon_agent.runs.service import RunService
from llamon_agent.store.memory import MemoryTaskStore
from llamon_agent.testing.scripted import Gate, ScriptedAgent, Step
from llamon_agent.wire.operations import Dialect
from llamon_agent.wire.v03.codec import V03
from llamon_agent.wire.v10.codec import V10

TRY_LATER, NO = TryLater("HTTP 503"), Declined("HTTP 404")


class Hook:
    """A webhook without a network: takes what it is told, or answers what a test wrote for it."""

    def __init__(self, *outcomes: PostResult, gate: Gate | None = None) -> None:
        self._outcomes = list(outcomes)
        self.gate = gate
        self.bodies: list[Any] = []
        self.media_types: set[str] = set()
        self.pauses: list[float] = []

    async def post(self, push: TaskPushConfig, media_type: str, write: Write) -> PostResult:
        self.bodies.append(json.loads(await write()))
        self.media_types.add(media_type)
        if self.gate is not None:
            await self.gate.wait()
        return self._outcomes.pop(0) if self._outcomes else Accepted()

    async def pause(self, seconds: float) -> None:
        self.pauses.append(seconds)


class Told:
    """A delivery under way."""

    def __init__(self, hook: Hook, store: MemoryTaskStore, runs: RunService) -> None:
        self.hook, self.store, self.runs = hook, store, runs

    async def follow(self, task: Task, dialect: Dialect = V10, *, told_seq: int = 0) -> asyncio.Task[None]:
        config = PushConfig(id="a", url="https://hooks.example/secret", version=dialect.version)
        push = TaskPushConfig(owner=task.owner, agent=task.agent, task_id=task.id, config=config, told_seq=told_seq)
        await self.store.put_push(push)
        delivery = Delivery(push, dialect, runs=self.runs, store=self.store, post=self.hook.post, pause=self.hook.pause)
        subscription = await self.runs.subscribe(
            task.owner, task.agent, task.id, after_seq=told_seq or None, ended_ok=True
        )
        return asyncio.create_task(delivery.run(subscription))

    async def told_seq(self, task: Task) -> int:
        [push] = await self.store.list_push(task.owner, task.agent, task.id)
        return push.told_seq


@asynccontextmanager
async def push_event(
    *scripts: Sequence[Step], hook: Hook | None = None, store: MemoryTaskStore | None = None
) -> AsyncIterator[Told]:
    kept = store or MemoryTaskStore()
    async with serving(ScriptedAgent(*scripts), kept) as runs:
        yield Told(hook or Hook(), kept, runs)


async def begun(told: Told) -> Task:
    return (await told.runs.submit_run(request())).task


def states_10(bodies: Sequence[Any]) -> list[str]:
    """What 1.0 bodies say: states in short, and the text of artifacts."""
    said: list[str] = []
    for body in bodies:
        [(kind, value)] = body.items()
        if kind == "artifactUpdate":
            said.append("".join(part["text"] for part in value["artifact"]["parts"]))
        else:
            said.append(f"{kind}: {value['status']['state'].removeprefix('TASK_STATE_').lower()}")
    return said


async def test_a_hook_of_1_0_is_sent_the_task_then_every_state_and_every_whole_artifact() -> None:
    picture = Artifact(artifact_id="p", parts=(Text.of("a picture"),))
    script: list[Step] = [
        Progress(text="hm"),
        Delta(text="Hel"),
        ArtifactMade(artifact=picture),
        Delta(text="lo"),
        Complete(),
    ]
    async with push_event(script) as told:
        task = await begun(told)
        await (await told.follow(task))
        assert states_10(told.hook.bodies) == [
            *("task: working", "statusUpdate: working", "a picture", "Hello", "statusUpdate: completed")
        ]
        update = told.hook.bodies[3]["artifactUpdate"]
        assert (update["taskId"], update.get("append", False), update["lastChunk"]) == (task.id, False, True)
        assert told.hook.media_types == {"application/a2a+json"}


async def test_a_hook_of_0_x_is_sent_the_bare_task_at_every_state() -> None:
    script: list[Step] = [Progress(text="hm"), Delta(text="Hello"), Complete()]
    async with push_event(script) as told:
        await (await told.follow(await begun(told), V03))
        assert [(body["kind"], body["status"]["state"]) for body in told.hook.bodies] == [
            *(("task", "working"), ("task", "working"), ("task", "completed"))
        ]
        assert [len(body.get("artifacts", [])) for body in told.hook.bodies] == [0, 0, 1]
        assert told.hook.bodies[-1]["artifacts"][0]["parts"] == [{"kind": "text", "text": "Hello"}]
        assert told.hook.media_types == {"application/json"}


async def test_a_failure_has_its_reason_in_the_history() -> None:
    async with push_event([AgentError("out of paper")]) as told:
        await (await told.follow(await begun(told), V03))
        failed = told.hook.bodies[-1]
        assert failed["status"]["state"] == "failed"
        assert failed["history"][-1]["parts"] == failed["status"]["message"]["parts"]


async def test_a_hook_follows_its_task_through_a_pause() -> None:
    async with push_event([ASK], [Delta(text="done"), Complete()]) as told:
        run = await told.runs.submit_run(request())
        following = await told.follow(run.task)
        task = await run.wait_settled(5)
        await ask(told.runs, "yes", task=task.id)
        await following
        assert states_10(told.hook.bodies) == [
            *("task: working", "statusUpdate: input_required", "statusUpdate: working", "done"),
            "statusUpdate: completed",
        ]


async def test_each_state_is_sent_as_the_task_was_then() -> None:
    gate, hold = Gate(), Gate()
    async with push_event([ASK], [gate, Complete()], hook=Hook(gate=hold)) as told:
        run = await told.runs.submit_run(request())
        following = await told.follow(run.task, V03)
        task = await run.wait_settled(5)
        await hold.reached()
        again = await told.runs.submit_run(request("yes", task=task.id))
        await gate.reached()
        gate.open()
        await again.wait_settled(5)
        hold.open()
        await following
        assert [body["status"]["state"] for body in told.hook.bodies] == [
            *("working", "input-required", "working", "completed")
        ]


async def test_what_is_not_taken_is_tried_again_in_its_place() -> None:
    hook = Hook(TRY_LATER, TryLater("HTTP 429", 7), Accepted())
    async with push_event([Delta(text="Hi"), Complete()], hook=hook) as told:
        await (await told.follow(await begun(told)))
        assert states_10(hook.bodies) == ["task: working"] * 3 + ["Hi", "statusUpdate: completed"]
        assert hook.pauses == [PAUSES_S[0], 7]


async def test_a_dead_hook_is_given_up_after_so_many_attempts_and_sent_all_later(
    caplog: pytest.LogCaptureFixture,
) -> None:
    attempts = 1 + len(PAUSES_S)
    hook = Hook(*[TRY_LATER] * attempts)
    async with push_event([Delta(text="Hi"), Complete()], hook=hook) as told:
        await (await told.follow(await begun(told)))
        assert states_10(hook.bodies) == ["task: working"] * attempts + ["task: completed"]
        assert hook.pauses == list(PAUSES_S)
        assert "artifacts" in hook.bodies[-1]["task"]
    assert "hooks.example: a notification was not delivered (HTTP 503)" in caplog.text
    assert "secret" not in caplog.text


async def test_a_refusal_is_not_tried_again_but_made_good_by_the_whole_task() -> None:
    gate, hook = Gate(), Hook(NO)
    async with push_event([Progress(text="a"), gate, Progress(text="b"), Complete()], hook=hook) as told:
        following = await told.follow(await begun(told))
        await gate.reached()
        gate.open()
        await following
        assert states_10(hook.bodies)[0] == "task: working"
        assert states_10(hook.bodies)[1].startswith("task: ")
        assert states_10(hook.bodies)[-1].endswith(": completed")
        assert hook.pauses == []


async def test_a_hook_that_never_takes_anything_ends_with_its_task() -> None:
    hook = Hook(*[NO] * 10)
    async with push_event([Delta(text="Hi"), Complete()], hook=hook) as told:
        await (await told.follow(await begun(told)))
        assert states_10(hook.bodies) == ["task: working", "task: completed"]


async def test_what_was_sent_is_recorded_to_the_end() -> None:
    async with push_event([Progress(text="a"), Delta(text="b"), Complete()]) as told:
        run = await told.runs.submit_run(request())
        await (await told.follow(run.task))
        assert await told.told_seq(run.task) == (await run.wait_settled(5)).seq
        assert await told.store.undelivered() == ()


class Noting(MemoryTaskStore):
    """Remembers what was written down."""

    def __init__(self) -> None:
        super().__init__()
        self.written: list[int] = []

    async def mark_delivered(self, task_id: str, config_id: str, seq: int) -> None:
        self.written.append(seq)
        await super().mark_delivered(task_id, config_id, seq)


async def test_what_was_sent_while_the_task_worked_is_not_recorded() -> None:
    """Its number is not recorded: behind a crash the task's end might have it, and would count as told."""
    store = Noting()
    async with push_event([Progress(text="a"), Delta(text="b"), Complete()], store=store) as told:
        run = await told.runs.submit_run(request())
        await (await told.follow(run.task))
        assert len(told.hook.bodies) > 1
        assert store.written == [(await run.wait_settled(5)).seq]


async def test_what_was_given_up_is_written_down_too() -> None:
    async with push_event([Complete()], hook=Hook(*[NO] * 10)) as told:
        await (await told.follow(await begun(told)))
        assert await told.store.undelivered() == ()


async def test_a_hook_that_is_stopped_during_a_post_is_sent_it_later() -> None:
    hold = Gate()
    async with push_event([Complete()], hook=Hook(gate=hold)) as told:
        run = await told.runs.submit_run(request())
        following = await told.follow(run.task)
        await run.wait_settled(5)
        await hold.reached()
        following.cancel()
        await asyncio.wait({following})
        assert await told.told_seq(run.task) == 0
        assert len(await told.store.undelivered()) == 1


async def test_a_hook_that_knows_of_the_pause_is_sent_only_what_follows_it() -> None:
    store = MemoryTaskStore()
    async with push_event([ASK], store=store) as before:
        task = await paused(before.runs)
    async with push_event([Complete()], store=store) as told:
        following = await told.follow(task, told_seq=task.seq)
        await ask(told.runs, "yes", task=task.id)
        await following
        assert states_10(told.hook.bodies) == ["statusUpdate: working", "statusUpdate: completed"]


async def test_a_hook_that_missed_something_is_caught_up_with_the_task_as_it_is() -> None:
    store = MemoryTaskStore()
    async with push_event([Delta(text="Hi"), Complete()], store=store) as before:
        task = await ask(before.runs)
    async with push_event(store=store) as told:
        await (await told.follow(task, told_seq=1))
        assert states_10(told.hook.bodies) == ["task: completed"]


class Forgetful(MemoryTaskStore):
    """A store that cannot write down what was told."""

    async def mark_delivered(self, task_id: str, config_id: str, seq: int) -> None:
        raise BackendError


async def test_a_hook_is_posted_to_although_that_cannot_be_recorded(caplog: pytest.LogCaptureFixture) -> None:
    async with push_event([Complete()], store=Forgetful()) as told:
        await (await told.follow(await begun(told)))
        assert states_10(told.hook.bodies) == ["task: working", "statusUpdate: completed"]
    assert "could not be recorded" in caplog.text


async def test_a_store_that_is_away_ends_the_delivery_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    async with push_event([Complete()]) as told:
        task = await ask(told.runs)
        push = TaskPushConfig(
            owner=task.owner,
            agent=task.agent,
            task_id=task.id,
            config=PushConfig(id="a", url="https://hooks.example/", version="1.0"),
        )
        await told.store.close()
        delivery = Delivery(push, V10, runs=told.runs, store=told.store, post=told.hook.post)
        await delivery.run()
    assert "no more notifications until a restart" in caplog.text


async def test_a_slow_hook_of_a_talkative_agent_is_still_sent_the_end() -> None:
    hold = Gate()
    script: list[Step] = [*(Progress(text=f"step {number}") for number in range(50)), Complete()]
    async with push_event(script, hook=Hook(gate=hold)) as told:
        run = await told.runs.submit_run(request())
        following = await told.follow(run.task)
        await run.wait_settled(5)
        hold.open()
        await following
        notes = [body["statusUpdate"]["status"] for body in told.hook.bodies[1:]]
        assert [note["message"]["parts"][0]["text"] for note in notes[:-1]] == [f"step {n}" for n in range(50)]
        assert notes[-1]["state"] == "TASK_STATE_COMPLETED"


async def test_a_text_that_is_no_answer_is_not_told() -> None:
    async with push_event([Delta(text="Hel"), Delta(text="lo"), Complete(text="")]) as told:
        await (await told.follow(await begun(told)))
        assert states_10(told.hook.bodies) == ["task: working", "statusUpdate: completed"]
