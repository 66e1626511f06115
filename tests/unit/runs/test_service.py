"""The run service against a scripted agent and a store in memory: each rule of its docstring, and the races."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager

import pytest

from llamon_agent.domain.errors import (
    AgentError,
    AgentIsGone,
    BackendError,
    BadParams,
    Conflict,
    ContextIsBusy,
    TaskHasEnded,
    TaskIsBusy,
    TaskNotCancelable,
    TaskNotFound,
    UnsupportedOperation,
)
from llamon_agent.domain.events import (
    AgentEvent,
    ArtifactMade,
    ArtifactUpdate,
    Complete,
    Delta,
    Interrupt,
    Progress,
    SeedOutcome,
    Snapshot,
    Started,
    StatusUpdate,
    Update,
)
from llamon_agent.domain.message import Data, Message, Role, Text
from llamon_agent.domain.task import Artifact, Task, TaskState, answer_text
from llamon_agent.runs.decisions import new_task
from llamon_agent.runs.ports import Agent, Limits, RunRequest, Runtime, Target, Turn
from llamon_agent.runs.run import Run
from llamon_agent.runs.service import AGENT_BROKE, LOST, RESTARTED, STOPPED, RunService
from llamon_agent.runs.subscription import Subscription
from llamon_agent.store.memory import MemoryTaskStore
from llamon_agent.testing.clock import HandClock, counting_ids
from llamon_agent.testing.scripted import Gate, ScriptedAgent, Step

ASK = Interrupt(text="Sure?", questions=())


def request(
    text: str = "hi", *, task: str | None = None, context: str | None = None, owner: str = "default"
) -> RunRequest:
    message = Message(message_id="m", role=Role.USER, parts=(Text.of(text),))
    return RunRequest(owner=owner, agent="demo", message=message, prompt=text, task_id=task, context_id=context)


@asynccontextmanager
async def serving(
    agent: Agent, store: MemoryTaskStore | None = None, *, timeout_s: float = 60, limits: Limits | None = None
) -> AsyncIterator[RunService]:
    target = Target(name="demo", adapter="scripted", target="", timeout_s=timeout_s)
    service = RunService(
        store or MemoryTaskStore(),
        {"demo": Runtime(target, agent)},
        clock=HandClock(),
        new_id=counting_ids(),
        limits=limits or Limits(cancel_grace_s=5),
    )
    async with asyncio.timeout(10), service:
        yield service


async def ask(service: RunService, text: str = "hi", **names: str) -> Task:
    return await (await service.submit_run(request(text, **names))).settled(5)


async def heard(subscription: Subscription) -> list[Snapshot | Update]:
    return [event async for batch in subscription for event in batch]


def rebuilt(events: list[Snapshot | Update]) -> Task:
    """The task as a host rebuilds it from a stream."""
    assert isinstance(events[0], Snapshot)
    texts = {artifact.artifact_id: answer_text([artifact]) for artifact in events[0].task.artifacts}
    status = events[0].task.status
    for event in events[1:]:
        assert not isinstance(event, Snapshot)
        if isinstance(event, StatusUpdate):
            status = event.status
        else:
            text = "".join(part.text for part in event.parts if isinstance(part, Text))
            texts[event.artifact_id] = texts.get(event.artifact_id, "") + text if event.append else text
    artifacts = tuple(Artifact(artifact_id=name, parts=(Text.of(text),)) for name, text in texts.items())
    return Task(
        **{**{f: getattr(events[0].task, f) for f in Task.__struct_fields__}, "artifacts": artifacts, "status": status}
    )


def status_text(task: Task) -> str:
    assert task.status.message is not None
    part = task.status.message.parts[0]
    assert isinstance(part, Text)
    return part.text


async def paused(service: RunService, context: str = "c1") -> Task:
    task = await ask(service, "do it", context=context)
    assert task.status.state is TaskState.INPUT_REQUIRED
    return task


class Stubborn:
    """An agent that cannot be stopped before it wants to."""

    def __init__(self) -> None:
        self.started = asyncio.Event()
        self.may_end = asyncio.Event()
        self.said_late = False

    async def run(self, turn: Turn) -> AsyncGenerator[AgentEvent]:
        yield Delta(text="part")
        self.started.set()
        while not self.may_end.is_set():
            try:
                await self.may_end.wait()
            except asyncio.CancelledError:
                continue
        self.said_late = True
        yield Delta(text=" late")
        yield Complete(text="late")

    async def abandon(self, thread_id: str) -> None: ...


class FlakyStore(MemoryTaskStore):
    """A store that is away whenever `away` says so."""

    def __init__(self) -> None:
        super().__init__()
        self.away = False
        self.refused = 0
        self.refused_often = asyncio.Event()
        self.saving: Gate | None = None

    async def create(self, task: Task) -> None:
        if self.away:
            raise BackendError
        await super().create(task)

    async def save(self, task: Task, *, expect: int) -> None:
        if self.saving is not None:
            await self.saving.wait()
        if self.away:
            self.refused += 1
            if self.refused == 3:
                self.refused_often.set()
            raise BackendError
        await super().save(task, expect=expect)


# --- a run and its task ---------------------------------------------------------------------------------------------


async def test_deltas_become_one_text_artifact() -> None:
    async with serving(ScriptedAgent([Delta(text="Hel"), Delta(text="lo"), Complete()])) as service:
        task = await ask(service)
    assert task.status.state is TaskState.COMPLETED
    assert task.artifacts == (Artifact(artifact_id="answer-1", parts=(Text.of("Hello"),)),)


async def test_text_that_cannot_be_written_is_made_writable() -> None:
    async with serving(ScriptedAgent([Delta(text="한\ud800글"), Complete()], [Complete(text="\udfff")])) as service:
        assert answer_text((await ask(service)).artifacts) == "한?글"
        assert answer_text((await ask(service)).artifacts) == "?"


async def test_an_answer_without_deltas_is_told_once() -> None:
    async with serving(ScriptedAgent([Complete(text="constant")])) as service:
        run = await service.submit_run(request())
        events = await heard(run.follow())
    chunks = [event for event in events if isinstance(event, ArtifactUpdate)]
    assert [(chunk.parts, chunk.append, chunk.last) for chunk in chunks] == [((Text.of("constant"),), False, True)]


async def test_a_run_that_just_ends_is_complete() -> None:
    async with serving(ScriptedAgent([])) as service:
        task = await ask(service)
    assert (task.status.state, task.artifacts) == (TaskState.COMPLETED, ())


async def test_a_stream_rebuilds_the_stored_task() -> None:
    script: list[Step] = [
        Delta(text="a"),
        Progress(text="looking"),
        Delta(text="b"),
        Delta(text="x", restart=True),
        Complete(text="xyz"),
    ]
    store = MemoryTaskStore()
    async with serving(ScriptedAgent(script), store) as service:
        run = await service.submit_run(request())
        events = await heard(run.follow())
        stored = await store.get("default", "demo", run.task.id)
    assert stored is not None
    assert rebuilt(events).artifacts == stored.artifacts
    assert rebuilt(events).status == stored.status
    seqs = [event.seq for event in events[1:] if not isinstance(event, Snapshot)]
    assert seqs == list(range(2, stored.seq + 1))


async def test_progress_is_working_status_and_no_record() -> None:
    store = MemoryTaskStore()
    gate = Gate()
    async with serving(ScriptedAgent([Progress(text="looking"), gate, Complete(text="x")]), store) as service:
        run = await service.submit_run(request())
        await gate.reached()
        assert status_text(run.task) == "looking"
        recorded = await store.get("default", "demo", run.task.id)
        gate.open()
        events = await heard(run.follow())
    assert recorded is not None
    assert recorded.status.message is None
    assert [e.status.state for e in events if isinstance(e, StatusUpdate)] == [TaskState.WORKING, TaskState.COMPLETED]
    assert len(run.task.history) == 1


async def test_artifacts_beside_the_answer_keep_their_place_and_replace_their_like() -> None:
    first = Artifact(artifact_id="table", parts=(Data(data=[1]),), name="Table")
    second = Artifact(artifact_id="table", parts=(Data(data=[2]),), name="Table")
    script: list[Step] = [ArtifactMade(artifact=first), Delta(text="see"), ArtifactMade(artifact=second), Complete()]
    async with serving(ScriptedAgent(script)) as service:
        run = await service.submit_run(request())
        events = await heard(run.follow())
        task = await run.settled(5)
    assert [artifact.artifact_id for artifact in task.artifacts] == ["table", "answer-1"]
    assert task.artifacts[0] == second
    wholes = [event.whole for event in events if isinstance(event, ArtifactUpdate) and event.artifact_id == "table"]
    assert wholes == [first, second]


async def test_what_became_of_the_history_is_told_in_the_metadata() -> None:
    seeded = Started(history=SeedOutcome(seeded=3, skipped=1, reason="cold_start"))
    async with serving(ScriptedAgent([seeded, Complete(text="x")], [Started(), Complete(text="y")])) as service:
        told = await ask(service)
        silent = await ask(service)
    assert told.metadata == {"history": {"seeded": 3, "skipped": 1, "reason": "cold_start"}}
    assert silent.metadata is None


async def test_an_agents_error_is_the_tasks_failure_and_keeps_what_was_said() -> None:
    agent = ScriptedAgent([Delta(text="half"), AgentError("The model is away.")])
    async with serving(agent) as service:
        task = await ask(service)
    assert task.status.state is TaskState.FAILED
    assert status_text(task) == "The model is away."
    assert task.history[-1] == task.status.message
    assert task.artifacts[0].metadata == {"incomplete": True}
    assert answer_text(task.artifacts) == "half"


async def test_an_agents_bug_fails_the_task_and_tells_nothing_of_it(caplog: pytest.LogCaptureFixture) -> None:
    class Buggy(ScriptedAgent):
        async def run(self, turn: Turn) -> AsyncGenerator[AgentEvent]:
            yield Delta(text="x")
            raise ZeroDivisionError("secret")

    async with serving(Buggy()) as service:
        task = await ask(service)
    assert status_text(task) == AGENT_BROKE
    assert "ZeroDivisionError" in caplog.text


async def test_a_run_that_takes_too_long_fails_with_the_reason() -> None:
    agent = ScriptedAgent([Delta(text="half"), Gate()])
    async with serving(agent, timeout_s=0.05) as service:
        task = await ask(service)
    assert task.status.state is TaskState.FAILED
    assert status_text(task) == "The agent did not finish within 0.05 seconds."
    assert len(agent.cancelled) == 1


async def test_a_call_that_waits_too_briefly_gets_the_working_task() -> None:
    gate = Gate()
    script: list[Step] = [Delta(text="so far"), Progress(text="thinking"), gate, Complete()]
    async with serving(ScriptedAgent(script)) as service:
        run = await service.submit_run(request())
        await gate.reached()
        task = await run.settled(0.01)
        assert (task.status.state, answer_text(task.artifacts)) == (TaskState.WORKING, "so far")
        gate.open()
        assert (await run.settled(5)).status.state is TaskState.COMPLETED


async def test_an_agent_that_never_pauses_does_not_hold_the_loop() -> None:
    class Endless(ScriptedAgent):
        async def run(self, turn: Turn) -> AsyncGenerator[AgentEvent]:
            while True:
                yield Delta(text="x")

    async with serving(Endless()) as service:
        run = await service.submit_run(request())
        task = await service.cancel_run("default", "demo", run.task.id, again_ok=False)
    assert task.status.state is TaskState.CANCELED


async def test_the_answer_so_far_is_recorded_at_intervals() -> None:
    store = MemoryTaskStore()
    gate = Gate()
    agent = ScriptedAgent([Delta(text="a"), Delta(text="b"), Delta(text="c"), gate, Complete()])
    async with serving(agent, store, limits=Limits(snapshot_every_s=0)) as service:
        run = await service.submit_run(request())
        await gate.reached()
        recorded = await store.get("default", "demo", run.task.id)
        gate.open()
        task = await run.settled(5)
    assert recorded is not None
    assert (recorded.status.state, answer_text(recorded.artifacts)) == (TaskState.WORKING, "ab")
    assert answer_text(task.artifacts) == "abc"


# --- the context's lane ---------------------------------------------------------------------------------------------


async def test_two_messages_of_a_context_run_one_after_the_other() -> None:
    gate = Gate()
    agent = ScriptedAgent([gate, Complete(text="one")], [Complete(text="two")])
    async with serving(agent) as service:
        first = await service.submit_run(request("1", context="c1"))
        second = await service.submit_run(request("2", context="c1"))
        await gate.reached()
        assert second.task.status.state is TaskState.SUBMITTED
        assert len(agent.turns) == 1
        gate.open()
        events = await heard(second.follow())
        assert (await first.settled(5)).status.state is TaskState.COMPLETED
    states = [
        e.task.status.state if isinstance(e, Snapshot) else e.status.state
        for e in events
        if not isinstance(e, ArtifactUpdate)
    ]
    assert states == [TaskState.SUBMITTED, TaskState.WORKING, TaskState.COMPLETED]
    assert [turn.prompt for turn in agent.turns] == ["1", "2"]


async def test_other_contexts_agents_and_owners_do_not_wait() -> None:
    gates = [Gate(), Gate(), Gate()]
    scripts: list[list[Step]] = [[gate, Complete()] for gate in gates]
    agent = ScriptedAgent(*scripts)
    async with serving(agent) as service:
        for names in ({"context": "c1"}, {"context": "c2"}, {"context": "c1", "owner": "alice"}):
            await service.submit_run(request(**names))
        for gate in gates:
            await gate.reached()
            gate.open()
    assert sorted(turn.thread_id for turn in agent.turns) == ["c1", "c2", "principal:5:alice:c1"]


async def test_a_full_lane_refuses_and_writes_nothing() -> None:
    gate = Gate()
    store = MemoryTaskStore()
    agent = ScriptedAgent([gate, Complete()], [Complete()])
    async with serving(agent, store, limits=Limits(waiting_per_context=1)) as service:
        runs = [await service.submit_run(request(context="c1")) for _ in range(2)]
        with pytest.raises(ContextIsBusy):
            await service.submit_run(request(context="c1"))
        gate.open()
        assert [(await run.settled(5)).status.state for run in runs] == [TaskState.COMPLETED] * 2
    assert len(store._tasks) == 2


async def test_a_waiting_message_is_no_answer_to_a_question_asked_later() -> None:
    agent = ScriptedAgent([ASK], [Complete(text="answered")], [Complete(text="waited")])
    async with serving(agent) as service:
        first = await service.submit_run(request("ask", context="c1"))
        second = await service.submit_run(request("later", context="c1"))
        assert (await first.settled(5)).status.state is TaskState.INPUT_REQUIRED
        assert second.task.status.state is TaskState.SUBMITTED
        answered = await ask(service, "yes", task=first.task.id)
        assert answer_text(answered.artifacts) == "answered"
        assert answer_text((await second.settled(5)).artifacts) == "waited"
    assert [(turn.prompt, turn.answers) for turn in agent.turns] == [("ask", False), ("yes", True), ("later", False)]


async def test_a_failed_run_lets_the_next_one_go() -> None:
    agent = ScriptedAgent([AgentError("no")], [Complete(text="ok")])
    async with serving(agent) as service:
        runs = [await service.submit_run(request(context="c1")) for _ in range(2)]
        assert [(await run.settled(5)).status.state for run in runs] == [TaskState.FAILED, TaskState.COMPLETED]


# --- questions and answers ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("by", ["task", "context"])
async def test_the_answer_goes_on_with_the_same_task_and_thread(by: str) -> None:
    """Field reports 1 and 26: an answer that names only the task, or only the context."""
    agent = ScriptedAgent([Delta(text="I want to delete it."), ASK], [Complete(text="Deleted.")])
    async with serving(agent) as service:
        task = await paused(service)
        done = await ask(service, "yes", **({"task": task.id} if by == "task" else {"context": "c1"}))
    assert (done.id, done.context_id, done.status.state) == (task.id, "c1", TaskState.COMPLETED)
    assert [turn.thread_id for turn in agent.turns] == ["c1", "c1"]
    assert [(a.artifact_id, answer_text([a])) for a in done.artifacts] == [
        ("answer-1", "I want to delete it."),
        ("answer-2", "Deleted."),
    ]
    assert [said.role for said in done.history] == [Role.USER, Role.AGENT, Role.USER]


async def test_an_answer_that_does_not_fit_is_asked_again() -> None:
    agent = ScriptedAgent([ASK], [Interrupt(text="Yes or no?", questions=())], [Complete(text="ok")])
    async with serving(agent) as service:
        task = await paused(service)
        again = await ask(service, "hm", task=task.id)
        assert (again.status.state, status_text(again)) == (TaskState.INPUT_REQUIRED, "Yes or no?")
        assert (await ask(service, "yes", task=task.id)).status.state is TaskState.COMPLETED


async def test_two_answers_to_one_question_start_one_run() -> None:
    """Field report 25."""
    gate = Gate()
    agent = ScriptedAgent([ASK], [gate, Complete(text="ok")])
    async with serving(agent) as service:
        task = await paused(service)
        answers = [service.submit_run(request("yes", task=task.id)) for _ in range(3)]
        results = await asyncio.gather(*answers, return_exceptions=True)
        gate.open()
        runs = [result for result in results if isinstance(result, Run)]
        assert [type(result) for result in results if not isinstance(result, Run)] == [TaskIsBusy, TaskIsBusy]
        assert (await runs[0].settled(5)).status.state is TaskState.COMPLETED
    assert len(agent.turns) == 2


async def test_an_answer_after_the_end_is_refused_and_nothing_runs() -> None:
    """Field report 9."""
    agent = ScriptedAgent([ASK], [Complete(text="ok")])
    async with serving(agent) as service:
        task = await paused(service)
        await ask(service, "yes", task=task.id)
        with pytest.raises(TaskHasEnded):
            await service.submit_run(request("yes", task=task.id))
    assert len(agent.turns) == 2


async def test_a_paused_task_is_answered_by_another_service_on_the_same_store() -> None:
    store = MemoryTaskStore()
    async with serving(ScriptedAgent([ASK]), store) as service:
        task = await paused(service)
    agent = ScriptedAgent([Complete(text="after the restart")])
    async with serving(agent, store) as service:
        done = await ask(service, "yes", context="c1")
    assert (done.id, answer_text(done.artifacts)) == (task.id, "after the restart")
    assert agent.turns[0].answers


async def test_a_store_that_is_away_leaves_the_question_open() -> None:
    store = FlakyStore()
    async with serving(ScriptedAgent([ASK], [Complete(text="ok")]), store) as service:
        task = await paused(service)
        store.away = True
        with pytest.raises(BackendError):
            await service.submit_run(request("yes", task=task.id))
        store.away = False
        assert (await ask(service, "yes", task=task.id)).status.state is TaskState.COMPLETED


async def test_a_record_that_somebody_else_changed_is_read_again() -> None:
    store = MemoryTaskStore()
    async with serving(ScriptedAgent([ASK]), store) as service:
        task = await paused(service)
        stream = await service.subscribe("default", "demo", task.id, after_seq=None, ended_ok=False)
        async with serving(ScriptedAgent(), store) as elsewhere:
            await elsewhere.cancel_run("default", "demo", task.id, again_ok=False)
        with pytest.raises(TaskHasEnded):
            await service.submit_run(request("yes", task=task.id))
        assert [type(event) for event in await heard(stream)] == [Snapshot]


# --- names that do not fit ------------------------------------------------------------------------------------------


async def test_names_that_do_not_fit_write_nothing_and_run_nothing() -> None:
    """Field report 23."""
    store = MemoryTaskStore()
    agent = ScriptedAgent([ASK])
    async with serving(agent, store) as service:
        task = await paused(service)
        for names, error in (
            ({"task": "nope"}, TaskNotFound),
            ({"task": "nope", "context": "c1"}, TaskNotFound),
            ({"task": task.id, "context": "other"}, BadParams),
            ({"task": task.id, "owner": "alice"}, TaskNotFound),
        ):
            with pytest.raises(error):
                await service.submit_run(request(**names))
        assert await store.get("default", "demo", task.id) == task
    assert (len(agent.turns), len(store._tasks)) == (1, 1)


async def test_somebody_elses_task_is_not_found_for_any_call() -> None:
    """Field report 11."""
    gate = Gate()
    async with serving(ScriptedAgent([gate, Complete()])) as service:
        run = await service.submit_run(request(context="c1"))
        for call in (
            service.get("alice", "demo", run.task.id),
            service.get("default", "other", run.task.id),
            service.cancel_run("alice", "demo", run.task.id, again_ok=True),
            service.subscribe("alice", "demo", run.task.id, after_seq=None, ended_ok=True),
        ):
            with pytest.raises(TaskNotFound):
                await call
        gate.open()
        assert (await run.settled(5)).status.state is TaskState.COMPLETED


# --- cancel ---------------------------------------------------------------------------------------------------------


async def test_cancel_stops_the_work_and_stays() -> None:
    """Field reports 4 and 54."""
    gate = Gate()
    store = MemoryTaskStore()
    agent = ScriptedAgent([Delta(text="half"), gate, Complete(text="late")])
    async with serving(agent, store) as service:
        run = await service.submit_run(request())
        await gate.reached()
        canceled = await service.cancel_run("default", "demo", run.task.id, again_ok=False)
        gate.open()
        assert await run.settled(5) == canceled
    assert canceled.status.state is TaskState.CANCELED
    assert canceled.artifacts[0].metadata == {"incomplete": True}
    assert answer_text(canceled.artifacts) == "half"
    assert len(agent.cancelled) == 1
    assert await store.get("default", "demo", run.task.id) == canceled


async def test_a_second_cancel_is_as_the_dialect_wants_it() -> None:
    """Field report 63."""
    async with serving(ScriptedAgent([Gate()])) as service:
        run = await service.submit_run(request())
        canceled = await service.cancel_run("default", "demo", run.task.id, again_ok=False)
        assert await service.cancel_run("default", "demo", run.task.id, again_ok=True) == canceled
        with pytest.raises(TaskNotCancelable):
            await service.cancel_run("default", "demo", run.task.id, again_ok=False)


async def test_two_cancels_at_once_both_see_the_canceled_task() -> None:
    gate = Gate()
    async with serving(ScriptedAgent([gate])) as service:
        run = await service.submit_run(request())
        await gate.reached()
        calls = [service.cancel_run("default", "demo", run.task.id, again_ok=True) for _ in range(2)]
        tasks = await asyncio.gather(*calls)
    assert [task.status.state for task in tasks] == [TaskState.CANCELED] * 2


async def test_a_task_that_waits_is_canceled_without_ever_running() -> None:
    gate = Gate()
    agent = ScriptedAgent([gate, Complete()])
    async with serving(agent) as service:
        first = await service.submit_run(request(context="c1"))
        second = await service.submit_run(request(context="c1"))
        await gate.reached()
        canceled = await service.cancel_run("default", "demo", second.task.id, again_ok=False)
        assert canceled.status.state is TaskState.CANCELED
        gate.open()
        assert (await first.settled(5)).status.state is TaskState.COMPLETED
    assert len(agent.turns) == 1


async def test_a_cancel_before_the_agent_has_begun_still_ends_the_task() -> None:
    agent = ScriptedAgent([Complete()])
    async with serving(agent) as service:
        run = await service.submit_run(request())
        task = await service.cancel_run("default", "demo", run.task.id, again_ok=False)
    assert task.status.state is TaskState.CANCELED
    assert agent.turns == []


async def test_canceling_a_pause_drops_the_question_and_frees_the_context() -> None:
    agent = ScriptedAgent([ASK], [Complete(text="new")])
    async with serving(agent) as service:
        task = await paused(service)
        canceled = await service.cancel_run("default", "demo", task.id, again_ok=False)
        fresh = await ask(service, "next", context="c1")
    assert canceled.status.state is TaskState.CANCELED
    assert agent.abandoned == ["c1"]
    assert (fresh.id != task.id, fresh.status.state) == (True, TaskState.COMPLETED)
    assert not agent.turns[1].answers


@pytest.mark.parametrize("how_far", ["before", "within"])
async def test_an_answer_that_is_canceled_leaves_no_question_behind(how_far: str) -> None:
    gate = Gate()
    agent = ScriptedAgent([ASK], [gate, Complete(text="late")])
    async with serving(agent) as service:
        task = await paused(service)
        await service.submit_run(request("yes", task=task.id))
        if how_far == "within":
            await gate.reached()
        canceled = await service.cancel_run("default", "demo", task.id, again_ok=False)
    assert canceled.status.state is TaskState.CANCELED
    assert agent.abandoned == ["c1"]


async def test_an_agent_that_cannot_drop_its_question_is_canceled_all_the_same() -> None:
    class Clinging(ScriptedAgent):
        async def abandon(self, thread_id: str) -> None:
            raise AgentError("no")

    async with serving(Clinging([ASK])) as service:
        task = await paused(service)
        assert (await service.cancel_run("default", "demo", task.id, again_ok=False)).status.state is TaskState.CANCELED


async def test_a_cancel_that_comes_while_the_end_is_recorded_is_too_late() -> None:
    store = FlakyStore()
    store.saving = Gate()
    async with serving(ScriptedAgent([Complete(text="done")]), store) as service:
        run = await service.submit_run(request())
        await store.saving.reached()
        cancel = asyncio.ensure_future(service.cancel_run("default", "demo", run.task.id, again_ok=True))
        await asyncio.sleep(0)
        store.saving.open()
        with pytest.raises(TaskNotCancelable):
            await cancel
        assert (await run.settled(5)).status.state is TaskState.COMPLETED


async def test_an_agent_that_does_not_stop_is_left_behind(caplog: pytest.LogCaptureFixture) -> None:
    agent = Stubborn()
    store = MemoryTaskStore()
    async with serving(agent, store, limits=Limits(cancel_grace_s=0.02)) as service:
        run = await service.submit_run(request(context="c1"))
        await agent.started.wait()
        task = await service.cancel_run("default", "demo", run.task.id, again_ok=False)
        assert task.status.state is TaskState.CANCELED
        agent.may_end.set()
    assert agent.said_late
    assert await store.get("default", "demo", task.id) == task
    assert answer_text(task.artifacts) == "part"
    assert "left behind" in caplog.text


# --- following ------------------------------------------------------------------------------------------------------


async def test_a_subscription_starts_with_a_snapshot_and_misses_nothing() -> None:
    gate = Gate()
    agent = ScriptedAgent([Delta(text="a"), Delta(text="b"), gate, Delta(text="c"), Complete()])
    async with serving(agent) as service:
        run = await service.submit_run(request())
        await gate.reached()
        stream = await service.subscribe("default", "demo", run.task.id, after_seq=None, ended_ok=False)
        gate.open()
        events = await heard(stream)
        task = await run.settled(5)
    assert rebuilt(events).artifacts == task.artifacts
    assert isinstance(events[-1], StatusUpdate)


async def test_a_subscription_stays_open_through_a_pause() -> None:
    agent = ScriptedAgent([ASK], [Delta(text="done"), Complete()])
    async with serving(agent) as service:
        task = await paused(service)
        stream = await service.subscribe("default", "demo", task.id, after_seq=None, ended_ok=False)
        reading = asyncio.ensure_future(heard(stream))
        await ask(service, "yes", task=task.id)
        events = await reading
    assert [e.status.state for e in events if isinstance(e, StatusUpdate)] == [TaskState.WORKING, TaskState.COMPLETED]


async def test_a_send_stream_ends_at_the_pause() -> None:
    async with serving(ScriptedAgent([ASK])) as service:
        run = await service.submit_run(request())
        events = await heard(run.follow())
    assert isinstance(events[-1], StatusUpdate)
    assert events[-1].status.state is TaskState.INPUT_REQUIRED


async def test_a_reader_that_comes_back_gets_only_what_it_missed() -> None:
    gate = Gate()
    agent = ScriptedAgent([Delta(text="a"), Delta(text="b"), Delta(text="c"), gate, Complete()])
    async with serving(agent) as service:
        run = await service.submit_run(request())
        await gate.reached()
        stream = await service.subscribe("default", "demo", run.task.id, after_seq=2, ended_ok=False)
        gate.open()
        events = await heard(stream)
    assert not any(isinstance(event, Snapshot) for event in events)
    assert [event.seq for event in events if not isinstance(event, Snapshot)] == list(range(3, run.task.seq + 1))


@pytest.mark.parametrize("after_seq", [99, -5])
async def test_a_place_that_the_log_does_not_know_gets_a_snapshot(after_seq: int) -> None:
    gate = Gate()
    async with serving(ScriptedAgent([Delta(text="a"), gate, Complete()])) as service:
        run = await service.submit_run(request())
        await gate.reached()
        stream = await service.subscribe("default", "demo", run.task.id, after_seq=after_seq, ended_ok=False)
        gate.open()
        assert isinstance((await heard(stream))[0], Snapshot)


async def test_a_finished_task_is_shown_or_refused_as_the_dialect_wants_it() -> None:
    """Field report 42."""
    async with serving(ScriptedAgent([Complete(text="x")])) as service:
        task = await ask(service)
        with pytest.raises(UnsupportedOperation):
            await service.subscribe("default", "demo", task.id, after_seq=None, ended_ok=False)
        stream = await service.subscribe("default", "demo", task.id, after_seq=1, ended_ok=True)
        assert await heard(stream) == [Snapshot(task=task)]
        with pytest.raises(TaskNotFound):
            await service.subscribe("default", "demo", "nope", after_seq=None, ended_ok=True)


async def test_hanging_up_ends_the_subscription_and_not_the_run() -> None:
    """Field report 5."""
    gate = Gate()
    async with serving(ScriptedAgent([gate, Complete(text="x")])) as service:
        run = await service.submit_run(request())
        stream = run.follow()
        await anext(stream)
        stream.close()
        stream.close()
        assert await heard(stream) == []
        gate.open()
        assert (await run.settled(5)).status.state is TaskState.COMPLETED


async def test_a_reader_that_fell_behind_loses_detail_and_no_text() -> None:
    """Field report 13."""
    words = [f"word{number} " for number in range(500)]
    agent = ScriptedAgent([*(Delta(text=word) for word in words), Complete()])
    async with serving(agent, limits=Limits(window_bytes=4_000)) as service:
        run = await service.submit_run(request())
        stream = run.follow()
        await run.settled(5)
        events = await heard(stream)
    assert len(events) < 100
    assert answer_text(rebuilt(events).artifacts) == "".join(words)


async def test_text_that_nothing_follows_is_told_after_a_moment() -> None:
    gate = Gate()
    async with serving(ScriptedAgent([Delta(text="wait"), gate, Complete()])) as service:
        run = await service.submit_run(request())
        stream = run.follow()
        await anext(stream)
        [chunk] = await anext(stream)
        assert isinstance(chunk, ArtifactUpdate)
        assert (chunk.parts, chunk.last) == ((Text.of("wait"),), False)
        gate.open()
        [closing, status] = await anext(stream)
        assert isinstance(closing, ArtifactUpdate)
        assert (closing.parts, closing.append, closing.last) == ((Text.of(""),), True, True)
        assert isinstance(status, StatusUpdate)


async def test_a_paused_task_that_nobody_follows_is_forgotten() -> None:
    """Field report 66: what is never answered does not stay in memory."""
    async with serving(ScriptedAgent([ASK])) as service:
        task = await paused(service)
        assert len(service._live) == 0
        stream = await service.subscribe("default", "demo", task.id, after_seq=None, ended_ok=False)
        assert [live.task.id for live in service._live] == [task.id]
        stream.close()
        assert len(service._live) == 0
        assert service._lanes._lanes == {}


async def test_nothing_of_an_ended_task_stays_in_memory() -> None:
    async with serving(ScriptedAgent([Complete()], [AgentError("x")], [ASK])) as service:
        for _ in range(3):
            await ask(service)
        assert (len(service._live), service._runs, service._lanes._lanes) == (0, {}, {})


# --- the store is away, the edge stops ------------------------------------------------------------------------------


async def test_a_store_that_is_away_refuses_the_message_and_nothing_runs() -> None:
    store = FlakyStore()
    store.away = True
    agent = ScriptedAgent([Complete()])
    async with serving(agent, store) as service:
        with pytest.raises(BackendError):
            await service.submit_run(request(context="c1"))
        store.away = False
        assert (await ask(service, context="c1")).status.state is TaskState.COMPLETED
    assert len(agent.turns) == 1


async def test_an_end_that_cannot_be_recorded_is_not_told() -> None:
    """Field report 38: the call and the stream end in bounded time, with an error and without a false answer."""
    store = FlakyStore()
    gate = Gate()
    agent = ScriptedAgent([gate, Complete(text="x")], [Complete(text="y")])
    async with serving(agent, store, limits=Limits(record_again_s=())) as service:
        run = await service.submit_run(request(context="c1"))
        waiting = await service.submit_run(request(context="c1"))
        stream = run.follow()
        await gate.reached()
        store.away = True
        gate.open()
        with pytest.raises(BackendError):
            await run.settled(5)
        with pytest.raises(BackendError):
            await heard(stream)
        with pytest.raises(BackendError):
            await waiting.settled(5)
        store.away = False
        for lost in (run, waiting):
            kept = await service.get("default", "demo", lost.task.id)
            assert (kept.status.state, status_text(kept)) == (TaskState.FAILED, LOST)
        assert await service.get("default", "demo", run.task.id) == await store.get("default", "demo", run.task.id)


async def test_an_end_is_recorded_as_soon_as_the_store_is_back() -> None:
    store = FlakyStore()
    gate = Gate()
    agent = ScriptedAgent([gate, Complete(text="x")], [Complete(text="y")])
    async with serving(agent, store, limits=Limits(record_again_s=(0.001,) * 10_000)) as service:
        run = await service.submit_run(request(context="c1"))
        waiting = await service.submit_run(request(context="c1"))
        await gate.reached()
        store.away = True
        gate.open()
        await store.refused_often.wait()
        assert not run.has_ended
        store.away = False
        assert answer_text((await run.settled(5)).artifacts) == "x"
        assert answer_text((await waiting.settled(5)).artifacts) == "y"


async def test_two_readers_of_a_lost_task_agree_on_its_end() -> None:
    store = MemoryTaskStore()
    await store.create(new_task(request(), "c1", TaskState.WORKING, task_id="t1", now_ms=1))
    async with serving(ScriptedAgent(), store) as service:
        reads = [service.get("default", "demo", "t1") for _ in range(3)]
        first, *others = await asyncio.gather(*reads)
    assert status_text(first) == LOST
    assert others == [first, first]


async def test_a_snapshot_that_cannot_be_recorded_does_not_end_the_run() -> None:
    store = FlakyStore()
    gate = Gate()
    agent = ScriptedAgent([gate, Delta(text="a"), Delta(text="b"), Complete()])
    async with serving(agent, store, limits=Limits(snapshot_every_s=0)) as service:
        run = await service.submit_run(request())
        await gate.reached()
        store.away = True
        stream = run.follow()
        await anext(stream)
        gate.open()
        await anext(stream)
        store.away = False
        task = await run.settled(5)
    assert (task.status.state, answer_text(task.artifacts)) == (TaskState.COMPLETED, "ab")


async def test_stopping_the_edge_ends_every_run_and_its_streams() -> None:
    gate = Gate()
    store = MemoryTaskStore()
    agent = ScriptedAgent([ASK], [gate])
    async with serving(agent, store) as service:
        asked = await paused(service, "c0")
        following = await service.subscribe("default", "demo", asked.id, after_seq=None, ended_ok=False)
        running = await service.submit_run(request(context="c1"))
        waiting = await service.submit_run(request(context="c1"))
        await gate.reached()
    ends = [await store.get("default", "demo", run.task.id) for run in (running, waiting)]
    assert [end and (end.status.state, status_text(end)) for end in ends] == [(TaskState.FAILED, STOPPED)] * 2
    assert await store.get("default", "demo", asked.id) == asked
    assert [type(event) for event in await heard(following)] == [Snapshot]
    with pytest.raises(BackendError):
        await service.submit_run(request())


async def test_what_a_dead_process_left_working_fails_and_what_was_paused_waits_on() -> None:
    store = MemoryTaskStore()
    async with serving(ScriptedAgent([ASK]), store) as service:
        asked = await paused(service, "c0")
    left = new_task(request(), "c1", TaskState.WORKING, task_id="t1", now_ms=1)
    await store.create(left)
    async with serving(ScriptedAgent([Complete(text="again")]), store) as service:
        await service.end_orphans()
        ended = await service.get("default", "demo", "t1")
        assert (ended.status.state, status_text(ended)) == (TaskState.FAILED, RESTARTED)
        assert await service.get("default", "demo", asked.id) == asked
        assert (await ask(service, context="c1")).status.state is TaskState.COMPLETED


async def test_a_draining_edge_lets_its_runs_finish_and_takes_no_more() -> None:
    gate = Gate()
    agent = ScriptedAgent([gate, Complete(text="in time")])
    async with serving(agent) as service:
        run = await service.submit_run(request())
        await gate.reached()
        draining = asyncio.ensure_future(service.drain(5))
        await asyncio.sleep(0)
        with pytest.raises(BackendError):
            await service.submit_run(request())
        gate.open()
        await draining
        assert (await run.settled(5)).status.state is TaskState.COMPLETED


async def test_a_conflict_at_the_end_is_not_told_as_success(caplog: pytest.LogCaptureFixture) -> None:
    store = MemoryTaskStore()
    gate = Gate()
    async with serving(ScriptedAgent([gate, Complete(text="x")]), store) as service:
        run = await service.submit_run(request())
        await gate.reached()
        async with serving(ScriptedAgent(), store) as elsewhere:
            await elsewhere.end_orphans()
        gate.open()
        with pytest.raises(Conflict):
            await run.settled(5)
        assert status_text(await service.get("default", "demo", run.task.id)) == RESTARTED
    assert "could not be recorded" in caplog.text


# --- what once went wrong -------------------------------------------------------------------------------------------


class Exits(ScriptedAgent):
    """An agent that raises what is no Exception."""

    def __init__(self, raised: BaseException) -> None:
        super().__init__()
        self.raised = raised

    async def run(self, turn: Turn) -> AsyncGenerator[AgentEvent]:
        if turn.prompt == "fine":
            yield Complete(text="fine")
        raise self.raised

    async def abandon(self, thread_id: str) -> None:
        raise self.raised


@pytest.mark.parametrize(
    "raised", [SystemExit(3), GeneratorExit(), BaseExceptionGroup("x", [SystemExit()]), asyncio.CancelledError()]
)
async def test_whatever_an_agent_raises_ends_its_own_task_only(raised: BaseException) -> None:
    async with serving(Exits(raised)) as service:
        task = await ask(service)
        assert (task.status.state, status_text(task)) == (TaskState.FAILED, AGENT_BROKE)
        assert answer_text((await ask(service, "fine")).artifacts) == "fine"


async def test_a_reader_that_joins_while_the_end_is_recorded_hears_no_text_twice() -> None:
    store = FlakyStore()
    agent = ScriptedAgent([Delta(text="Hel"), Delta(text="lo"), Complete()])
    async with serving(agent, store) as service:
        store.saving = Gate()
        run = await service.submit_run(request())
        await store.saving.reached()
        joined = await service.subscribe("default", "demo", run.task.id, after_seq=None, ended_ok=False)
        assert answer_text((await service.get("default", "demo", run.task.id)).artifacts) == "Hel"
        store.saving.open()
        events = await heard(joined)
    assert answer_text(rebuilt(events).artifacts) == "Hello"


async def test_a_cancel_while_a_waiting_task_is_recorded_as_working_is_no_conflict() -> None:
    store = FlakyStore()
    gate = Gate()
    async with serving(ScriptedAgent([gate, Complete()], [Gate()]), store) as service:
        first = await service.submit_run(request(context="c1"))
        second = await service.submit_run(request(context="c1"))
        await gate.reached()
        gate.open()
        await first.settled(5)
        store.saving = Gate()
        await store.saving.reached()
        cancel = asyncio.ensure_future(service.cancel_run("default", "demo", second.task.id, again_ok=False))
        await asyncio.sleep(0)
        store.saving.open()
        assert (await cancel).status.state is TaskState.CANCELED
        assert await store.get("default", "demo", second.task.id) == await cancel


async def test_a_record_that_was_read_too_early_is_read_again() -> None:
    class Slow(MemoryTaskStore):
        delay: Gate | None = None

        async def get(self, owner: str, agent: str, task_id: str) -> Task | None:
            task = await super().get(owner, agent, task_id)
            delay, self.delay = self.delay, None
            if delay is not None:
                await delay.wait()
            return task

    store = Slow()
    async with serving(ScriptedAgent([ASK]), store) as service:
        task = await paused(service)
        delay = store.delay = Gate()
        late = asyncio.ensure_future(service.get("default", "demo", task.id))
        await delay.reached()
        canceled = await service.cancel_run("default", "demo", task.id, again_ok=False)
        delay.open()
        assert await late == canceled


async def test_a_run_that_was_left_behind_touches_the_thread_no_more() -> None:
    class LateStubborn(Stubborn):
        def __init__(self) -> None:
            super().__init__()
            self.abandoned = 0

        async def run(self, turn: Turn) -> AsyncGenerator[AgentEvent]:
            if not turn.answers:
                yield ASK
                return
            async for event in super().run(turn):
                yield event

        async def abandon(self, thread_id: str) -> None:
            self.abandoned += 1

    agent = LateStubborn()
    async with serving(agent, limits=Limits(cancel_grace_s=0.02)) as service:
        task = await paused(service)
        await service.submit_run(request("yes", task=task.id))
        await agent.started.wait()
        await service.cancel_run("default", "demo", task.id, again_ok=False)
        agent.may_end.set()
    assert (agent.said_late, agent.abandoned) == (True, 0)


async def test_a_note_that_cannot_be_written_is_made_writable() -> None:
    gate = Gate()
    async with serving(ScriptedAgent([Progress(text="half \ud83d"), gate, Complete()])) as service:
        run = await service.submit_run(request())
        await gate.reached()
        assert status_text(run.task) == "half ?"
        gate.open()


async def test_a_pause_that_only_a_canceled_message_waited_behind_is_forgotten() -> None:
    async with serving(ScriptedAgent([ASK])) as service:
        first = await service.submit_run(request(context="c1"))
        second = await service.submit_run(request(context="c1"))
        await first.settled(5)
        await service.cancel_run("default", "demo", second.task.id, again_ok=False)
        assert (len(service._live), service._lanes._lanes) == (0, {})


# Agents that are replaced.


def replaced_by(service: RunService, agent: Agent, *, timeout_s: float = 60) -> None:
    target = Target(name="demo", adapter="scripted", target="", timeout_s=timeout_s)
    service.replace_runtimes({"demo": Runtime(target, agent)})


async def test_a_run_keeps_the_agent_that_it_began_with_and_the_next_one_has_the_new() -> None:
    gate = Gate()
    old, new = ScriptedAgent([gate, Complete(text="old")]), ScriptedAgent([Complete(text="new")])
    async with serving(old) as service:
        first = await service.submit_run(request(context="c1"))
        await gate.reached()
        replaced_by(service, new)
        other = await ask(service, context="c2")
        gate.open()
        assert answer_text((await first.settled(5)).artifacts) == "old"
        assert answer_text(other.artifacts) == "new"


async def test_a_replaced_agent_is_idle_when_its_last_run_has_ended_and_not_before() -> None:
    gate = Gate()
    old = ScriptedAgent([gate, Complete()], [Complete(text="waited")])
    async with serving(old) as service:
        first = await service.submit_run(request(context="c1"))
        waiting = await service.submit_run(request(context="c1"))
        await gate.reached()
        replaced_by(service, ScriptedAgent())
        idle = asyncio.ensure_future(service.idle(old))
        await asyncio.sleep(0)
        assert not idle.done()
        gate.open()
        await idle
        assert first.has_ended
        assert answer_text((await waiting.settled(5)).artifacts) == "waited"
        await service.idle(old)


async def test_a_pause_is_answered_by_the_agent_that_is_there_now() -> None:
    old, new = ScriptedAgent([ASK]), ScriptedAgent([Complete(text="done")])
    async with serving(old) as service:
        task = await paused(service)
        replaced_by(service, new)
        await service.idle(old)
        assert answer_text((await ask(service, "yes", task=task.id)).artifacts) == "done"
    assert new.turns[0].answers


async def test_the_tasks_of_an_agent_that_is_gone_can_be_read_and_take_no_messages() -> None:
    async with serving(ScriptedAgent([ASK])) as service:
        task = await paused(service)
        service.replace_runtimes({})
        for names in ({"task": task.id}, {"context": "c1"}, {"context": "other"}):
            with pytest.raises(AgentIsGone):
                await service.submit_run(request(**names))
        assert (await service.get("default", "demo", task.id)).status.state is TaskState.INPUT_REQUIRED
        subscription = await service.subscribe("default", "demo", task.id, after_seq=None, ended_ok=False)
        canceled = await service.cancel_run("default", "demo", task.id, again_ok=False)
        assert canceled.status.state is TaskState.CANCELED
        assert rebuilt(await heard(subscription)).status.state is TaskState.CANCELED


async def test_a_run_whose_agent_is_gone_goes_on_and_can_be_canceled() -> None:
    gate = Gate()
    agent = ScriptedAgent([gate])
    async with serving(agent) as service:
        run = await service.submit_run(request())
        await gate.reached()
        service.replace_runtimes({})
        await service.cancel_run("default", "demo", run.task.id, again_ok=False)
        await service.idle(agent)
    assert len(agent.cancelled) == 1
