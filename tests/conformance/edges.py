"""Our edge, served for a kit."""

import json
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tests.card_keys import pem, private
from tests.e2e.conftest import running_edge

CONFIGS = Path(__file__).parent / "configs"

TOKEN = "a-token-for-kits"


@contextmanager
def serving(config: str, data: Path, *, environment: Mapping[str, str], guarded: bool) -> Iterator[str]:
    """An edge with one of the configurations next to this file, on a free port of the loopback; gives its address.

    Shape: a guarded one asks for a token and signs its cards, which needs an address that is known before it starts.
    """
    port = _free_port() if guarded else 0
    more = _guarded(port) if guarded else {}
    arguments = ("--config", str(CONFIGS / f"{config}.yaml"))
    with running_edge(*arguments, data=data, env={**environment, **more}, port=port) as edge:
        yield edge.url


def _guarded(port: int) -> dict[str, str]:
    return {
        "LLAMON_A2A__BEARER_TOKEN": TOKEN,
        "LLAMON_A2A__PUBLIC_URL": f"http://127.0.0.1:{port}",
        "LLAMON_A2A__SIGNING": json.dumps({"keys": {"kit": {"key": pem(private("ES256"))}}}),
    }


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port: int = taken.getsockname()[1]
        return port
