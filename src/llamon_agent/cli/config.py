"""`llamon config`: look at a configuration without serving it."""

import json
import sys
from pathlib import Path

from cyclopts import App

from llamon_agent.cli.exits import Exit, Usage
from llamon_agent.cli.options import AsJson
from llamon_agent.cli.screen import complain
from llamon_agent.cli.serve import default_file, listing, no_default_file
from llamon_agent.config_loading import load_config, write_schema
from llamon_agent.domain.errors import ConfigError

app = App(name="config", help="Check a configuration, or print its schema.", help_format="plaintext")


@app.command
def check(path: Path | None = None, /, *, as_json: AsJson = False) -> int:
    """Check a configuration file, with what the environment adds.

    Parameters
    ----------
    path
        The file. Without it: edge.yaml or configs/edge.yaml.
    as_json
        Print whether it is valid, and the problems or the whole configuration, as JSON. Tokens are not shown.
    """
    file = path or default_file()
    if file is None:
        raise Usage(f"{no_default_file()}; name a file")
    try:
        config = load_config(file, {})
    except ConfigError as error:
        if as_json:
            print(json.dumps({"file": str(file), "valid": False, "problems": error.public.splitlines()}))
        complain(error.public)
        return Exit.USAGE
    if as_json:
        print(json.dumps({"file": str(file), "valid": True, "config": config.model_dump(mode="json")}))
    else:
        print(f"{file} is valid.", *listing(config), sep="\n")
    return Exit.OK


@app.command
def schema() -> int:
    """Print the JSON Schema of the configuration file, for editors."""
    sys.stdout.write(write_schema())
    return Exit.OK
