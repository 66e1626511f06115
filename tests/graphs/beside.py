"""The same graphs served by `langgraph dev` and by us, side by side: `python -m tests.graphs.beside FOLDER --only ...`.

Both get the same model, the same keys and the same inputs, each in a process tree of its own with nothing but loopback
around it. `langgraph dev` (package `langgraph-cli[inmem]`) is called by its own SDK, which is its best case; we are
called by the official A2A client. What it prints is the table of docs/langgraph-dev.md.
"""

import argparse
import asyncio
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import httpx
from langgraph_sdk import get_client
from tests.e2e.conftest import ROOT
from tests.graphs.driving import LIMIT_S, Drive, Template, filled, outcome_of
from tests.graphs.outcomes import FAILS, NONE, WORKS, Outcome
from tests.graphs.projects import Project, dependencies, install, our_wheel, projects, templates, uv_install, version_of
from tests.graphs.serving import Site, environment, served
from tests.graphs.stub import web
from tests.graphs.stub.improvised import SLOW, improvise
from tests.model_server import ModelServer, model_server

COLUMNS = ("starts", "answers", "streams", "asks and resumes", "cancels", "latency")
CALLS = 15
READY_S = 90.0
GRAPH_S = 400.0
PORT = 8123
URL = f"http://127.0.0.1:{PORT}"
_MOST_QUESTIONS = 4

Outcomes = dict[str, Outcome]
Step = Callable[[], Awaitable[Outcome]]


@dataclass(frozen=True)
class Place:
    """A graph of a project, the interpreters of both environments, and where outcomes, logs and data are kept."""

    project: Project
    graph: str
    template: Template | None
    ours: Path
    theirs: Path
    work: Path

    @property
    def outcome(self) -> Path:
        return self.work / f"{self.project.key}.beside.json"


class TheirDrive:
    """One graph of a `langgraph dev`, called by its SDK."""

    def __init__(self, graph: str, model: ModelServer, template: Template | None) -> None:
        self._client = get_client(url=URL)
        self._graph, self._model, self._template = graph, model, template
        self._asked: Any = None

    async def sends(self) -> Outcome:
        thread, values = await self._run("Please remember heron1")
        if (asked := await self._questions(thread)) is not None:
            self._asked = thread, asked
            return Outcome(WORKS, "asks")
        return Outcome(WORKS if values and "__error__" not in values else FAILS, str(values)[:200])

    async def streams(self) -> Outcome:
        thread = await self._thread()
        parts = self._client.runs.stream(
            thread, self._graph, input=self._input("Say heron2"), stream_mode="messages-tuple"
        )
        events = [part.event async for part in parts]
        if "error" in events:
            return Outcome(FAILS, "an error in the stream")
        return Outcome(WORKS, f"{sum(event.startswith('messages') for event in events)} pieces")

    async def asks(self) -> Outcome:
        if self._asked is None:
            return Outcome(NONE)
        thread, asked = self._asked
        for _ in range(_MOST_QUESTIONS):
            await self._client.runs.wait(thread, self._graph, command={"resume": reply_to(asked)})
            if (asked := await self._questions(thread)) is None:
                return Outcome(WORKS)
        return Outcome(FAILS, "it asks on")

    async def cancels(self) -> Outcome:
        self._model.waiting.clear()
        thread = await self._thread()
        run = await self._client.runs.create(thread, self._graph, input=self._input(f"Take your time, {SLOW} heron3"))
        waits = asyncio.ensure_future(self._model.waiting.wait())
        ends = asyncio.ensure_future(self._client.runs.join(thread, run["run_id"]))
        await asyncio.wait((waits, ends), return_when=asyncio.FIRST_COMPLETED)
        waits.cancel()
        if not self._model.waiting.is_set():
            return Outcome(NONE)
        began = time.monotonic()
        await self._client.runs.cancel(thread, run["run_id"], wait=True)
        state = (await self._client.runs.get(thread, run["run_id"]))["status"]
        ends.cancel()
        return Outcome(WORKS if state == "interrupted" else FAILS, f"{state} after {time.monotonic() - began:.1f} s")

    async def call(self) -> None:
        await self._run("Say it")

    async def _run(self, text: str) -> tuple[str, Any]:
        thread = await self._thread()
        return thread, await self._client.runs.wait(thread, self._graph, input=self._input(text))

    async def _thread(self) -> str:
        return str((await self._client.threads.create())["thread_id"])

    def _input(self, text: str) -> Any:
        if self._template is not None:
            return filled(self._template, text)
        return {"messages": [{"role": "user", "content": text}]}

    async def _questions(self, thread: str) -> Any:
        state: Any = await self._client.threads.get_state(thread)
        asked = [each["value"] for task in state["tasks"] for each in task["interrupts"]]
        return asked or None


def reply_to(asked: Any) -> Any:
    """What a person answers: in the form of LangGraph's agent inbox where the question has it."""
    first = asked[0][0] if isinstance(asked[0], list) else asked[0]
    if isinstance(first, Mapping) and "action_request" in first:
        return [{"type": "ignore" if first.get("config", {}).get("allow_ignore") else "accept", "args": None}]
    return "yes"


async def _columns(steps: Mapping[str, Step]) -> Outcomes:
    found: Outcomes = {"starts": Outcome(WORKS)}
    for name, step in steps.items():
        found[name] = await outcome_of(step())
        if found["answers"].verdict == FAILS:
            break
    return found


def _steps(driven: Drive | TheirDrive) -> Mapping[str, Step]:
    return {
        "answers": driven.sends,
        "streams": driven.streams,
        "asks and resumes": driven.asks,
        "cancels": driven.cancels,
        "latency": lambda: _latency(driven.call),
    }


async def _latency(call: Callable[[], Awaitable[None]]) -> Outcome:
    """The median of some calls, one after the other, after one to warm up."""
    took = []
    for _ in range(CALLS + 1):
        began = time.perf_counter()
        await call()
        took.append(time.perf_counter() - began)
    return Outcome(f"{median(took[1:]) * 1000:.0f} ms")


async def _drive_both(place: Place) -> None:
    """Inside: serve and drive both, and keep what was found."""
    async with model_server() as model, web.serving(model, place.work) as certificates:
        model.says(improvise)
        found = {"ours": await _ours(place, model, certificates), "theirs": await _theirs(place, model, certificates)}
    written = {who: {name: [each.verdict, each.note] for name, each in of.items()} for who, of in found.items()}
    place.outcome.write_text(json.dumps(written))


async def _ours(place: Place, model: ModelServer, certificates: Mapping[str, str]) -> Outcomes:
    data = place.work / "beside-data" / place.project.key
    shutil.rmtree(data, ignore_errors=True)
    data.parent.mkdir(exist_ok=True)
    site = Site(place.project.name, place.project.file, data, place.ours, model, {}, env=certificates)
    async with httpx.AsyncClient(timeout=LIMIT_S) as http:
        try:
            with site.serving() as edge:
                [url] = (await served(http, edge.url, [place.graph])).values()
                return await _columns(_steps(Drive(http, url, model, place.template)))
        except (AssertionError, ValueError) as exc:
            return {"starts": Outcome(FAILS, str(exc)[:200])}


async def _theirs(place: Place, model: ModelServer, certificates: Mapping[str, str]) -> Outcomes:
    try:
        with _their_server(place, {**environment(model.url), **certificates}) as process:
            await _ready(process)
            return await _columns(_steps(TheirDrive(place.graph, model, place.template)))
    except (AssertionError, TimeoutError) as exc:
        return {"starts": Outcome(FAILS, str(exc))}


@contextmanager
def _their_server(place: Place, env: Mapping[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    command = (str(place.theirs.parent / "langgraph"), "dev", "--no-browser", "--no-reload", "--allow-blocking")
    with (place.work / f"{place.project.key}.dev.log").open("w") as out:
        process = subprocess.Popen(
            (*command, "--port", str(PORT), "--config", str(place.project.file)),
            cwd=place.project.file.parent,
            stdout=out,
            stderr=out,
            env={**os.environ, **env},
        )
        try:
            yield process
        finally:
            process.kill()
            process.wait()


async def _ready(process: subprocess.Popen[bytes]) -> None:
    """Wait until it answers; its own client retries nothing."""
    async with httpx.AsyncClient(transport=httpx.AsyncHTTPTransport(retries=0)) as http, asyncio.timeout(READY_S):
        while process.poll() is None:
            try:
                if (await http.get(f"{URL}/ok")).is_success:
                    return
            except httpx.HTTPError:
                await asyncio.sleep(0.2)
    raise AssertionError(f"langgraph dev ended with {process.returncode}")


def _their_environment(project: Project, folder: Path) -> Path:
    python = folder / "bin" / "python"
    if not python.exists():
        subprocess.run((sys.executable, "-m", "venv", "--without-pip", str(folder)), check=True)
        problem = uv_install(python, "langgraph-cli[inmem]", *dependencies(project))
        assert not problem, problem
    return python


def row(place: Place) -> str:
    """Of the table: in each cell theirs, then ours."""
    found = json.loads(place.outcome.read_text())
    cells = [" / ".join(found[who].get(name, [""])[0] or "not tried" for who in ("theirs", "ours")) for name in COLUMNS]
    return f"| {' | '.join([place.project.name, place.graph, *cells])} |"


def _run(place: Place, folder: Path) -> None:
    """A process for one graph, with nothing but loopback around it, where names of the web lead, too."""
    this = (sys.executable, "-m", "tests.graphs.beside", folder, "--work", place.work)
    chosen = ("--only", f"{place.project.name}:{place.graph}", "--inside", place.ours, place.theirs)
    command = web.alone(place.work, *map(str, (*this, *chosen)))
    subprocess.run(command, cwd=ROOT, check=False, timeout=GRAPH_S)


def main() -> None:
    """Print a row of the table for each graph."""
    wanted = _arguments()
    found = {each.name: each for each in projects(wanted.folder)}
    wheel = None if wanted.inside else our_wheel(wanted.work)
    for choice in wanted.only:
        name, _, graph = choice.partition(":")
        project, template = found[name], templates(wanted.folder).get(name, {}).get(graph)
        if wheel is None:
            ours, theirs = map(Path, wanted.inside)
            asyncio.run(_drive_both(Place(project, graph, template, ours, theirs, wanted.work)))
            continue
        installed = install(project, wanted.work / "environments" / project.key, wheel)
        assert installed.python is not None, installed.problem
        theirs = _their_environment(project, wanted.work / "environments-dev" / project.key)
        place = Place(project, graph, template, installed.python, theirs, wanted.work)
        _run(place, wanted.folder)
        print(row(place), version_of(theirs, "langgraph-api"), flush=True)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.graphs.beside", description=__doc__)
    parser.add_argument("folder", type=Path, help="a folder of checkouts, as for `make graphs`")
    parser.add_argument("--work", type=Path, required=True, help="where environments, logs and outcomes are kept")
    parser.add_argument("--only", nargs="+", required=True, metavar="PROJECT:GRAPH")
    parser.add_argument("--inside", nargs=2, help=argparse.SUPPRESS)  # both interpreters, in the process of one graph
    return parser.parse_args()


if __name__ == "__main__":
    main()
