"""The caller of each message reaches the agent with it, on every path that a message can take."""

from pathlib import Path

from tests.unit.runs.serving import ASK, ask, paused, request, serving
from tests.unit.runs.test_service_leases import at_its_end, opened, process

from llamon_agent.domain.caller import Caller, Private
from llamon_agent.domain.events import Complete
from llamon_agent.domain.task import TaskState
from llamon_agent.testing.scripted import Gate, ScriptedAgent

ANN = Caller(
    principal="ann", scopes=("read",), claims=Private({"sub": "c4nary"}), headers=Private({"x-user-id": "c4nary"})
)
ANN_AGAIN = Caller(principal="ann", headers=Private({"x-user-id": "later"}))


def written_in(folder: Path) -> bytes:
    return b"".join(each.read_bytes() for each in folder.iterdir())


async def test_a_new_message_brings_its_caller() -> None:
    agent = ScriptedAgent([Complete()])
    async with serving(agent) as service:
        await ask(service, caller=ANN)
    assert [turn.caller for turn in agent.turns] == [ANN]


async def test_an_answer_brings_the_caller_that_answers() -> None:
    agent = ScriptedAgent([ASK], [Complete()])
    async with serving(agent) as service:
        task = await paused(service, caller=ANN)
        await ask(service, "yes", task=task.id, caller=ANN_AGAIN)
    assert [turn.caller for turn in agent.turns] == [ANN, ANN_AGAIN]


async def test_a_message_that_waited_brings_its_own_caller() -> None:
    gate = Gate()
    agent = ScriptedAgent([gate, Complete()], [Complete()])
    async with serving(agent) as service:
        await service.submit_run(request(context="c1", caller=ANN))
        waiting = await service.submit_run(request(context="c1", caller=ANN_AGAIN))
        await gate.reached()
        gate.open()
        await waiting.wait_settled(5)
    assert [turn.caller for turn in agent.turns] == [ANN, ANN_AGAIN]


async def test_after_a_restart_the_caller_is_known_and_what_it_brought_is_not(tmp_path: Path) -> None:
    path, gate = tmp_path / "tasks.sqlite", Gate()
    taken = ScriptedAgent([Complete()], [Complete()], survives_restart=True)
    old = ScriptedAgent([gate], survives_restart=True)
    async with opened(path) as store, serving(old, store, ids="old") as service:
        await service.start()
        runs = [await service.submit_run(request(context="c1", caller=ANN)) for _ in range(2)]
        await gate.reached()
        assert b"c4nary" not in written_in(tmp_path)
        async with process(path, taken) as next_service:
            for run in runs:
                ended = await at_its_end(next_service, run.task.id, owner="ann")
                assert ended.status.state is TaskState.COMPLETED
        gate.open()
    assert [turn.caller for turn in taken.turns] == [Caller(principal="ann", scopes=("read",))] * 2
