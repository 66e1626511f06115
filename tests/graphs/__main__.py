"""Serve and drive the projects of a folder, and write docs/compatibility.md: `make graphs GRAPHS_DIR=...`.

Each project gets an environment of its own, and is then driven by a process of its own, where only loopback exists and
for a limited time. Environments, logs and outcomes are kept in GRAPHS_WORK, by default `../graphs-work` beside the
folder of checkouts.
"""

import argparse
import asyncio
import json
import logging
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from tests.e2e.conftest import ROOT
from tests.graphs import outcomes
from tests.graphs.driving import Template
from tests.graphs.outcomes import FAILS, Found, Outcome
from tests.graphs.projects import Installed, Project, install, our_wheel, projects, templates, version_of
from tests.graphs.report import PAGE, written
from tests.graphs.serving import Site, drive
from tests.graphs.stub import web
from tests.graphs.stub.improvised import improvise
from tests.model_server import model_server

_log = logging.getLogger("graphs")


def main() -> int:
    """The exit code: 0 where every project was driven, whatever was found."""
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)
    wanted = _arguments()
    folder, work = wanted.folder.resolve(), (wanted.work or wanted.folder.parent / "graphs-work").resolve()
    chosen = [each for each in projects(folder) if wanted.only in each.name]
    if wanted.inside:
        [project] = [each for each in chosen if each.name == wanted.only]
        asyncio.run(_drive(project, Path(wanted.inside), work, templates(folder).get(project.name, {})))
        return 0
    work.mkdir(parents=True, exist_ok=True)
    wheel = our_wheel(work)
    founds = [found for project in chosen for found in _found(project, folder, work, wheel, wanted.limit_s)]
    if wanted.write:
        PAGE.write_text(written(PAGE.read_text() if PAGE.exists() else "", founds))
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.graphs", description=__doc__)
    parser.add_argument("folder", type=Path, help="a folder of checkouts; inputs.json in it has values for data parts")
    parser.add_argument("--work", type=Path, help="where environments, logs and outcomes are kept")
    parser.add_argument("--only", default="", metavar="TEXT", help="only the projects whose path holds this text")
    parser.add_argument("--limit-s", type=int, default=300, help="seconds that the driving of a project may take")
    parser.add_argument("--no-write", dest="write", action="store_false", help="leave docs/compatibility.md as it is")
    parser.add_argument("--inside", default="", help=argparse.SUPPRESS)  # the process of one project: its interpreter
    return parser.parse_args()


def _found(project: Project, folder: Path, work: Path, wheel: Path, limit_s: int) -> list[Found]:
    """Install and drive one project."""
    installed = install(project, work / "environments" / project.key, wheel)
    outcome = _outcomes(project, work)
    outcome.parent.mkdir(exist_ok=True)
    outcome.unlink(missing_ok=True)
    if installed.python is not None:
        _run(project, installed.python, folder, work, limit_s)
    written = json.loads(outcome.read_text()) if outcome.exists() else []
    founds = [outcomes.read(each) for each in written] or [
        _nothing(project, name, installed) for name in project.graphs
    ]
    for found in founds:
        found.version = project.commit
        found.langgraph = version_of(installed.python, "langgraph") if installed.python else ""
        found.fault = found.fault or installed.problem
        _log.info("%s", _line(found))
    return founds


def _nothing(project: Project, graph: str, installed: Installed) -> Found:
    problem = installed.problem if installed.python is None else "nothing was found within the time"
    return Found(project.name, graph, columns={"starts": Outcome(FAILS, problem)})


def _line(found: Found) -> str:
    columns = " ".join(f"{name}={outcome.verdict}" for name, outcome in found.columns.items())
    return f"{found.project} {found.graph}: {columns} {found.fault}"


def _outcomes(project: Project, work: Path) -> Path:
    return work / "outcomes" / f"{project.key}.json"


def _run(project: Project, python: Path, folder: Path, work: Path, limit_s: int) -> None:
    """A process for one project, with nothing but loopback around it, where names of the web lead, too."""
    log = work / "logs" / f"{project.key}.log"
    log.parent.mkdir(exist_ok=True)
    this = (sys.executable, "-m", "tests.graphs", str(folder), "--work", str(work))
    command = web.alone(work, *this, "--only", project.name, "--inside", str(python))
    with log.open("w") as out:
        process = subprocess.Popen(command, cwd=ROOT, stdout=out, stderr=out)
        try:
            process.wait(limit_s)
        except subprocess.TimeoutExpired:
            process.kill()  # and, by --kill-child, all that runs inside
            process.wait()


async def _drive(project: Project, python: Path, work: Path, inputs: Mapping[str, Template]) -> None:
    """Inside: the model server, the edge and the driver."""
    data = work / "data" / project.key
    shutil.rmtree(data, ignore_errors=True)
    data.parent.mkdir(exist_ok=True)
    data.with_name(f"{data.name}.log").unlink(missing_ok=True)
    async with model_server() as model, web.serving(model, work) as certificates:
        model.says(improvise)
        site = Site(project.name, project.file, data, python, model, inputs, env=certificates)
        outcome = _outcomes(project, work)
        site.report = lambda: _keep(outcome, site.founds)
        await drive(site, project.graphs)


def _keep(file: Path, founds: dict[str, Found]) -> None:
    file.write_text(json.dumps([outcomes.write(found) for found in founds.values()]))


if __name__ == "__main__":
    sys.exit(main())
