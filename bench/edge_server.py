"""This edge with the echo agent. Usage: edge_server PORT CHUNKS [DATA_FOLDER]; in memory without a folder."""

import sys
from pathlib import Path

from llamon_agent.app import serve
from llamon_agent.config_loading import load_config
from llamon_agent.telemetry import set_up_logging


def main() -> None:
    port, chunks, *folder = sys.argv[1:]
    set_up_logging("warning", "console")
    data = {"folder": Path(folder[0])} if folder else {"ephemeral": True}
    a2a = {"listen": f"127.0.0.1:{port}", "adapter": "echo", "target": chunks}
    serve(load_config(None, {"a2a": a2a, "data": data}))


if __name__ == "__main__":
    main()
