"""This edge. Usage: edge_server PORT CONFIGURATION, the latter as JSON, shaped as the file is."""

import json
import sys

from llamon_agent.app import serve
from llamon_agent.config.load import load_config
from llamon_agent.serving.logs import set_up_logging


def main() -> None:
    port, configuration = sys.argv[1:]
    set_up_logging("warning", "console")
    config = json.loads(configuration)
    serve(load_config(None, {**config, "a2a": {**config["a2a"], "listen": f"127.0.0.1:{port}"}}))


if __name__ == "__main__":
    main()
