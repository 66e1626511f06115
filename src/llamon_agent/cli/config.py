"""`llamon config`: check a configuration without serving it."""

import asyncio
import json
import sys
from collections.abc import Mapping
from contextlib import redirect_stdout
from pathlib import Path

from cyclopts import App

from llamon_agent.cli.exits import Exit, Usage
from llamon_agent.cli.options import AsJson, default_file
from llamon_agent.cli.screen import complain
from llamon_agent.cli.serve import listing, no_default_file
from llamon_agent.config.edge import EdgeConfig
from llamon_agent.config.langgraph_json import is_project
from llamon_agent.config.load import load_config, write_schema
from llamon_agent.domain.errors import ConfigError

app = App(name="config", help="Check a configuration, or print its schema.", help_format="plaintext")


@app.command
def check(path: Path | None = None, /, *, as_json: AsJson = False) -> int:
    """Check a configuration file, with what the environment adds. The graphs of a langgraph.json are loaded for it.

    Parameters
    ----------
    path
        The file, or a langgraph.json. Without it: edge.yaml or configs/edge.yaml.
    as_json
        Print whether it is valid, and the problems or the whole configuration, as JSON. Tokens are not shown.
    """
    file = path or default_file()
    if file is None:
        raise Usage(f"{no_default_file()}; name a file")
    try:
        config = _load(file)
        left_out = _left_out(config)
    except ConfigError as error:
        if as_json:
            print(json.dumps({"file": str(file), "valid": False, "problems": error.public.splitlines()}))
        complain(error.public)
        return Exit.USAGE
    if as_json:
        valid = {"file": str(file), "valid": True, "config": config.model_dump(mode="json")}
        print(json.dumps({**valid, "left_out": left_out} if left_out else valid))
    else:
        print(f"{file} is valid.", *listing(config, left_out), sep="\n")
    return Exit.OK


def _load(file: Path) -> EdgeConfig:
    """The configuration of a file. Raises: ConfigError."""
    if is_project(file.name) and file.is_file() and b'"graphs"' in file.read_bytes():
        return load_config(None, {"a2a": {"target": str(file), "adapter": "langgraph"}})
    return load_config(file, {})


def _left_out(config: EdgeConfig) -> Mapping[str, str]:
    """The graphs of a langgraph.json that would not be served, and why. Raises: ConfigError: nothing would be."""
    if config.a2a.project is None or not config.a2a.enabled:
        return {}
    from llamon_agent.app import find_left_out  # slow, and only here

    with redirect_stdout(sys.stderr):  # what graphs print is not what was asked for
        return asyncio.run(find_left_out(config))


@app.command
def schema() -> int:
    """Print the JSON Schema of the configuration file, for editors."""
    sys.stdout.write(write_schema())
    return Exit.OK
