"""The run service against a scripted agent and a store in memory: what a run makes of its task."""

from collections.abc import AsyncGenerator

from tests.unit.runs.serving import ask, heard, rebuilt, request, serving, status_text

from llamon_agent.domain.events import (
    AgentEvent,
    ArtifactMade,
    ArtifactUpdate,
    Complete,
    Delta,
    Progress,
    Rejected,
    SeedOutcome,
    Snapshot,
    Started,
    StatusUpdate,
)
from llamon_agent.domain.message import Data, Text
from llamon_agent.domain.task import Artifact, TaskState, answer_text
from llamon_agent.runs.ports.agent import Turn
from llamon_agent.runs.ports.run import Limits
from llamon_agent.store.memory import MemoryTaskStore
from llamon_agent.testing.scripted import Gate, ScriptedAgent, Step


async def test_deltas_become_one_text_artifact() -> None:
    async with serving(ScriptedAgent([Delta(text="Hel"), Delta(text="lo"), Complete()])) as service:
        task = await ask(service)
    assert task.status.state is TaskState.COMPLETED
    assert task.artifacts == (Artifact(artifact_id="answer-1", parts=(Text.of("Hello"),)),)


async def test_text_that_cannot_be_written_is_made_writable() -> None:
    async with serving(ScriptedAgent([Delta(text="한\ud800글"), Complete()], [Complete(text="\udfff")])) as service:
        assert answer_text((await ask(service)).artifacts) == "한\ufffd글"
        assert answer_text((await ask(service)).artifacts) == "\ufffd"


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
        task = await run.wait_settled(5)
    assert [artifact.artifact_id for artifact in task.artifacts] == ["table", "answer-1"]
    assert task.artifacts[0] == second
    wholes = [event.whole for event in events if isinstance(event, ArtifactUpdate) and event.artifact_id == "table"]
    assert wholes == [first, second]


async def test_artifacts_are_kept_in_the_order_in_which_they_were_told() -> None:
    table = Artifact(artifact_id="table", parts=(Data(data=[1]),))
    script: list[Step] = [Delta(text="see"), ArtifactMade(artifact=table), Delta(text=" this"), Complete()]
    async with serving(ScriptedAgent(script)) as service:
        run = await service.submit_run(request())
        events = await heard(run.follow())
        task = await run.wait_settled(5)
    told = [event.artifact_id for event in events if isinstance(event, ArtifactUpdate)]
    assert list(dict.fromkeys(told)) == ["answer-1", "table"]
    assert [artifact.artifact_id for artifact in task.artifacts] == ["answer-1", "table"]
    assert answer_text(task.artifacts) == "see this"


async def test_a_stream_rebuilds_an_artifact_that_came_in_pieces() -> None:
    def piece(text: str, *, append: bool, last: bool) -> ArtifactMade:
        artifact = Artifact(artifact_id="log", parts=(Text.of(text),))
        return ArtifactMade(artifact=artifact, append=append, last=last)

    for closed in (True, False):
        script: list[Step] = [
            piece("chunk-1 ", append=True, last=False),
            Delta(text="see"),
            piece("chunk-2", append=True, last=closed),
            Complete(),
        ]
        async with serving(ScriptedAgent(script)) as service:
            run = await service.submit_run(request())
            events = await heard(run.follow())
            task = await run.wait_settled(5)
        assert [answer_text([artifact]) for artifact in task.artifacts] == ["chunk-1 chunk-2", "see"]
        assert rebuilt(events).artifacts == task.artifacts
        updates = [event for event in events if isinstance(event, ArtifactUpdate) and event.artifact_id == "log"]
        assert [update.last for update in updates] == [False, closed]
        assert [event.seq for event in events[1:] if not isinstance(event, Snapshot)] == list(range(2, task.seq + 1))


async def test_an_agent_may_reject_a_task_and_what_it_said_is_marked_as_cut_off() -> None:
    agent = ScriptedAgent([Rejected(public="Not mine.")], [Delta(text="half"), Rejected(public="No.")])
    async with serving(agent) as service:
        at_once, midway = await ask(service), await ask(service)
    assert (at_once.status.state, status_text(at_once), at_once.artifacts) == (TaskState.REJECTED, "Not mine.", ())
    assert at_once.history[-1] == at_once.status.message
    assert (midway.status.state, midway.artifacts[0].metadata) == (TaskState.REJECTED, {"incomplete": True})


async def test_what_became_of_the_history_is_told_in_the_metadata() -> None:
    seeded = Started(history=SeedOutcome(seeded=3, skipped=1, reason="cold_start"))
    async with serving(ScriptedAgent([seeded, Complete(text="x")], [Started(), Complete(text="y")])) as service:
        told = await ask(service)
        silent = await ask(service)
    assert told.metadata == {"history": {"seeded": 3, "skipped": 1, "reason": "cold_start"}}
    assert silent.metadata is None


async def test_a_call_that_waits_too_briefly_gets_the_working_task() -> None:
    gate = Gate()
    script: list[Step] = [Delta(text="so far"), Progress(text="thinking"), gate, Complete()]
    async with serving(ScriptedAgent(script)) as service:
        run = await service.submit_run(request())
        await gate.reached()
        task = await run.wait_settled(0.01)
        assert (task.status.state, answer_text(task.artifacts)) == (TaskState.WORKING, "so far")
        gate.open()
        assert (await run.wait_settled(5)).status.state is TaskState.COMPLETED


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
        task = await run.wait_settled(5)
    assert recorded is not None
    assert (recorded.status.state, answer_text(recorded.artifacts)) == (TaskState.WORKING, "abc")
    assert answer_text(task.artifacts) == "abc"


async def test_a_note_that_cannot_be_written_is_made_writable() -> None:
    gate = Gate()
    async with serving(ScriptedAgent([Progress(text="half \ud83d"), gate, Complete()])) as service:
        run = await service.submit_run(request())
        await gate.reached()
        assert status_text(run.task) == "half \ufffd"
        gate.open()
