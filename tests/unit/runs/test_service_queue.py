"""One run per context: who goes, who waits, who is refused."""

import pytest
from tests.unit.runs.serving import ASK, ask, heard, request, serving

from llamon_agent.domain.caller import Caller
from llamon_agent.domain.errors import AgentError, ContextIsBusy
from llamon_agent.domain.events import ArtifactUpdate, Complete, Snapshot
from llamon_agent.domain.task import TaskState, answer_text
from llamon_agent.runs.ports.run import Limits
from llamon_agent.store.memory import MemoryTaskStore
from llamon_agent.testing.scripted import Gate, ScriptedAgent, Step


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
        assert (await first.wait_settled(5)).status.state is TaskState.COMPLETED
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
        for names in ({"context": "c1"}, {"context": "c2"}, {"context": "c1", "caller": Caller(principal="alice")}):
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
        assert [(await run.wait_settled(5)).status.state for run in runs] == [TaskState.COMPLETED] * 2
    assert len(store._tasks) == 2


async def test_a_waiting_message_is_no_answer_to_a_question_asked_later() -> None:
    agent = ScriptedAgent([ASK], [Complete(text="answered")], [Complete(text="waited")])
    async with serving(agent) as service:
        first = await service.submit_run(request("ask", context="c1"))
        second = await service.submit_run(request("later", context="c1"))
        assert (await first.wait_settled(5)).status.state is TaskState.INPUT_REQUIRED
        assert second.task.status.state is TaskState.SUBMITTED
        answered = await ask(service, "yes", task=first.task.id)
        assert answer_text(answered.artifacts) == "answered"
        assert answer_text((await second.wait_settled(5)).artifacts) == "waited"
    assert [(turn.prompt, turn.answers) for turn in agent.turns] == [("ask", False), ("yes", True), ("later", False)]


async def test_a_failed_run_lets_the_next_one_go() -> None:
    agent = ScriptedAgent([AgentError("no")], [Complete(text="ok")])
    async with serving(agent) as service:
        runs = [await service.submit_run(request(context="c1")) for _ in range(2)]
        assert [(await run.wait_settled(5)).status.state for run in runs] == [TaskState.FAILED, TaskState.COMPLETED]


async def test_a_pause_that_only_a_canceled_message_waited_behind_is_forgotten() -> None:
    async with serving(ScriptedAgent([ASK])) as service:
        first = await service.submit_run(request(context="c1"))
        second = await service.submit_run(request(context="c1"))
        await first.wait_settled(5)
        await service.cancel_run("default", "demo", second.task.id, again_ok=False)
        assert (len(service._registry.tasks), len(service._registry.queues)) == (0, 0)
