"""Ask edges that stand on the lowest versions that pyproject.toml allows: `python -m tests.floors LOWEST EXTRAS`.

`make floors` does so. Both are where the programs of an environment are: one of the lowest LangGraph, and one of the
lowest versions that all extras together allow. On the first, one edge serves the demo, and another one a remote agent
(the demo) with Postgres. On the second, an edge has the same, a model and gRPC. Ends with an error if an answer is not
as it should be.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.e2e.conftest import ROOT, running_edge
from tests.postgres_server import running_postgres

from llamon_agent.cli.exits import Exit

POSTGRES = """
data: {{postgres: {{url: "{postgres}"}}}}
agents:
  gateway: {{target: "{root}/examples/gateway.py:graph"}}
"""
EXTRAS = """
  model: {{adapter: model, target: "openai:some-model"}}
a2a: {{grpc: {{listen: "127.0.0.1:0", card: true}}}}
"""


def main(lowest: Path, extras: Path) -> None:
    """Ask all edges."""
    with tempfile.TemporaryDirectory() as folder, running_postgres() as postgres:
        data = Path(folder)
        with running_edge("examples/demo_agent.py:graph", data=data / "demo", python=lowest / "python") as demo:
            converse(lowest / "llamon", demo.url)
            for programs, more in ((lowest, ""), (extras, EXTRAS)):
                config = data / "edge.yaml"
                config.write_text((POSTGRES + more).format(postgres=postgres.url(postgres.make_database()), root=ROOT))
                ask_gateway(programs, config, demo.url)


def ask_gateway(programs: Path, config: Path, demo: str) -> None:
    """Ask an edge that hands its messages on to the demo; by gRPC too, where it is configured."""
    env = {"REMOTE_AGENT_URL": demo, "OPENAI_API_KEY": "none"}
    python = programs / "python"
    with running_edge("--config", str(config), data=config.parent / "data", env=env, python=python) as edge:
        converse(programs / "llamon", edge.url)
        if "grpc" in config.read_text():
            ran(python, str(ROOT / "tests/floors/grpc_call.py"), edge.url)


def converse(llamon: Path, url: str) -> None:
    """A message and a second one that it is needed for; then a question and its answer, one of them as a stream."""
    ran(llamon, "send", url, "my number is 42", "--context", "floors")
    assert "42" in ran(llamon, "send", url, "what is my number?", "--context", "floors", "--stream")
    asked = told(ran(llamon, "send", url, "delete report.txt", "--json", code=Exit.ASKS))
    assert "report.txt" in ran(llamon, "send", url, "approve", "--task", asked["id"])
    assert told(ran(llamon, "get", url, asked["id"], "--json"))["status"]["state"] == "TASK_STATE_COMPLETED"


def told(line: str) -> Any:
    """A task as `--json` tells it."""
    value = json.loads(line)
    return value.get("task", value)


def ran(program: Path, *arguments: str, code: int = Exit.OK) -> str:
    """What a program says that ends as it should."""
    done = subprocess.run(
        [program, *arguments], capture_output=True, text=True, timeout=60, env={**os.environ, "NO_COLOR": "1"}
    )
    assert done.returncode == code, f"{' '.join(arguments)} ended with {done.returncode}:\n{done.stdout}{done.stderr}"
    return done.stdout


if __name__ == "__main__":
    main(Path(sys.argv[1]).absolute(), Path(sys.argv[2]).absolute())
