"""One running command, and the promise that nothing of it is left behind.

The command leads a session, and so a process group, of its own: a signal to the group reaches what it started, and
nobody else. Its pipes are read by the event loop, straight from the descriptors, so that the kernel's buffer is the
only one and a command that writes faster than we listen waits. A thread waits for its end. That works alike on every
event loop, and it lets the ended command stay unreaped until its group has been killed: as long as it is, nobody else
can get its number. What rules the rest:
1. The end of a command is its exit, not the end of its stdout, which something that it started may hold open for ever.
   For a moment longer we listen to what is still being written; then what was in the pipe is the rest of it.
2. What the command leaves in its group is killed. What shall outlive a run begins a session of its own.
3. Whoever asks to stop may be cancelled while it waits; the killing and reaping happen all the same.
4. Nobody waits for stdin: a command may read as much of it as it likes, or nothing.
5. A process that ends at once calls `kill_all` first, as nobody would stop its commands afterwards.
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
"""How long after the command's end we listen to others that hold its stdout: a filter that it piped its output into is
still writing, a server that it left in the background never stops."""

_LAST_READS = 16
"""How many chunks of stderr are read at the end; somebody who got away may write without end."""

_running: set["Child"] = set()
"""The commands whose groups may still be signalled. Of the whole process, as its end is what this is for."""


def kill_all() -> None:
    """Kill every command that runs, without waiting for anything."""
    for child in _running:
        child.kill()


class Child:
    """A command that was started. Use `read` until it is empty, then `ended`, and `stop` in any case."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        stdin: bytes,
        environment: Mapping[str, str],
        folder: Path | None,
        on_stderr: Callable[[bytes], None],
    ) -> None:
        """Start it. Raises: OSError: it cannot be started; ValueError: a NUL character among what it is given."""
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
        self._over = False
        self._may_reap = threading.Event()
        self._linger: asyncio.TimerHandle | None = None
        self._start_watching()
        self._loop.add_reader(self._stderr.fileno(), self._hear)
        self._loop.add_writer(self._stdin.fileno(), self._feed)

    def _start_watching(self) -> None:
        try:
            threading.Thread(target=self._watch, name="llamon-command", daemon=True).start()
        except RuntimeError as exc:  # no more threads, so nobody would reap it
            self._finish()
            self._process.wait()
            raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN)) from exc

    async def read(self) -> bytes:
        """What the command wrote next on stdout; empty when nothing more will come."""
        while True:
            await self._readable()
            data = self._stdout.read(_CHUNK_BYTES)
            if data is not None or self._over:
                return data or b""

    async def ended(self) -> None:
        """Wait for the command's end."""
        await self._exited.wait()

    async def stop(self, kill_after_s: float) -> int:
        """Ask the command to end, if it still runs, and see to it that everything has ended.

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
        """Kill the command and its group, which is not waited for."""
        self._signal(signal.SIGKILL)

    # --- listening ---------------------------------------------------------------------------------------------------

    async def _readable(self) -> None:
        if self._over:
            return
        self._wake.clear()
        self._loop.add_reader(self._stdout.fileno(), self._wake.set)
        try:
            await self._wake.wait()
        finally:
            self._loop.remove_reader(self._stdout.fileno())

    def _hear(self) -> None:
        """Stderr can be read."""
        data = self._stderr.read(_CHUNK_BYTES)
        if data:
            self._on_stderr(data)
        elif data is not None:
            self._loop.remove_reader(self._stderr.fileno())

    def _discard(self) -> None:
        """Stdout can be read, and nobody wants it: a command that ends must not wait to be heard."""
        if self._stdout.read(_CHUNK_BYTES) == b"":
            self._loop.remove_reader(self._stdout.fileno())

    def _feed(self) -> None:
        """Stdin takes more of the prompt."""
        try:
            written = self._stdin.write(self._unsent)
        except OSError:  # it closed its stdin: it does not want to know
            written = len(self._unsent)
        self._unsent = self._unsent[written or 0 :]
        if not self._unsent:
            self._loop.remove_writer(self._stdin.fileno())
            self._stdin.close()

    # --- ending ------------------------------------------------------------------------------------------------------

    def _watch(self) -> None:
        """Wait for the end, in a thread of its own; reap once nothing more needs the number."""
        _await_end(self._process)
        self._tell(self._on_exit)
        self._may_reap.wait()
        self._process.wait()
        self._tell(self._reaped.set)

    def _tell(self, callback: Callable[[], None]) -> None:
        with suppress(RuntimeError):  # the loop is closed; nobody listens any more
            self._loop.call_soon_threadsafe(callback)

    def _on_exit(self) -> None:
        self._exited.set()
        if not self._may_reap.is_set():
            self._linger = self._loop.call_later(_LINGER_S, self._stop_listening)

    def _stop_listening(self) -> None:
        self._over = True
        self._wake.set()

    def _ask_to_end(self) -> None:
        self._loop.add_reader(self._stdout.fileno(), self._discard)
        self._signal(signal.SIGTERM)

    def _finish(self) -> None:
        """Kill what is left and let go of everything; at once, and once."""
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
    """Our ends of the three pipes, none of which makes anybody wait."""
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
