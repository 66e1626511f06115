"""A running command is read to its end, and no process of it remains."""

import asyncio
import errno
import os
import signal
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from tests.unit.adapters.process.commands import children, end_of, lives

from llamon_agent.adapters.process.running_command import RunningCommand, kill_all

ENVIRONMENT = {"PATH": os.environ["PATH"]}

IGNORES_TERM = "trap '' TERM; "


class Observed:
    """A command in a test, with its output."""

    def __init__(self, script: str, *, stdin: bytes, folder: Path | None) -> None:
        self.stderr = b""
        self.command = RunningCommand(
            ["sh", "-c", script], stdin=stdin, environment=ENVIRONMENT, folder=folder, on_stderr=self._keep_stderr
        )

    def _keep_stderr(self, data: bytes) -> None:
        self.stderr += data

    async def line(self) -> str:
        """The first line of its output."""
        return (await self.command.read()).decode().strip()

    async def pid(self) -> int:
        return int(await self.line())

    async def stdout(self) -> bytes:
        said = b""
        while data := await self.command.read():
            said += data
        return said


@asynccontextmanager
async def running(script: str, *, stdin: bytes = b"", folder: Path | None = None) -> AsyncIterator[Observed]:
    before = children()
    async with asyncio.timeout(5):
        observed = Observed(script, stdin=stdin, folder=folder)
        try:
            yield observed
        finally:
            await observed.command.stop(5)
        assert children() == before


async def outcome(script: str, *, stdin: bytes = b"", folder: Path | None = None) -> tuple[bytes, bytes, int]:
    async with running(script, stdin=stdin, folder=folder) as observed:
        stdout = await observed.stdout()
        await observed.command.ended()
        code = await observed.command.stop(5)
    return stdout, observed.stderr, code


async def test_a_command_gets_its_stdin_and_its_output_is_read() -> None:
    assert await outcome("cat; echo so >&2; exit 3", stdin=b"hello") == (b"hello", b"so\n", 3)


async def test_the_signal_that_ended_it_is_reported() -> None:
    assert await outcome("kill -KILL $$") == (b"", b"", -signal.SIGKILL)


async def test_it_sees_its_folder_and_only_its_environment(tmp_path: Path) -> None:
    stdout, _, _ = await outcome("pwd; env | grep -v -E '^(PWD|OLDPWD|SHLVL|_)='", folder=tmp_path)
    assert stdout.decode().splitlines() == [str(tmp_path), f"PATH={ENVIRONMENT['PATH']}"]


async def test_its_stdin_can_be_opened_by_name() -> None:
    assert await outcome("cat /dev/stdin", stdin=b"hello") == (b"hello", b"", 0)


async def test_its_output_is_read_while_it_runs() -> None:
    async with running("echo one; exec sleep 1000") as observed:
        assert await observed.command.read() == b"one\n"


async def test_a_megabyte_goes_through_it() -> None:
    data = bytes(range(256)) * 4_096
    assert await outcome("cat", stdin=data) == (data, b"", 0)


@pytest.mark.parametrize("script", ["echo done", "exec <&-; echo done", "head -c 1 >/dev/null; echo done"])
async def test_a_command_need_not_read_its_stdin(script: str) -> None:
    assert await outcome(script, stdin=b"x" * 1_000_000) == (b"done\n", b"", 0)


async def test_a_command_may_close_its_stdout_and_go_on(tmp_path: Path) -> None:
    _, _, code = await outcome("exec >&-; read -r word; touch made; exit 4", stdin=b"x\n", folder=tmp_path)
    assert code == 4
    assert (tmp_path / "made").exists()


async def test_a_command_that_writes_faster_than_it_is_read_waits() -> None:
    async with running("head -c 5000000 /dev/zero; echo end >&2") as observed:
        assert len(await observed.command.read()) <= 1 << 16
        assert observed.stderr == b""
        assert len(await observed.stdout()) > 4_900_000


async def test_a_background_process_that_holds_stdout_does_not_delay_the_end() -> None:
    async with running("sleep 1000 & echo $!") as observed:
        pid = await observed.pid()
        assert await observed.stdout() == b""
        assert lives(pid)
        assert await observed.command.stop(5) == 0
        await end_of(pid)


async def test_one_with_a_session_of_its_own_does_not_delay_the_end_and_lives_on() -> None:
    async with running("setsid sh -c 'echo $$; exec sleep 1000' & wait; exit 0") as observed:
        pid = await observed.pid()
        os.killpg(observed.command._process.pid, signal.SIGTERM)
        assert await observed.stdout() == b""
        await observed.command.stop(5)
    assert lives(pid)
    os.kill(pid, signal.SIGKILL)


async def test_the_output_of_a_filter_that_is_slower_than_the_command_is_read(tmp_path: Path) -> None:
    script = "mkfifo f; (cat f; sleep 0.05; echo end) & exec >f; echo begin"
    assert await outcome(script, folder=tmp_path) == (b"begin\nend\n", b"", 0)


async def test_stopping_asks_first() -> None:
    async with running("trap 'echo bye >&2; exit 7' TERM; echo ready; while :; do sleep 0.01; done") as observed:
        assert await observed.line() == "ready"
        assert await observed.command.stop(5) == 7
    assert observed.stderr.endswith(b"bye\n")


async def test_a_command_that_writes_much_while_it_ends_does_not_wait() -> None:
    script = "trap 'head -c 1000000 /dev/zero; exit 7' TERM; echo ready; while :; do sleep 0.01; done"
    async with running(script) as observed:
        assert await observed.line() == "ready"
        assert await observed.command.stop(5) == 7


async def test_a_command_that_does_not_end_is_killed() -> None:
    async with running(f"{IGNORES_TERM} echo ready; while :; do sleep 1000; done") as observed:
        assert await observed.line() == "ready"
        assert await observed.command.stop(0.1) == -signal.SIGKILL


async def test_what_the_command_started_ends_with_it() -> None:
    script = f"({IGNORES_TERM} echo $(sh -c 'echo $PPID'); while :; do sleep 1000; done) & wait"
    async with running(script) as observed:
        pid = await observed.pid()
        assert await observed.command.stop(5) == -signal.SIGTERM
        await end_of(pid)


async def test_stopping_twice_is_stopping() -> None:
    async with running("sleep 1000") as observed:
        assert await observed.command.stop(5) == await observed.command.stop(5) == -signal.SIGTERM


async def test_a_stop_that_is_cancelled_kills_at_once() -> None:
    async with running(f"{IGNORES_TERM} echo $$; while :; do sleep 1000; done") as observed:
        pid = await observed.pid()
        stopping = asyncio.create_task(observed.command.stop(1_000))
        await asyncio.sleep(0)
        stopping.cancel()
        with pytest.raises(asyncio.CancelledError):
            await stopping
        await end_of(pid)


async def test_a_process_that_ends_at_once_kills_what_runs() -> None:
    script = f"{IGNORES_TERM} echo $$; while :; do sleep 1000; done"
    async with running(script) as one, running(script) as other:
        pids = [await one.pid(), await other.pid()]
        kill_all()
        for pid in pids:
            await end_of(pid)


async def test_what_has_ended_is_not_killed_once_more(monkeypatch: pytest.MonkeyPatch) -> None:
    await outcome("exit")
    monkeypatch.setattr(os, "killpg", lambda *_: pytest.fail("its number may be somebody else's"))
    kill_all()


async def test_a_flood_on_stderr_neither_blocks_nor_stops_the_command() -> None:
    stdout, stderr, code = await outcome("head -c 1000000 /dev/zero >&2; echo done")
    assert (stdout, len(stderr), code) == (b"done\n", 1_000_000, 0)


async def test_a_command_inherits_no_open_file(tmp_path: Path) -> None:
    with (tmp_path / "secret").open("w") as file:
        os.set_inheritable(file.fileno(), True)
        stdout, _, _ = await outcome(f"readlink /proc/self/fd/{file.fileno()} || echo none")
    assert stdout == b"none\n"


async def test_a_command_that_is_not_there_is_an_error_and_leaves_nothing() -> None:
    before = children()
    with pytest.raises(FileNotFoundError):
        RunningCommand(["/no/such/command"], stdin=b"", environment={}, folder=None, on_stderr=print)
    assert children() == before


async def test_without_a_thread_to_watch_it_a_command_does_not_start(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    before = children()
    monkeypatch.setattr(threading.Thread, "start", refuse)
    with pytest.raises(OSError, match="temporarily") as caught:
        RunningCommand(["sleep", "1000"], stdin=b"", environment=ENVIRONMENT, folder=None, on_stderr=print)
    assert caught.value.errno == errno.EAGAIN
    assert children() == before
