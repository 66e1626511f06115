"""One running command, and the promise that no process of it remains.

The command leads a session, and so a process group, of its own: a signal to the group reaches the processes that it
started, and no others. The event loop reads its pipes straight from the descriptors. So the kernel's buffer is the only
one, and a command that writes faster than we read has to wait. A thread waits for its end. That works alike on every
event loop, and the ended command stays unreaped until its group is killed: until then its number stays taken.
Rules:
1. A command ends with its exit, not with the end of its stdout, which a process that it started may hold open for ever.
   After the exit we read for a short time what others still write; then we take what is left in the pipe.
2. What is left in the command's group is killed. A process that shall outlive the run begins a session of its own.
3. The caller of `stop` may be cancelled while it waits; the command is killed and reaped all the same.
4. Nothing waits for stdin: a command may read as much of it as it likes, or nothing.
5. An edge that ends at once calls `kill_all` first, as nothing would stop its commands afterwards.
"""

import asyncio
import errno
import os
import signal
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from io import FileIO
from pathlib import Path
from typing import cast

_CHUNK_BYTES = 1 << 16
"""How much is read at once; what a pipe holds."""

_LINGER_S = 0.5
"""How long after the command's end we read from others that hold its stdout: a filter in its pipeline is still writing,
a server that it left in the background never stops."""

_LAST_READS = 16
"""How many chunks of stderr are read at the end; a process in another session may write without end."""

_running: set["RunningCommand"] = set()
"""The commands whose groups may still be signalled. It is global, as `kill_all` is for the end of this process."""


def kill_all() -> None:
    """Kill every command that runs, without waiting."""
    for command in _running:
        command.kill()


class RunningCommand:
    """A command that was started. Call `read` until it gives nothing, then `ended`, and `stop` in any case."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        stdin: bytes,
        environment: Mapping[str, str],
        folder: Path | None,
        on_stderr: Callable[[bytes], None],
    ) -> None:
        """Start it. Raises: OSError: it cannot be started; ValueError: an argument holds a NUL character."""
        self._loop = asyncio.get_running_loop()
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            cwd=folder,
            env=environment,
            start_new_session=True,
        )
        _running.add(self)
        self._stdin, self._stdout, self._stderr = _pipes_of(self._process)
        self._on_stderr = on_stderr
        self._unsent = memoryview(stdin)
        self._wake = asyncio.Event()
        self._exited = asyncio.Event()
        self._reaped = asyncio.Event()
        self._reading_is_over = False
        self._may_reap = threading.Event()
        self._linger: asyncio.TimerHandle | None = None
        self._start_watching()
        self._loop.add_reader(self._stderr.fileno(), self._read_stderr)
        self._loop.add_writer(self._stdin.fileno(), self._write_stdin)

    def _start_watching(self) -> None:
        try:
            threading.Thread(target=self._watch, name="llamon-command", daemon=True).start()
        except RuntimeError as exc:  # no more threads, so nothing would reap it
            self._finish()
            self._process.wait()
            raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN)) from exc

    async def read(self) -> bytes:
        """What the command wrote next on stdout; empty when nothing more will come."""
        while True:
            await self._readable()
            data = self._stdout.read(_CHUNK_BYTES)
            if data is not None or self._reading_is_over:
                return data or b""

    async def ended(self) -> None:
        """Wait for the command's end."""
        await self._exited.wait()

    async def stop(self, kill_after_s: float) -> int:
        """Ask the command to end, if it still runs, and make sure that its whole group has ended.

        Shape: its exit code; negative: the signal that ended it.
        """
        try:
            if not (self._exited.is_set() or self._may_reap.is_set()):
                self._ask_to_end()
                with suppress(TimeoutError):
                    async with asyncio.timeout(kill_after_s):
                        await self._exited.wait()
        finally:
            self._finish()
        await self._reaped.wait()
        return self._process.returncode

    def kill(self) -> None:
        """Kill the command and its group, without waiting."""
        self._signal(signal.SIGKILL)

    # --- reading -----------------------------------------------------------------------------------------------------

    async def _readable(self) -> None:
        if self._reading_is_over:
            return
        self._wake.clear()
        self._loop.add_reader(self._stdout.fileno(), self._wake.set)
        try:
            await self._wake.wait()
        finally:
            self._loop.remove_reader(self._stdout.fileno())

    def _read_stderr(self) -> None:
        """Stderr can be read."""
        data = self._stderr.read(_CHUNK_BYTES)
        if data:
            self._on_stderr(data)
        elif data is not None:
            self._loop.remove_reader(self._stderr.fileno())

    def _discard(self) -> None:
        """Stdout can be read and is not needed: a command must not wait for a reader while it ends."""
        if self._stdout.read(_CHUNK_BYTES) == b"":
            self._loop.remove_reader(self._stdout.fileno())

    def _write_stdin(self) -> None:
        """Stdin takes more of the prompt."""
        try:
            written = self._stdin.write(self._unsent)
        except OSError:  # it closed its stdin, so it needs no more
            written = len(self._unsent)
        self._unsent = self._unsent[written or 0 :]
        if not self._unsent:
            self._loop.remove_writer(self._stdin.fileno())
            self._stdin.close()

    # --- ending ------------------------------------------------------------------------------------------------------

    def _watch(self) -> None:
        """Wait for the end, in a thread of its own; reap once nothing more needs the number."""
        _await_end(self._process)
        self._call_in_loop(self._on_exit)
        self._may_reap.wait()
        self._process.wait()
        self._call_in_loop(self._reaped.set)

    def _call_in_loop(self, callback: Callable[[], None]) -> None:
        with suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(callback)

    def _on_exit(self) -> None:
        self._exited.set()
        if not self._may_reap.is_set():
            self._linger = self._loop.call_later(_LINGER_S, self._stop_reading)

    def _stop_reading(self) -> None:
        self._reading_is_over = True
        self._wake.set()

    def _ask_to_end(self) -> None:
        self._loop.add_reader(self._stdout.fileno(), self._discard)
        self._signal(signal.SIGTERM)

    def _finish(self) -> None:
        """Kill what is left and close the pipes. It acts once."""
        if self._may_reap.is_set():
            return
        self.kill()
        _running.discard(self)
        self._may_reap.set()
        if self._linger is not None:
            self._linger.cancel()
        for _ in range(_LAST_READS):
            if not (data := self._stderr.read(_CHUNK_BYTES)):
                break
            self._on_stderr(data)
        self._close()

    def _close(self) -> None:
        if not self._stdin.closed:
            self._loop.remove_writer(self._stdin.fileno())
        for pipe in (self._stdout, self._stderr):
            self._loop.remove_reader(pipe.fileno())
        for pipe in (self._stdin, self._stdout, self._stderr):
            pipe.close()

    def _signal(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError, PermissionError):  # macOS says the latter of a group that has ended
            os.killpg(self._process.pid, number)


def _pipes_of(process: subprocess.Popen[bytes]) -> tuple[FileIO, FileIO, FileIO]:
    """Our ends of the three pipes; none of them blocks."""
    pipes = tuple(cast(FileIO, pipe) for pipe in (process.stdin, process.stdout, process.stderr))
    for pipe in pipes:
        os.set_blocking(pipe.fileno(), False)
    stdin, stdout, stderr = pipes
    return stdin, stdout, stderr


def _await_end(process: subprocess.Popen[bytes]) -> None:
    """Wait for the end and leave the process unreaped, where the system can: macOS learns it with Python 3.13."""
    if hasattr(os, "waitid"):
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    else:
        process.wait()
