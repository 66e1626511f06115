"""Real faults of what tasks and threads are kept in, under runs that go on: what callers get, what the log says, that
tasks end honestly, and that nothing has to be restarted where that can be.

What needs a process of its own is in `tests/e2e/test_storage_faults.py`.
"""

import asyncio
import logging
import os
import shutil
import sqlite3
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langgraph.graph import MessagesState
from psycopg import sql
from pydantic import SecretStr
from tests.postgres_server import PostgresServer
from tests.unit.adapters.langgraph.scripted import node_graph
from tests.unit.runs.serving import request, status_text

from llamon_agent.adapters.langgraph.agent import LangGraphAgent
from llamon_agent.adapters.langgraph.checkpoints import access
from llamon_agent.adapters.worker_threads import sleep_in_run
from llamon_agent.config.data import DataConfig, PostgresConfig
from llamon_agent.config.edge import A2aConfig, EdgeConfig
from llamon_agent.domain.errors import BackendError, ConfigError
from llamon_agent.domain.events import Complete, Delta, Interrupt, Question
from llamon_agent.domain.task import Task, TaskPage, TaskQuery, TaskState, answer_text
from llamon_agent.runs.ports.agent import Agent
from llamon_agent.runs.ports.run import Limits, Runtime, Target
from llamon_agent.runs.ports.store import Store
from llamon_agent.runs.run import Run
from llamon_agent.runs.service import RunService
from llamon_agent.serving.process import new_id, now_ms
from llamon_agent.serving.storage import Storage, open_storage
from llamon_agent.store.postgres import pool
from llamon_agent.testing.scripted import Gate, ScriptedAgent

Log = pytest.LogCaptureFixture

ASK = Interrupt(text="Sure?", questions=(Question(id="q", value="Sure?"),))
MINE = ("default", "demo")

QUICK = Limits(record_again_s=(0.05,) * 200, lease_s=0.3)
PATIENT = Limits(record_again_s=())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture
def tasks(folder: Path) -> Path:
    return folder / "tasks.sqlite"


@pytest.fixture
def threads(folder: Path) -> Path:
    return folder / "demo" / "checkpoints.sqlite"


@asynccontextmanager
async def serving(
    data: Path | DataConfig, opening: "Agent | Remembers", limits: Limits = QUICK
) -> AsyncIterator[RunService]:
    """A run service on a real store, until the block ends."""
    config = DataConfig(folder=data) if isinstance(data, Path) else data
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(asyncio.timeout(30))
        storage = await stack.enter_async_context(open_storage(config))
        agent = await opening.opened(storage, config, stack) if isinstance(opening, Remembers) else opening
        target = Target(name="demo", adapter="scripted", target="", timeout_s=20)
        runtimes = {"demo": Runtime(target, agent)}
        service = RunService(storage.store, runtimes, clock=now_ms, new_id=new_id, limits=limits)
        await stack.enter_async_context(service)
        await service.start()
        yield service


class Remembers:
    """A graph that keeps its threads in the storage, says how many messages are in it, and may be held.

    Shape: runs counts how often its node has run.
    """

    def __init__(self) -> None:
        self.holds = False
        self.gate = Gate()
        self.runs = 0

    async def opened(self, storage: Storage, data: DataConfig, stack: AsyncExitStack) -> LangGraphAgent:
        a2a = A2aConfig(adapter="langgraph", target="some:graph")
        config = EdgeConfig.model_validate({"a2a": a2a, "agents": {"demo": {}}, "data": data})
        saver = await storage.open_checkpoints(config.agent_specs()[0], stack)
        return LangGraphAgent(node_graph(self._node, saver))

    async def _node(self, state: MessagesState) -> dict[str, list[AIMessage]]:
        self.runs += 1
        if self.holds:
            await self.gate.wait()
        return {"messages": [AIMessage(f"heard {len(state['messages'])}")]}


@asynccontextmanager
async def held(data: Path | DataConfig) -> AsyncIterator[tuple[RunService, Run, Remembers]]:
    """A run whose only node is held, in the context c1."""
    remembers = Remembers()
    remembers.holds = True
    async with serving(data, remembers) as service:
        run = await service.submit_run(request(context="c1"))
        await remembers.gate.reached()
        yield service, run, remembers


async def ask(service: RunService, text: str = "hi", **names: Any) -> Task:
    return await (await service.submit_run(request(text, **names))).wait_settled(10)


async def shown(service: RunService, run: Run, text: str) -> None:
    """Wait until readers of the task have been given this much of its answer."""
    following = run.follow()
    async for _ in following:
        if answer_text((await service.get(*MINE, run.task.id)).artifacts) == text:
            break
    following.close()


class Tries:
    """Counts the pauses between the tries of a write, and makes them."""

    def __init__(self) -> None:
        self._failed = asyncio.Semaphore(0)

    async def sleep(self, time_s: float) -> bool:
        self._failed.release()
        return await sleep_in_run(time_s)

    async def reached(self, count: int) -> None:
        """Wait until as many tries have failed."""
        for _ in range(count):
            await self._failed.acquire()


def told(task: Task) -> tuple[TaskState, str]:
    return task.status.state, status_text(task)


@contextmanager
def logged(text: str) -> Iterator[asyncio.Event]:
    """What is set as soon as a line of the log holds the text."""
    found = asyncio.Event()

    class Handler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if text in record.getMessage():
                found.set()

    handler, logger = Handler(), logging.getLogger("llamon_agent")
    logger.addHandler(handler)
    yield found
    logger.removeHandler(handler)


def errors(log: Log) -> list[str]:
    return [record.getMessage() for record in log.records if record.levelname == "ERROR"]


def spoil(file: Path, *, first_page: int = 1) -> None:
    """Write nonsense over a file's pages, those in its log included."""
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("pragma wal_checkpoint(truncate)")
    size = file.stat().st_size
    with file.open("r+b") as pages:
        pages.seek(first_page * 4096)
        pages.write(os.urandom(max(size - first_page * 4096, 4096)))


@contextmanager
def away(path: Path) -> Iterator[None]:
    """It is somewhere else, until the block ends."""
    moved = path.rename(path.with_name("elsewhere"))
    yield
    moved.rename(path)


def replace(file: Path) -> None:
    copy = file.with_name("copy")
    shutil.copy(file, copy)
    copy.rename(file)


@pytest.mark.parametrize(
    "happens",
    [Path.unlink, replace, lambda file: file.parent.rename(file.parent.with_name("elsewhere"))],
    ids=["deleted", "replaced", "folder moved"],
)
async def test_a_task_file_that_is_not_in_its_place_takes_nothing_that_a_restart_would_not_find(
    folder: Path, tasks: Path, caplog: Log, happens: Callable[[Path], object]
) -> None:
    gate = Gate()
    async with serving(folder, ScriptedAgent([ASK], [gate, Complete(text="x")]), PATIENT) as service:
        asked = await ask(service)
        run = await service.submit_run(request())
        await gate.reached()
        happens(tasks)
        for refused in (request(), request(task=asked.id)):
            with pytest.raises(BackendError) as raised:
                await service.submit_run(refused)
            assert raised.value.public == BackendError.public
        gate.open()
        with pytest.raises(BackendError):
            await run.wait_settled(5)
        assert await service.get(*MINE, asked.id) == asked
    assert [line for line in errors(caplog) if line.startswith("the task store")] == [
        f"the task store {tasks} cannot be written: it was deleted, moved or replaced; put it back, or restart"
    ]
    assert "Traceback" not in caplog.text


async def test_a_folder_that_was_moved_back_is_used_again_and_what_ran_has_its_answer(
    folder: Path, caplog: Log
) -> None:
    caplog.set_level("INFO")
    gate = Gate()
    async with serving(folder, ScriptedAgent([gate, Complete(text="x")], [Complete(text="y")])) as service:
        run = await service.submit_run(request())
        await gate.reached()
        with away(folder):
            with pytest.raises(BackendError):
                await ask(service)
            with logged("its end is tried again") as tried:
                gate.open()
                await tried.wait()
            with logged("could not be written") as failed, caplog.at_level("DEBUG", "llamon_agent.store"):
                await failed.wait()  # it was tried again
        assert answer_text((await run.wait_settled(10)).artifacts) == "x"
        assert answer_text((await ask(service)).artifacts) == "y"
    assert caplog.text.count("cannot be written") == caplog.text.count("can be written again") == 1
    assert caplog.text.count("its end is tried again") == 1


async def test_a_damaged_task_file_is_logged_once_and_refused_at_the_next_start(
    folder: Path, tasks: Path, caplog: Log
) -> None:
    gate = Gate()
    agent = ScriptedAgent([ASK], [Delta(text="so"), Delta(text=" far"), gate, Complete()])
    async with serving(folder, agent, PATIENT) as service:
        asked = await ask(service)
        run = await service.submit_run(request())
        await shown(service, run, "so far")
        spoil(tasks)
        for call in (service.get(*MINE, asked.id), service.submit_run(request()), service.submit_run(request())):
            with pytest.raises(BackendError) as raised:
                await call
            assert raised.value.public == BackendError.public
        assert answer_text((await service.get(*MINE, run.task.id)).artifacts) == "so far"
        gate.open()
        with pytest.raises(BackendError):
            await run.wait_settled(5)
    lines = [line for line in errors(caplog) if line.startswith("the task store")]
    assert sorted(lines) == [
        f"the task store {tasks} cannot be {what}: it is damaged, or not what it should be; "
        "put a backup in its place, or move it away, and restart"
        for what in ("read", "written")
    ]
    with pytest.raises(ConfigError, match="it is damaged"):
        async with serving(folder, agent):
            pass


async def test_a_damaged_log_takes_the_last_writes_with_it_and_nothing_else(folder: Path, tasks: Path) -> None:
    """SQLite keeps a checksum of each write there, and passes over what does not have it."""
    gate = Gate()
    async with serving(folder, ScriptedAgent([Complete(text="one")], [gate])) as service:
        done = await ask(service)
        copy = folder.with_name("copy")
        shutil.copytree(folder, copy)
        wal = copy / "tasks.sqlite-wal"
        with wal.open("ab") as log:
            log.write(os.urandom(9_000))
    async with serving(copy, ScriptedAgent([Complete(text="two")])) as service:
        assert await service.get(*MINE, done.id) == done
        assert answer_text((await ask(service)).artifacts) == "two"


async def test_another_program_that_holds_the_tasks_is_named_and_awaited(
    folder: Path, tasks: Path, caplog: Log
) -> None:
    gate = Gate()
    async with serving(folder, ScriptedAgent([gate, Complete(text="x")], [Complete(text="y")])) as service:
        run = await service.submit_run(request())
        await gate.reached()
        with closing(sqlite3.connect(tasks, isolation_level=None)) as other:
            other.execute("begin exclusive")
            gate.open()
            with pytest.raises(BackendError):
                await ask(service)
            assert (await service.get(*MINE, run.task.id)).status.state is TaskState.WORKING
        assert answer_text((await run.wait_settled(10)).artifacts) == "x"
        assert answer_text((await ask(service)).artifacts) == "y"
    assert errors(caplog) == [f"the task store {tasks} cannot be written: another program holds it; end that program"]


@pytest.mark.parametrize("happens", [spoil, Path.unlink, replace], ids=["damaged", "deleted", "replaced"])
async def test_threads_that_are_away_end_their_runs_honestly_and_nothing_else(
    folder: Path, threads: Path, caplog: Log, happens: Callable[[Path], object]
) -> None:
    remembers = Remembers()
    async with serving(folder, remembers) as service:
        assert answer_text((await ask(service, context="c1")).artifacts) == "heard 1"
        remembers.holds = True
        run = await service.submit_run(request(context="c2"))
        await remembers.gate.reached()
        happens(threads)
        remembers.gate.open()
        remembers.holds = False
        for task in (await run.wait_settled(10), await ask(service, context="c1")):
            assert told(task) == (TaskState.FAILED, BackendError.public)
            assert await service.get(*MINE, task.id) == task
    lines = errors(caplog)
    assert 1 <= len(lines) <= 2  # one for reads, one for writes
    assert all(line.startswith(f"the threads in {threads} cannot be ") for line in lines)


async def test_threads_that_are_back_go_on_where_they_were(folder: Path, threads: Path) -> None:
    async with serving(folder, Remembers()) as service:
        await ask(service, context="c1")
        with away(threads):
            assert (await ask(service, context="c1")).status.state is TaskState.FAILED
        assert answer_text((await ask(service, context="c1")).artifacts) == "heard 3"


async def test_threads_that_another_program_holds_for_a_moment_end_no_run(folder: Path, threads: Path) -> None:
    async with held(folder) as (service, run, remembers):
        with closing(sqlite3.connect(threads, isolation_level=None)) as other:
            other.execute("begin immediate")
            with logged("another program holds it") as failed:
                remembers.gate.open()
                await failed.wait()
            assert (await service.get(*MINE, run.task.id)).status.state is TaskState.WORKING
        assert answer_text((await run.wait_settled(10)).artifacts) == "heard 1"
        remembers.holds = False
        assert answer_text((await ask(service, context="c1")).artifacts) == "heard 3"
    assert remembers.runs == 2


async def test_a_cancel_ends_a_run_that_waits_for_its_threads(
    folder: Path, threads: Path, caplog: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(access, "_PAUSES_S", (60.0,))
    tries = Tries()
    monkeypatch.setattr(access, "sleep_in_run", tries.sleep)
    async with held(folder) as (service, run, remembers):
        with closing(sqlite3.connect(threads, isolation_level=None)) as other:
            other.execute("begin immediate")
            remembers.gate.open()
            await tries.reached(1)
        canceled = await service.cancel_run(*MINE, run.task.id, again_ok=False)
        assert canceled.status.state is TaskState.CANCELED
        remembers.holds = False
        assert (
            answer_text((await ask(service, context="c1")).artifacts) == "heard 2"
        )  # the canceled turn's question stays
    assert "did not stop in time" not in caplog.text


async def test_a_task_file_that_is_away_leaves_the_threads_alone(folder: Path, tasks: Path) -> None:
    async with serving(folder, Remembers()) as service:
        await ask(service, context="c1")
        with away(tasks), pytest.raises(BackendError):
            await ask(service, context="c1")
        assert answer_text((await ask(service, context="c1")).artifacts) == "heard 3"


async def test_what_no_record_was_possible_of_is_not_working_after_a_restart(folder: Path, tasks: Path) -> None:
    gate = Gate()
    async with AsyncExitStack() as lived:
        service = await lived.enter_async_context(serving(folder, ScriptedAgent([gate, Complete(text="x")]), PATIENT))
        run = await service.submit_run(request())
        await gate.reached()
        with away(tasks):
            gate.open()
            with pytest.raises(BackendError):
                await run.wait_settled(5)
            await lived.aclose()
    async with serving(folder, ScriptedAgent()) as service:
        assert (await service.get(*MINE, run.task.id)).status.state is TaskState.FAILED


async def is_reached(store: Store) -> bool:
    try:
        await store.reached()
    except BackendError:
        return False
    return True


async def test_a_task_file_is_reached_while_it_is_in_its_place(folder: Path, tasks: Path, caplog: Log) -> None:
    async with open_storage(DataConfig(folder=folder)) as storage:
        assert await is_reached(storage.store)
        with away(tasks):
            assert not await is_reached(storage.store)
        assert await is_reached(storage.store)
        spoil(tasks, first_page=0)
        assert not await is_reached(storage.store)
    assert errors(caplog) == []  # who asks is told, and may ask every second


async def test_a_task_file_that_cannot_be_written_is_not_reached_until_it_was(folder: Path, tasks: Path) -> None:
    async with open_storage(DataConfig(folder=folder)) as storage:
        with closing(sqlite3.connect(tasks, isolation_level=None)) as other:
            other.execute("begin exclusive")
            with pytest.raises(BackendError):
                await storage.store.renew(until_ms=now_ms() + 1000)
            assert not await is_reached(storage.store)
        await storage.store.renew(until_ms=now_ms() + 1000)
        assert await is_reached(storage.store)


# --- Postgres -----------------------------------------------------------------------------------------------------


def in_postgres(url: str) -> DataConfig:
    return DataConfig(postgres=PostgresConfig(url=SecretStr(url), pool_min=1))


def refuse_writes(postgres: PostgresServer, url: str, *, on: bool) -> None:
    """As a server does that has become a standby, or whose administrator wants it so: all that comes from now on."""
    name = url.split("/")[3].partition("?")[0]
    database = sql.Identifier(name)
    setting = sql.SQL("on" if on else "off")
    postgres.execute(sql.SQL("alter database {} set default_transaction_read_only = {}").format(database, setting))
    postgres.execute(
        sql.SQL("select pg_terminate_backend(pid) from pg_stat_activity where datname = {}").format(sql.Literal(name))
    )


async def test_a_database_that_takes_no_writes_is_logged_once_and_used_again(
    postgres: PostgresServer, own_store_url: str, caplog: Log
) -> None:
    gate = Gate()
    agent = ScriptedAgent([gate, Complete(text="x")], [Complete(text="y")])
    async with serving(in_postgres(own_store_url), agent) as service:
        run = await service.submit_run(request())
        await gate.reached()
        refuse_writes(postgres, own_store_url, on=True)
        for _ in range(3):
            with pytest.raises(BackendError) as raised:
                await service.submit_run(request())
            assert raised.value.public == BackendError.public
        gate.open()
        assert (await service.get(*MINE, run.task.id)).status.state is TaskState.WORKING
        refuse_writes(postgres, own_store_url, on=False)
        assert answer_text((await run.wait_settled(10)).artifacts) == "x"
        while True:
            try:
                assert answer_text((await ask(service)).artifacts) == "y"
                break
            except BackendError:  # a connection that was ended may be found only now
                pass
    told_of_it = [line for line in errors(caplog) if "it takes no writes; see why it is read-only" in line]
    assert told_of_it == [line for line in errors(caplog) if line.startswith("the database cannot be written")]
    assert len(told_of_it) == 1


async def test_a_database_is_reached_while_it_is_there(
    postgres: PostgresServer, own_store_url: str, caplog: Log
) -> None:
    async with open_storage(in_postgres(own_store_url)) as storage:
        assert await is_reached(storage.store)
        postgres.stop()
        try:
            assert not await is_reached(storage.store)
        finally:
            postgres.start()
        assert await is_reached(storage.store)
    assert errors(caplog) == []


async def test_a_database_that_takes_no_writes_is_not_reached_until_it_does(
    postgres: PostgresServer, own_store_url: str
) -> None:
    async with open_storage(in_postgres(own_store_url)) as storage:
        for is_on in (True, False):
            refuse_writes(postgres, own_store_url, on=is_on)
            await renewed(storage.store, works=not is_on)
            assert await is_reached(storage.store) is not is_on


async def renewed(store: Store, *, works: bool) -> None:
    """Write until it works or not; a connection that was ended may be found only then."""
    while True:
        try:
            await store.renew(until_ms=now_ms() + 1000)
            has_worked = True
        except BackendError:
            has_worked = False
        if has_worked is works:
            return


async def test_runs_wait_for_a_database_that_restarts_and_new_calls_find_it(
    postgres: PostgresServer, own_store_url: str, caplog: Log
) -> None:
    """Tasks and threads, both at once."""
    remembers = Remembers()
    async with serving(in_postgres(own_store_url), remembers) as service:
        assert answer_text((await ask(service, context="c1")).artifacts) == "heard 1"
        remembers.holds = True
        run = await service.submit_run(request(context="c2"))
        await remembers.gate.reached()
        postgres.stop()
        try:
            with pytest.raises(BackendError):
                await service.submit_run(request())
            remembers.holds = False
            remembers.gate.open()
        finally:
            postgres.start()
        assert answer_text((await run.wait_settled(20)).artifacts) == "heard 1"
        assert answer_text((await ask(service, context="c1")).artifacts) == "heard 3"
    lines = errors(caplog)
    assert 1 <= len(lines) <= 2  # one for reads, one for writes
    assert all("it cannot be reached; start it" in line for line in lines)


async def test_a_run_whose_threads_database_is_away_for_a_while_completes_and_runs_no_node_twice(
    postgres: PostgresServer, own_store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Several tries fail before the database is back. The wait for a connection is shortened, not their number."""
    monkeypatch.setattr(pool, "CHECKOUT_S", 0.3)
    async with held(in_postgres(own_store_url)) as (service, run, remembers):
        tries = Tries()
        monkeypatch.setattr(access, "sleep_in_run", tries.sleep)
        postgres.stop()
        try:
            remembers.gate.open()
            await tries.reached(4)
            assert remembers.runs == 1
        finally:
            postgres.start()
        assert answer_text((await run.wait_settled(20)).artifacts) == "heard 1"
        remembers.holds = False
        assert answer_text((await ask(service, context="c1")).artifacts) == "heard 3"
    assert remembers.runs == 2


async def test_threads_in_a_database_that_takes_no_writes_for_long_end_their_run_honestly(
    postgres: PostgresServer, own_store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run must not end as completed."""
    monkeypatch.setattr(access, "PATIENCE_S", 0)
    async with held(in_postgres(own_store_url)) as (_, run, remembers):
        refuse_writes(postgres, own_store_url, on=True)
        with logged("its end is tried again") as tried:
            remembers.gate.open()
            await tried.wait()
        refuse_writes(postgres, own_store_url, on=False)
        assert told(await run.wait_settled(20)) == (TaskState.FAILED, BackendError.public)


async def test_50_calls_that_are_canceled_while_they_wait_for_a_connection_leave_the_pool_full(
    own_store_url: str,
) -> None:
    postgres = PostgresConfig(url=SecretStr(own_store_url), pool_min=1, pool_max=2)
    query = TaskQuery(owner="default", agent="demo")
    async with asyncio.timeout(20), open_storage(DataConfig(postgres=postgres)) as storage:
        calls = [asyncio.create_task(storage.store.list(query)) for _ in range(500)]
        await calls[0]
        for call in calls[1::2]:
            call.cancel()
        outcomes = await asyncio.gather(*calls, return_exceptions=True)
        for outcome in outcomes:
            assert isinstance(outcome, TaskPage | asyncio.CancelledError)
        assert sum(isinstance(outcome, asyncio.CancelledError) for outcome in outcomes) > 100
        connections = storage._pool
        assert connections is not None
        async with connections.connection(timeout=1), connections.connection(timeout=1):
            pass
