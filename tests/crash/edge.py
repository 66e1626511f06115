"""An edge that is killed and started again, always at the same address.

It is a process forked from one that has imported everything already: a start takes a tenth of a second instead of
seconds, so that it can die hundreds of times.
"""

import asyncio
import multiprocessing
import os
import signal
import socket
import sys
import threading
from multiprocessing.connection import Connection
from multiprocessing.process import parent_process
from pathlib import Path

from tests.crash.effects import FILE_VARIABLE
from tests.crash.faults import Fault, arm

_PRELOADED = ["llamon_agent.app", "llamon_agent.adapters.langgraph.agent", "tests.crash.agents", "tests.crash.edge"]

DRAIN_S = 0.2
"""So short that a stopping edge has something left to hand over."""

_processes = multiprocessing.get_context("forkserver")


class Edge:
    """One edge, over all its lives.

    Shape: `deaths` counts how often it has ended, `outages` how often its store was away while it lived; while it is
           down, `up` is not set.
    """

    def __init__(self, folder: Path, config: str) -> None:
        """config is the rest of its configuration, behind the section `a2a`."""
        _processes.set_forkserver_preload(_PRELOADED)
        self.url = f"http://127.0.0.1:{_free_port()}"
        self.deaths = 0
        self.outages = 0
        self.up = asyncio.Event()
        self._trouble = asyncio.Condition()
        self.log = folder / "edge.log"
        self.effects = folder / "effects"
        self._config = folder / "edge.yaml"
        self._config.write_text(
            f"a2a: {{listen: '{self.url.removeprefix('http://')}', path: /a2a, drain_s: {DRAIN_S}}}\n{config}"
        )

    async def start(self, fault: Fault | None = None) -> bool:
        """Start it; whether it came to listen before its fault killed it.

        Raises: AssertionError: it ended, and nobody had killed it.
        """
        ours, theirs = _processes.Pipe(duplex=False)
        with ours:
            arguments = (self._config, self.log, self.effects, fault, theirs)
            self._process = _processes.Process(target=_run, args=arguments, daemon=True)
            self._process.start()
            theirs.close()
            await _readable(ours.fileno())
            try:
                ours.recv()
            except EOFError:
                await self.died()
                if fault is None:
                    raise AssertionError(f"the edge did not start:\n{self.log.read_text()[-2000:]}") from None
                return False
        self.up.set()
        return True

    async def died(self) -> None:
        """Wait until it has ended."""
        await _readable(self._process.sentinel)
        self._process.join()
        self.up.clear()
        async with self._trouble:
            self.deaths += 1
            self._trouble.notify_all()

    async def store_is_back(self) -> None:
        """Its store was away, and answers again."""
        async with self._trouble:
            self.outages += 1
            self._trouble.notify_all()

    @property
    def troubles(self) -> int:
        """How often there was a reason for calls to fail."""
        return self.deaths + self.outages

    async def trouble(self, number: int) -> None:
        """Wait until there have been so many."""
        async with self._trouble:
            await self._trouble.wait_for(lambda: self.troubles >= number)

    def kill(self) -> None:
        self._process.kill()

    def terminate(self) -> None:
        """Ask it to stop."""
        self._process.terminate()

    @property
    def exit_code(self) -> int | None:
        """How it has ended; negative: by which signal."""
        return self._process.exitcode

    @property
    def was_killed(self) -> bool:
        return self.exit_code == -signal.SIGKILL


async def _readable(file: int) -> None:
    """Wait until a descriptor has something to read, or its other end is closed."""
    loop = asyncio.get_running_loop()
    readable = asyncio.Event()
    loop.add_reader(file, readable.set)
    try:
        await readable.wait()
    finally:
        loop.remove_reader(file)


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def _run(config: Path, log: Path, effects: Path, fault: Fault | None, ready: Connection) -> None:
    """The life of the process."""
    from llamon_agent.app import serve
    from llamon_agent.config.load import load_config
    from llamon_agent.serving.logs import set_up_logging

    out = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.dup2(out, 1)
    os.dup2(out, 2)
    os.environ[FILE_VARIABLE] = str(effects)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    if fault is not None:
        arm(fault)
    loaded = load_config(config, {})
    set_up_logging(loaded.logging.level, loaded.logging.format)
    serve(loaded, ready=lambda port, *_: ready.send(port))
    sys.stderr.flush()


def _end_with_parent() -> None:
    """A harness that is gone must not leave an edge behind."""
    parent = parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)
