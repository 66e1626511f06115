"""The webhooks of tasks, on real sockets: registered, told, replaced, deleted, and found again after a restart."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.unit.inbound.a2a.push.receiver import BROKEN, GONE, OK, SILENT, Hook, receiving
from tests.unit.inbound.a2a.push.test_delivery import states_10
from tests.unit.inbound.a2a.push.test_guard import Names
from tests.unit.runs.serving import ASK, ask, paused, request

from llamon_agent.domain.errors import BackendError, BadParams, TaskNotFound
from llamon_agent.domain.events import Complete, Delta, Progress
from llamon_agent.domain.task import PushConfig, Task, TaskPushConfig
from llamon_agent.inbound.a2a.push.guard import AddressGuard
from llamon_agent.inbound.a2a.push.sender import Sender
from llamon_agent.inbound.a2a.push.webhooks import Webhooks
from llamon_agent.runs.ports.run import Limits, Runtime, Target
from llamon_agent.runs.ports.store import Store
from llamon_agent.runs.service import RunService
from llamon_agent.store.memory import MemoryTaskStore
from llamon_agent.store.sqlite.store import SqliteTaskStore
from llamon_agent.testing.scripted import Gate, HandClock, ScriptedAgent, Step, counting_ids

OWNER = ("default", "demo")


class Edge(msgspec.Struct):
    """What a test holds in its hands. Shape: pauses are those between the attempts, which take no time here."""

    runs: RunService
    store: Store
    hooks: Webhooks
    pauses: list[float]

    async def begin(self, text: str = "hi", **names: Any) -> Task:
        return (await self.runs.submit_run(request(text, **names))).task

    async def begin_with(self, config: PushConfig, text: str = "hi", **names: Any) -> Task:
        """A message with a configuration in it."""
        self.hooks.check(config)
        run = await self.runs.submit_run(request(text, **names))
        await self.hooks.register(run.task, config)
        return run.task

    async def ids(self, task: Task) -> list[str]:
        return [config.id for config in await self.hooks.list(*OWNER, task.id)]


@asynccontextmanager
async def edge(
    *scripts: Sequence[Step], store: Store | None = None, allow: Sequence[str] = ("127.0.0.1",), timeout_s: float = 5
) -> AsyncIterator[Edge]:
    kept = store or MemoryTaskStore()
    runtimes = {"demo": Runtime(Target(name="demo", adapter="scripted", target=""), ScriptedAgent(*scripts))}
    runs = RunService(kept, runtimes, clock=HandClock(), new_id=counting_ids(), limits=Limits(cancel_grace_s=5))
    guard, pauses = AddressGuard(allow, Names([])), list[float]()

    async def pause(seconds: float) -> None:
        pauses.append(seconds)
        await asyncio.sleep(0)

    webhooks = Webhooks(
        runs,
        kept,
        new_id=counting_ids("hook"),
        guard=guard,
        sender=Sender(guard, timeout_s=timeout_s),
        max_per_task=3,
        pause=pause,
    )
    async with asyncio.timeout(10), webhooks, runs:
        await runs.start()
        await webhooks.catch_up()
        yield Edge(runs, kept, webhooks, pauses)


def hook_at(url: str, **more: Any) -> PushConfig:
    return PushConfig(**{"id": "", "url": url, "version": "1.0", **more})


def said(hooks: Sequence[Hook]) -> list[str]:
    return states_10([hook.json for hook in hooks])


def has_ended(hooks: Sequence[Hook]) -> bool:
    return bool(hooks) and "completed" in hooks[-1].body.decode().lower()


# --- what is told -----------------------------------------------------------------------------------------------------


async def test_a_hook_that_comes_with_a_message_misses_nothing_of_a_fast_agent() -> None:
    async with receiving() as receiver, edge([Delta(text="Hi"), Complete()]) as here:
        task = await here.begin_with(hook_at(receiver.url, schemes=("Bearer",), credentials="s3", token="t"))
        hooks = await receiver.until(has_ended)
        assert said(hooks) == ["task: working", "Hi", "statusUpdate: completed"]
        assert {hook.headers["authorization"] for hook in hooks} == {"Bearer s3"}
        assert {hook.headers["x-a2a-notification-token"] for hook in hooks} == {"t"}
        assert {hook.headers["content-type"] for hook in hooks} == {"application/a2a+json"}
        assert hooks[0].json["task"]["id"] == task.id


async def test_a_hook_of_0_3_is_sent_tasks_whatever_else_the_task_has() -> None:
    async with receiving() as old, receiving() as new, edge([Complete()]) as here:
        task = await here.begin()
        await asyncio.gather(
            here.hooks.register(task, hook_at(old.url, version="0.3")), here.hooks.register(task, hook_at(new.url))
        )
        assert [hook.json["status"]["state"] for hook in await old.until(has_ended)][-1] == "completed"
        assert {hook.json["kind"] for hook in old.hooks} == {"task"}
        assert {hook.headers["content-type"] for hook in old.hooks} == {"application/json"}
        assert said(await new.until(has_ended))[-1].endswith(": completed")


async def test_a_hook_that_is_set_later_is_sent_what_it_came_too_late_for() -> None:
    async with receiving() as receiver, edge([ASK], [Complete()]) as here:
        task = await paused(here.runs)
        await here.hooks.register(task, hook_at(receiver.url))
        await receiver.heard(1)
        await ask(here.runs, "yes", task=task.id)
        assert said(await receiver.until(has_ended)) == [
            *("task: input_required", "statusUpdate: working", "statusUpdate: completed")
        ]


async def test_a_hook_of_a_task_that_has_ended_is_sent_that_once() -> None:
    async with receiving() as receiver, edge([Complete()]) as here:
        task = await ask(here.runs)
        await here.hooks.register(task, hook_at(receiver.url))
        assert said(await receiver.heard(1)) == ["task: completed"]
        assert await here.ids(task) == ["hook-1"]


async def test_a_hook_is_sent_a_cancel() -> None:
    async with receiving() as receiver, edge([Gate()]) as here:
        task = await here.begin_with(hook_at(receiver.url))
        await receiver.heard(1)
        await here.runs.cancel_run(*OWNER, task.id, again_ok=True)
        assert said(await receiver.heard(2)) == ["task: working", "statusUpdate: canceled"]


async def test_a_receiver_in_trouble_is_tried_again_and_one_that_refuses_is_not() -> None:
    async with receiving() as receiver, edge([Delta(text="Hi"), Complete()]) as here:
        receiver.answers = [BROKEN, OK, GONE, OK]
        await here.begin_with(hook_at(receiver.url))
        assert said(await receiver.until(has_ended)) == ["task: working", "task: working", "Hi", "task: completed"]
        assert here.pauses == [1.0]


async def test_a_slow_receiver_and_a_dead_one_harm_no_other() -> None:
    async with receiving() as dead:
        nobody = dead.url
    async with receiving() as slow, receiving() as well, edge([Progress(text="a"), Complete()]) as here:
        slow.answers = [SILENT]
        task = await here.begin_with(hook_at(slow.url))
        for url in (nobody, well.url):
            await here.hooks.register(task, hook_at(url))
        assert said(await well.until(has_ended))[-1].endswith(": completed")
        assert (await here.runs.get(*OWNER, task.id)).is_terminal
        assert len(slow.hooks) == 1


async def test_a_delivery_that_breaks_is_logged_and_harms_no_other(caplog: pytest.LogCaptureFixture) -> None:
    store = MemoryTaskStore()
    async with edge([ASK], store=store) as here:
        task = await paused(here.runs)
    config = hook_at("an address of another version", id="lost")
    await store.put_push(TaskPushConfig(owner=task.owner, agent=task.agent, task_id=task.id, config=config))
    async with receiving() as receiver, edge([Complete()], store=store) as here:
        await here.begin_with(hook_at(receiver.url), "yes", task=task.id)
        await receiver.until(has_ended)
    assert "the delivery to a webhook broke" in caplog.text


async def test_a_hook_whose_task_is_not_found_any_more_is_no_error(caplog: pytest.LogCaptureFixture) -> None:
    store = MemoryTaskStore()
    async with edge([ASK], store=store) as here:
        task = await paused(here.runs)
    config = hook_at("http://127.0.0.1/", id="lost")
    await store.put_push(TaskPushConfig(owner="someone", agent="demo", task_id=task.id, config=config))
    async with receiving() as receiver, edge([Complete()], store=store) as here:
        await here.begin_with(hook_at(receiver.url), "yes", task=task.id)
        await receiver.until(has_ended)
    assert "the task is deleted" in caplog.text
    assert "broke" not in caplog.text


async def test_what_waits_to_be_sent_of_an_ended_task_is_read_when_there_is_room() -> None:
    class Counting(MemoryTaskStore):
        reads = 0

        async def get(self, owner: str, agent: str, task_id: str) -> Task | None:
            self.reads += 1
            return await super().get(owner, agent, task_id)

    store = Counting()
    async with receiving() as receiver, edge([Complete()], store=store) as here:
        receiver.answers = [SILENT]
        task = await (await here.runs.submit_run(request())).wait_settled(5)
        for number in range(20):
            config = hook_at(receiver.url, id=f"{number}")
            await store.put_push(TaskPushConfig(owner=task.owner, agent=task.agent, task_id=task.id, config=config))
        store.reads = 0
        await here.hooks.catch_up()
        await receiver.heard(8)
        assert store.reads == 20 + 8


# --- which there are --------------------------------------------------------------------------------------------------


async def test_an_id_that_is_left_to_us_is_the_tasks_in_0_3_and_a_new_one_in_1_0() -> None:
    async with edge([ASK]) as here:
        task = await paused(here.runs)
        old = await here.hooks.register(task, hook_at("https://hooks.invalid/a", version="0.3"))
        new = await here.hooks.register(task, hook_at("https://hooks.invalid/b"))
        own = await here.hooks.register(task, hook_at("https://hooks.invalid/c", id="my own"))
        assert (old.id, new.id, own.id) == (task.id, "hook-1", "my own")
        assert await here.hooks.get(*OWNER, task.id, None) == old
        assert await here.hooks.get(*OWNER, task.id, "my own") == own
        assert await here.hooks.list(*OWNER, task.id) == tuple(sorted([old, new, own], key=lambda each: each.id))


async def test_without_one_that_has_the_tasks_id_the_first_is_the_one_without_a_name() -> None:
    async with edge([ASK]) as here:
        task = await paused(here.runs)
        for name in ("b", "a"):
            await here.hooks.register(task, hook_at("https://hooks.invalid/", id=name))
        assert (await here.hooks.get(*OWNER, task.id, None)).id == "a"


async def test_a_hook_that_comes_with_every_message_stays_one_hook() -> None:
    async with receiving() as receiver, edge([ASK], [Complete()]) as here:
        task = await here.begin_with(hook_at(receiver.url))
        await receiver.heard(2)
        await here.begin_with(hook_at(receiver.url), "yes", task=task.id)
        assert await here.ids(task) == ["hook-1"]
        assert said(await receiver.until(has_ended)) == [
            *("task: working", "statusUpdate: input_required", "task: working", "statusUpdate: completed")
        ]


async def test_a_hook_with_the_id_of_another_takes_its_place() -> None:
    async with receiving() as before, receiving() as after, edge([ASK], [Complete()]) as here:
        task = await paused(here.runs)
        await here.hooks.register(task, hook_at(before.url, id="a"))
        await before.heard(1)
        await here.hooks.register(task, hook_at(after.url, id="a"))
        await ask(here.runs, "yes", task=task.id)
        assert said(await after.until(has_ended))[-1] == "statusUpdate: completed"
        assert (len(before.hooks), await here.ids(task)) == (1, ["a"])


@pytest.mark.parametrize("answer", [OK, SILENT])
async def test_a_deleted_hook_is_sent_nothing_more_even_during_a_post(answer: bytes | None) -> None:
    async with receiving() as receiver, receiving() as other, edge([ASK], [Complete()]) as here:
        task = await paused(here.runs)
        receiver.answers = [answer]
        gone = await here.hooks.register(task, hook_at(receiver.url))
        await receiver.heard(1)
        for _ in range(2):  # the second time there is none, which is fine
            await here.hooks.delete(*OWNER, task.id, gone.id)
        await here.hooks.register(task, hook_at(other.url))
        await ask(here.runs, "yes", task=task.id)
        await other.until(has_ended)
        assert (len(receiver.hooks), len(await here.ids(task))) == (1, 1)


async def test_of_hooks_that_are_set_at_once_only_the_last_is_used_and_none_leaks_a_reader() -> None:
    async with receiving() as receiver, edge([ASK]) as here:
        task = await paused(here.runs)
        setting = [here.hooks.register(task, hook_at(f"{receiver.url}{n}", id="a")) for n in range(3)]
        *_, last = await asyncio.gather(*setting)
        assert [hook.target for hook in await receiver.heard(1)] == ["/hook2"]
        assert await here.hooks.list(*OWNER, task.id) == (last,)
        await here.hooks.delete(*OWNER, task.id, "a")
        assert len(here.runs._registry.tasks) == 0  # a reader would keep the paused task in memory


async def test_a_task_has_so_many_hooks_and_no_more(tmp_path: Path) -> None:
    async with kept_in(tmp_path / "tasks") as store, edge([ASK], store=store) as here:
        task = await paused(here.runs)
        setting = [here.hooks.register(task, hook_at("https://hooks.invalid/", id=name)) for name in "abcde"]
        outcomes = await asyncio.gather(*setting, return_exceptions=True)
        assert [type(outcome) for outcome in outcomes] == [PushConfig] * 3 + [BadParams] * 2
        await here.hooks.register(task, hook_at("https://hooks.invalid/other", id="a"))
        assert await here.ids(task) == ["a", "b", "c"]


@pytest.mark.parametrize("owner", [("bob", "demo"), ("default", "other")])
async def test_the_hooks_of_anothers_task_are_those_of_no_task(owner: tuple[str, str]) -> None:
    async with edge([ASK]) as here:
        task = await paused(here.runs)
        kept = await here.hooks.register(task, hook_at("https://hooks.invalid/"))
        for task_id in (task.id, "nobody's"):
            for call in (
                here.hooks.get(*owner, task_id, kept.id),
                here.hooks.list(*owner, task_id),
                here.hooks.delete(*owner, task_id, kept.id),
            ):
                with pytest.raises(TaskNotFound) as raised:
                    await call
                assert raised.value.public == TaskNotFound.public
        assert await here.ids(task) == [kept.id]


async def test_a_hook_that_is_not_there_is_not_found() -> None:
    async with edge([ASK]) as here:
        task = await paused(here.runs)
        for config_id in ("a", None):
            with pytest.raises(TaskNotFound) as raised:
                await here.hooks.get(*OWNER, task.id, config_id)
            assert raised.value.public == "The task has no such push notification configuration."


@pytest.mark.parametrize(
    "config", [hook_at("file:///x"), hook_at("http://10.0.0.1/"), hook_at("https://h/", token="a\r\nb")]
)
async def test_what_cannot_be_kept_is_refused_before_and_at_registration(config: PushConfig) -> None:
    async with edge([ASK]) as here:
        task = await paused(here.runs)
        with pytest.raises(BadParams):
            here.hooks.check(config)
        with pytest.raises(BadParams):
            await here.hooks.register(task, config)
        assert await here.ids(task) == []


class NoRoom(MemoryTaskStore):
    """A store that takes no webhooks."""

    async def put_push(self, push: TaskPushConfig) -> None:
        raise BackendError


async def test_a_hook_that_cannot_be_stored_is_not_used_and_leaks_no_reader() -> None:
    async with receiving() as receiver, edge([ASK], store=NoRoom()) as here:
        task = await paused(here.runs)
        with pytest.raises(BackendError):
            await here.hooks.register(task, hook_at(receiver.url))
        assert receiver.hooks == []
        assert len(here.runs._registry.tasks) == 0  # a reader would keep the paused task in memory


# --- across restarts --------------------------------------------------------------------------------------------------


@asynccontextmanager
async def kept_in(path: Path) -> AsyncIterator[Store]:
    store = SqliteTaskStore.open(path, durability="normal")
    yield store
    await store.close()


async def test_what_a_restart_interrupted_is_sent_by_the_next_process(tmp_path: Path) -> None:
    async with receiving() as receiver:
        receiver.answers = [SILENT]
        async with kept_in(tmp_path / "tasks") as store, edge([Gate()], store=store) as here:
            await here.begin_with(hook_at(receiver.url))
            await receiver.heard(1)
        receiver.answers = [OK]
        async with kept_in(tmp_path / "tasks") as store, edge(store=store):
            assert said(await receiver.heard(2)) == ["task: working", "task: failed"]


async def test_a_paused_tasks_hook_goes_on_after_a_restart_with_only_what_is_new(tmp_path: Path) -> None:
    async with receiving() as receiver:
        async with kept_in(tmp_path / "tasks") as store, edge([ASK], store=store) as here:
            task = await here.begin_with(hook_at(receiver.url))
            await receiver.heard(2)
        async with kept_in(tmp_path / "tasks") as store, edge([Complete()], store=store) as here:
            await ask(here.runs, "yes", task=task.id)
            assert said(await receiver.until(has_ended)) == [
                *("task: working", "statusUpdate: input_required", "statusUpdate: working", "statusUpdate: completed")
            ]


async def test_a_hook_that_was_sent_the_end_is_sent_nothing_after_a_restart(tmp_path: Path) -> None:
    async with receiving() as receiver, receiving() as other:
        async with kept_in(tmp_path / "tasks") as store, edge([Complete()], store=store) as here:
            await here.begin_with(hook_at(receiver.url))
            await receiver.until(has_ended)
            count = len(receiver.hooks)
        async with kept_in(tmp_path / "tasks") as store, edge([Complete()], store=store) as here:
            await here.begin_with(hook_at(other.url))
            await other.until(has_ended)
            assert len(receiver.hooks) == count


async def test_what_happens_to_a_run_as_the_edge_stops_is_still_sent() -> None:
    async with receiving() as receiver:
        async with edge([Gate()]) as here:
            await here.begin_with(hook_at(receiver.url))
            await receiver.heard(1)
        assert said(receiver.hooks) == ["task: working", "statusUpdate: failed"]


async def test_leaving_does_not_wait_for_a_silent_receiver() -> None:
    async with receiving() as receiver:
        receiver.answers = [SILENT]
        async with asyncio.timeout(3), edge([Complete()], timeout_s=60) as here:
            await here.begin_with(hook_at(receiver.url))
            await receiver.heard(1)
        assert len(await here.store.undelivered()) == 1
