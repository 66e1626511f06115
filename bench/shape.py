"""How the code is cut: what it holds, and how many modules one call enters.

A module counts as entered when one of its functions is called on the event loop's thread (`sys.setprofile`) while the
edge answers the second call of its kind: the first one has loaded and cached what it needs. Nothing here measures time.

Usage: python -m bench.shape
"""

import ast
import asyncio
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from functools import partial
from http.client import HTTPResponse
from pathlib import Path
from types import FrameType

from rich.console import Console
from rich.table import Table

from bench.shape_agents import next_piece
from llamon_agent import app
from llamon_agent.config.edge import EdgeConfig

PACKAGE = Path(app.__file__).parent
AGENTS = {
    "echo": {"adapter": "echo"},
    "graph": {"adapter": "langgraph", "target": "bench.shape_agents:graph"},
    "pieces": {"adapter": "custom", "target": "bench.shape_agents:pieces"},
}


class Entered:
    """The modules of the package that the loop's thread enters while it is on. Shape: by path below the package."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._seen: set[str] = set()

    def on(self) -> None:
        self._seen = set()
        self._in_loop(partial(sys.setprofile, self._note))

    def off(self) -> set[str]:
        self._in_loop(partial(sys.setprofile, None))
        return {Path(name).relative_to(PACKAGE).as_posix() for name in self._seen if name.startswith(str(PACKAGE))}

    def _note(self, frame: FrameType, event: str, _argument: object) -> None:
        if event == "call":
            self._seen.add(frame.f_code.co_filename)

    def _in_loop(self, what: Callable[[], None]) -> None:
        done = threading.Event()

        def run() -> None:
            what()
            done.set()

        self._loop.call_soon_threadsafe(run)
        done.wait(10)


def post(url: str, method: str) -> HTTPResponse:
    """Send one message to an agent. Shape: method is message/send or message/stream."""
    message = {"role": "user", "messageId": os.urandom(8).hex(), "parts": [{"kind": "text", "text": "hi"}]}
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {"message": message}}
    request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
    answer: HTTPResponse = urllib.request.urlopen(request, timeout=10)
    return answer


def call(entered: Entered, url: str) -> set[str]:
    """The modules that the second blocking call enters."""
    post(url, "message/send").read()
    entered.on()
    post(url, "message/send").read()
    return entered.off()


def delta(entered: Entered, loop: asyncio.AbstractEventLoop, url: str) -> set[str]:
    """The modules that one piece of text enters on its way from the agent to the stream."""
    modules: set[str] = set()
    with post(url, "message/stream") as stream:
        frames = _frames(stream)
        while "word" not in next(frames):
            pass
        for _ in range(2):  # the second one counts
            entered.on()
            loop.call_soon_threadsafe(next_piece.set)
            while "word" not in next(frames):
                pass
            modules = entered.off()
        for _ in range(2):
            loop.call_soon_threadsafe(next_piece.set)
    return modules


def _frames(stream: HTTPResponse) -> Iterator[str]:
    for line in stream:
        if line.startswith(b"data:"):
            yield line.decode()


def entered_modules() -> dict[str, set[str]]:
    """What each kind of call enters, on an edge that keeps everything in memory."""
    found: dict[str, set[str]] = {}

    def measure(loop: asyncio.AbstractEventLoop, port: int) -> None:
        try:
            entered, base = Entered(loop), f"http://127.0.0.1:{port}/a2a"
            found["an echo call"] = call(entered, f"{base}/echo")
            found["a LangGraph call"] = call(entered, f"{base}/graph")
            found["a delta"] = delta(entered, loop, f"{base}/pieces")
        finally:
            os.kill(os.getpid(), signal.SIGTERM)

    def ready(port: int, *_: object) -> None:
        threading.Thread(target=measure, args=(asyncio.get_running_loop(), port), daemon=True).start()

    with tempfile.TemporaryDirectory() as folder:
        config = EdgeConfig.model_validate(
            {
                "a2a": {"listen": "127.0.0.1:0"},
                "data": {"ephemeral": True, "folder": folder},
                "agents": AGENTS,
                "logging": {"level": "error"},
            }
        )
        app.serve(config, ready=ready)
    return found


def code_modules() -> dict[Path, ast.Module]:
    """The modules that hold more than a docstring."""
    parsed = {path: ast.parse(path.read_text("utf-8")) for path in sorted(PACKAGE.rglob("*.py"))}
    return {path: tree for path, tree in parsed.items() if any(not isinstance(s, ast.Expr) for s in tree.body)}


def longest_function(modules: dict[Path, ast.Module]) -> int:
    """Units: lines without the docstring."""
    functions = (
        n for t in modules.values() for n in ast.walk(t) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)
    )
    return max(_lines_of(function) for function in functions)


def _lines_of(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    doc = ast.get_docstring(function, clean=False)
    return (function.end_lineno or 0) - function.lineno + 1 - (doc.count("\n") + 1 if doc else 0)


def arrows(modules: dict[Path, ast.Module]) -> set[tuple[str, str]]:
    """Which package at the top imports which: each pair once."""
    found = set()
    for path, tree in modules.items():
        here = path.relative_to(PACKAGE).with_suffix("").parts[0]
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("llamon_agent."):
                found.add((here, node.module.split(".")[1]))
    return {(one, other) for one, other in found if one != other}


def pytest_start_s() -> float:
    """How long the test runner takes to find one test file, with the repository's own options."""
    began = time.perf_counter()
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "tests/test_promises.py"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - began


def main() -> None:
    modules = code_modules()
    table = Table("what", "figure")
    table.add_row("modules with code", str(len(modules)))
    table.add_row("lines of src", str(sum(len(path.read_text("utf-8").splitlines()) for path in PACKAGE.rglob("*.py"))))
    table.add_row("longest function, lines", str(longest_function(modules)))
    table.add_row("arrows between packages at the top", str(len(arrows(modules))))
    entered = entered_modules()
    for kind, names in entered.items():
        table.add_row(f"modules entered by {kind}", str(len(names)))
    table.add_row("start of pytest, seconds", f"{pytest_start_s():.1f}")
    console = Console()
    console.print(table)
    if "--names" in sys.argv:
        console.print({kind: sorted(names) for kind, names in entered.items()})


if __name__ == "__main__":
    main()
