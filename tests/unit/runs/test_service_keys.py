"""One key, one task: however often, from wherever, and whatever became of it."""

import asyncio
from pathlib import Path

import pytest
from tests.unit.runs.serving import ASK, FlakyStore, ask, heard, paused, request, serving

from llamon_agent.domain.caller import Caller
from llamon_agent.domain.errors import BackendError, BadParams
from llamon_agent.domain.events import Complete, Reply
from llamon_agent.domain.message import Text
from llamon_agent.domain.task import TaskQuery, TaskState, answer_text
from llamon_agent.runs.ports.run import Limits
from llamon_agent.store.sqlite.store import SqliteTaskStore
from llamon_agent.testing.scripted import Gate, ScriptedAgent

MINE = TaskQuery(owner="default", agent="demo")


async def test_a_repeat_is_given_the_run_while_it_lives_and_the_task_when_it_has_ended() -> None:
    gate = Gate()
    agent = ScriptedAgent([gate, Complete(text="once")])
    async with serving(agent) as service:
        first = await service.submit_run(request(key="k"))
        await gate.reached()
        assert await service.submit_run(request(key="k")) is first
        gate.open()
        task = await first.wait_settled(5)
        repeated = await service.submit_run(request(key="k"))
        assert (await repeated.wait_settled(5), repeated.task) == (task, task)
        assert [event.task for event in await heard(repeated.follow())] == [task]  # type: ignore[union-attr]
        assert (await service.list(MINE)).total == 1
    assert len(agent.turns) == 1


async def test_repeats_at_once_are_one_task() -> None:
    store = FlakyStore()
    store.creating = Gate()
    async with serving(ScriptedAgent([Complete(text="once")]), store) as service:
        repeats = [asyncio.ensure_future(service.submit_run(request(key="k", context="c1"))) for _ in range(5)]
        await store.creating.reached()
        store.creating.open()
        tasks = [await (await repeat).wait_settled(5) for repeat in repeats]
        assert {task.id for task in tasks} == {tasks[0].id}
        assert (await service.list(MINE)).total == 1


async def test_a_key_that_was_used_for_another_message_is_refused() -> None:
    async with serving(ScriptedAgent([Complete()])) as service:
        await ask(service, "one", key="k")
        with pytest.raises(BadParams, match="idempotency key"):
            await service.submit_run(request("two", key="k"))


async def test_a_key_is_its_owners_alone() -> None:
    async with serving(ScriptedAgent([Complete()], [Complete()])) as service:
        mine, theirs = [await ask(service, caller=Caller(principal=name), key="k") for name in ("ann", "bob")]
    assert mine.id != theirs.id


async def test_an_answer_is_taken_once_too() -> None:
    gate = Gate()
    agent = ScriptedAgent([ASK], [gate, Complete(text="done")])
    async with serving(agent) as service:
        asked = await paused(service)
        first = await service.submit_run(request("yes", task=asked.id, key="k"))
        await gate.reached()
        assert await service.submit_run(request("yes", task=asked.id, key="k")) is first
        gate.open()
        task = await first.wait_settled(5)
        assert await ask(service, "yes", task=asked.id, key="k") == task
    assert len(agent.turns) == 2


async def test_a_question_is_asked_again_of_who_repeats_and_its_pause_stays() -> None:
    async with serving(ScriptedAgent([ASK], [Complete(text="done")])) as service:
        asked = await ask(service, key="k")
        repeated = await service.submit_run(request(key="k"))
        assert await repeated.wait_settled(5) == asked
        assert len(await heard(repeated.follow())) == 1
        assert (await ask(service, "yes", task=asked.id)).status.state is TaskState.COMPLETED


async def test_a_key_stands_for_a_task_even_where_messages_answer() -> None:
    agent = ScriptedAgent([Reply(parts=(Text.of("hello"),))])
    async with serving(agent, direct_messages=True) as service:
        run = await service.submit_run(request(key="k"))
        assert run.reply is None
        task = await run.wait_settled(5)
        assert answer_text(task.artifacts) == "hello"
        assert await ask(service, key="k") == task


async def test_a_message_that_was_refused_is_not_remembered() -> None:
    store = FlakyStore()
    async with serving(ScriptedAgent([Complete(text="x")]), store) as service:
        store.away = True
        with pytest.raises(BackendError):
            await service.submit_run(request(key="k"))
        store.away = False
        assert answer_text((await ask(service, key="k")).artifacts) == "x"


@pytest.mark.parametrize("ends", [False, True])
async def test_a_repeat_that_reaches_another_process_waits_for_the_same_task(tmp_path: Path, ends: bool) -> None:
    gate = Gate()
    stores = [SqliteTaskStore.open(tmp_path / "tasks", durability="normal") for _ in range(2)]
    limits = Limits(snapshot_every_s=0.01)
    async with (
        serving(ScriptedAgent([gate, Complete(text="once")]), stores[0], limits=limits) as one,
        serving(ScriptedAgent(), stores[1], limits=limits, ids="other") as other,
    ):
        await one.start()
        await other.start()
        run = await one.submit_run(request(key="k"))
        repeated = await other.submit_run(request(key="k"))
        assert repeated.task == run.task
        if ends:
            gate.open()
            task = await run.wait_settled(5)
            assert await repeated.wait_settled(5) == task
        else:
            await other.drain(0)
            with pytest.raises(BackendError):
                await repeated.wait_settled(5)
    for store in stores:
        await store.close()


async def test_of_repeats_at_two_processes_at_once_one_makes_the_task(tmp_path: Path) -> None:
    stores = [SqliteTaskStore.open(tmp_path / "tasks", durability="normal") for _ in range(2)]
    agents = [ScriptedAgent([Complete(text="x")]) for _ in stores]
    limits = Limits(snapshot_every_s=0.01)
    async with (
        serving(agents[0], stores[0], limits=limits, ids="a") as one,
        serving(agents[1], stores[1], limits=limits, ids="b") as other,
    ):
        await one.start()
        await other.start()
        runs = await asyncio.gather(*[service.submit_run(request(key="k")) for service in (one, other)])
        tasks = [await run.wait_settled(5) for run in runs]
        assert tasks[0].id == tasks[1].id
        assert (await one.list(MINE)).total == 1
    assert sum(len(agent.turns) for agent in agents) == 1
    for store in stores:
        await store.close()


async def test_whoever_stops_waiting_while_the_task_is_recorded_leaves_a_task_that_goes_on() -> None:
    store = FlakyStore()
    store.creating = Gate()
    async with serving(ScriptedAgent([Complete(text="x")]), store) as service:
        leaving = asyncio.ensure_future(service.submit_run(request(key="k")))
        await store.creating.reached()
        leaving.cancel()
        store.creating.open()
        with pytest.raises(asyncio.CancelledError):
            await leaving
        assert answer_text((await ask(service, key="k")).artifacts) == "x"
