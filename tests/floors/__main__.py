"""Ask an edge that stands on the lowest versions that pyproject.toml allows: `python -m tests.floors BIN`.

`make floors` does so. BIN is where the programs of that environment are. One edge serves the demo. Another has what the
extras are for: a remote agent (the first edge), a model, gRPC and Postgres. Ends with an error where an answer is not
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

ALL = """
a2a: {{grpc: {{listen: "127.0.0.1:0", card: true}}}}
data: {{postgres: {{url: "{postgres}"}}}}
agents:
  gateway: {{target: "{root}/examples/gateway.py:graph"}}
  model: {{adapter: model, target: "openai:some-model"}}
"""


def main(programs: Path) -> None:
    """Ask both edges."""
    python = programs / "python"
    with tempfile.TemporaryDirectory() as folder, running_postgres() as postgres:
        data, config = Path(folder), Path(folder, "all.yaml")
        config.write_text(ALL.format(postgres=postgres.url(postgres.make_database()), root=ROOT))
        with running_edge("examples/demo_agent.py:graph", data=data / "demo", python=python) as demo:
            converse(programs / "llamon", demo.url)
            env = {"REMOTE_AGENT_URL": demo.url, "OPENAI_API_KEY": "none"}
            with running_edge("--config", str(config), data=data / "all", env=env, python=python) as extras:
                converse(programs / "llamon", extras.url)
                ran(python, str(ROOT / "tests/floors/grpc_call.py"), extras.url)


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
    main(Path(sys.argv[1]).absolute())
