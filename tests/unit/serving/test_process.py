import asyncio
import os
import signal
import socket
import sys
import threading
import uuid
from collections.abc import Callable

import pytest
from starlette.applications import Starlette

from llamon_agent.domain.errors import ConfigError
from llamon_agent.runs.service import RunService
from llamon_agent.serving.process import (
    AgentExited,
    Server,
    contained_task,
    exiting_despite_threads,
    listening,
    new_id,
    now_ms,
    reloading_on_hangup,
    run_to_end,
    stopping_on_signals,
)
from llamon_agent.store.memory import MemoryTaskStore


async def test_a_hangup_reloads_and_one_that_comes_meanwhile_is_not_lost() -> None:
    begun, goes_on, twice = asyncio.Event(), asyncio.Event(), asyncio.Event()
    count = 0

    async def reload() -> None:
        nonlocal count
        count += 1
        begun.set()
        await goes_on.wait()
        if count == 2:
            twice.set()

    async with asyncio.timeout(5), reloading_on_hangup(reload):
        os.kill(os.getpid(), signal.SIGHUP)
        await begun.wait()
        os.kill(os.getpid(), signal.SIGHUP)
        assert count == 1
        goes_on.set()
        await twice.wait()


async def test_leaving_ends_a_reload_in_progress() -> None:
    begun = asyncio.Event()
    ended: list[BaseException] = []

    async def reload() -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError as exc:
            ended.append(exc)
            raise

    async with asyncio.timeout(5), reloading_on_hangup(reload):
        os.kill(os.getpid(), signal.SIGHUP)
        await begun.wait()
    assert len(ended) == 1


async def test_a_terminal_that_is_closed_is_no_reload(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = iter([True, False])
    monkeypatch.setattr(os, "isatty", lambda _descriptor: next(terminal))
    gone = asyncio.Event()

    async def reload() -> None:
        raise AssertionError

    async with asyncio.timeout(5), reloading_on_hangup(reload, gone.set):
        os.kill(os.getpid(), signal.SIGHUP)
        await gone.wait()


async def test_a_second_signal_does_what_must_be_done_at_once_and_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[object] = []
    stopping, ended = asyncio.Event(), asyncio.Event()

    def leave(code: int) -> None:
        done.append(code)
        ended.set()

    monkeypatch.setattr(os, "_exit", leave)

    class Stopping(Server):
        def stop(self) -> None:
            super().stop()
            stopping.set()

    server = Stopping(Starlette(), RunService(MemoryTaskStore(), {}, clock=lambda: 0, new_id=str), lambda _port: None)
    async with asyncio.timeout(5):
        with stopping_on_signals(server, lambda: done.append("killed")):
            os.kill(os.getpid(), signal.SIGTERM)
            await stopping.wait()
            assert done == []
            os.kill(os.getpid(), signal.SIGTERM)
            await ended.wait()
    assert done == ["killed", 128 + signal.SIGTERM]


def stopped_by(stop: Callable[[asyncio.AbstractEventLoop], object]) -> int:
    async def main() -> None:
        stop(asyncio.get_running_loop())
        await asyncio.Event().wait()

    with asyncio.Runner() as runner:
        return run_to_end(runner, main())


@pytest.mark.parametrize("stop", [lambda loop: loop.call_soon(sys.exit), lambda loop: loop.call_soon(loop.stop)])
def test_a_loop_that_is_stopped_from_within_is_an_error(
    stop: Callable[[asyncio.AbstractEventLoop], object], caplog: pytest.LogCaptureFixture
) -> None:
    assert stopped_by(stop) == 1
    [record] = caplog.records
    assert "an agent's code has stopped the event loop" in record.getMessage()


def test_an_end_is_none_and_an_error_of_ours_stays_one() -> None:
    async def ends() -> None:
        pass

    async def breaks() -> None:
        raise RuntimeError("ours")

    with asyncio.Runner() as runner:
        assert run_to_end(runner, ends()) == 0
        with pytest.raises(RuntimeError, match="ours"):
            run_to_end(runner, breaks())


def test_a_thread_that_ends_in_time_leaves_the_process_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    ended: list[int] = []
    monkeypatch.setattr(os, "_exit", ended.append)
    with exiting_despite_threads(60):
        pass
    assert ended == []


def test_a_thread_that_does_not_end_does_not_keep_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    left = threading.Event()
    codes: list[int] = []

    def leave(code: int) -> None:
        codes.append(code)
        left.set()

    monkeypatch.setattr(os, "_exit", leave)
    with exiting_despite_threads(0.001, code=1):
        assert left.wait(5)
    assert codes == [1]


def test_a_port_that_is_taken_is_reported_with_the_remedy() -> None:
    with listening("127.0.0.1", 0) as listener:
        port = listener.getsockname()[1]
        with (
            pytest.raises(ConfigError, match=rf"cannot listen on 127\.0\.0\.1 port {port}: .* choose another"),
            listening("127.0.0.1", port),
        ):
            pass
    assert isinstance(listener, socket.socket)
    assert listener.fileno() == -1


async def test_a_stopping_server_says_so_before_its_runs_are_ended() -> None:
    said: list[str] = []

    async def draining() -> None:
        said.append("draining")

    class Runs(RunService):
        async def drain(self, timeout_s: float, *, stop_within_s: float | None = None) -> None:
            said.append("the runs end")

    runs = Runs(MemoryTaskStore(), {}, clock=lambda: 0, new_id=lambda: "id")
    with listening("127.0.0.1", 0) as listener:
        server = Server(Starlette(), runs, lambda _port: server.stop(), draining)
        async with asyncio.timeout(5):
            await server.serve(sockets=[listener])
    assert said == ["draining", "the runs end"]


async def test_a_server_that_is_to_stop_is_not_ready_and_works_on_for_as_long_as_it_is_told() -> None:
    said: list[object] = []
    store = MemoryTaskStore()

    async def draining() -> None:
        said.append(await runs.readiness.failing())
        began_s.append(asyncio.get_running_loop().time())

    class Runs(RunService):
        async def drain(self, timeout_s: float, *, stop_within_s: float | None = None) -> None:
            said.append(asyncio.get_running_loop().time() - began_s[0] >= 0.05)
            await super().drain(timeout_s, stop_within_s=stop_within_s)

    def ready(_port: int) -> None:
        server.stop()

    began_s: list[float] = []
    with listening("127.0.0.1", 0) as listener:
        async with asyncio.timeout(5), Runs(store, {}, clock=lambda: 0, new_id=lambda: "id") as runs:
            await runs.start()
            assert await runs.readiness.is_ready()
            server = Server(Starlette(), runs, ready, draining, unready_s=0.05)
            await server.serve(sockets=[listener])
    assert said[:2] == [("stopping",), True]


@pytest.fixture
async def contained() -> None:
    asyncio.get_running_loop().set_task_factory(contained_task)


async def exits() -> None:
    await asyncio.sleep(0)
    sys.exit(3)


async def interrupts() -> None:
    try:
        await asyncio.Event().wait()
    finally:
        raise KeyboardInterrupt


@pytest.mark.usefixtures("contained")
async def test_a_task_that_exits_fails_and_the_loop_goes_on() -> None:
    with pytest.raises(AgentExited) as raised:
        await asyncio.create_task(exits())
    assert isinstance(raised.value.__cause__, SystemExit)
    assert await asyncio.create_task(asyncio.sleep(0, "still here")) == "still here"


@pytest.mark.usefixtures("contained")
async def test_a_task_that_raises_an_interrupt_while_it_is_cancelled_fails() -> None:
    task = asyncio.create_task(interrupts())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(AgentExited):
        await task


@pytest.mark.usefixtures("contained")
async def test_a_task_that_never_starts_is_closed() -> None:
    task = asyncio.create_task(exits(), name="named")
    assert task.get_name() == "named"
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


@pytest.mark.usefixtures("contained")
async def test_groups_timeouts_and_results_work_as_ever() -> None:
    async with asyncio.TaskGroup() as group:
        task = group.create_task(asyncio.sleep(0, 1))
    assert task.result() == 1
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(asyncio.Event().wait(), 0.001)


def test_ids_are_unique_uuids_of_version_7() -> None:
    ids = [new_id() for _ in range(1000)]
    assert len(set(ids)) == 1000
    assert {(uuid.UUID(one).version, uuid.UUID(one).variant) for one in ids} == {(7, uuid.RFC_4122)}


def test_ids_sort_by_time() -> None:
    before_ms = now_ms()
    made_ms = uuid.UUID(new_id()).int >> 80
    assert before_ms <= made_ms <= now_ms()
