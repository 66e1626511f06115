"""Call the edge with every client package and write docs/clients.md.

`python -m tests.e2e.clients` (`make clients-report`) ends with 1 where a client did not do what hosts.py says of it: a
failure without a reason there, or a reason for what works.
"""

import argparse
import datetime
import logging
import sys
import tempfile
from contextlib import ExitStack, redirect_stdout
from itertools import groupby
from pathlib import Path

from tests.e2e.clients.catalogue import Program, node_is_installed
from tests.e2e.clients.hosts import HOSTS, Host
from tests.e2e.clients.report import PAGE, Tried, written
from tests.e2e.clients.running import Running, running
from tests.e2e.clients.scenarios import SCENARIOS
from tests.e2e.clients.trying import verdict
from tests.e2e.conftest import running_edge

HERE = Path(__file__).parent

_log = logging.getLogger("clients")


def main() -> int:
    """The exit code: 0 where each client did what is expected of it."""
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)
    logging.getLogger("httpx").setLevel(logging.WARNING)
    wanted = _arguments()
    hosts = [host for host in HOSTS if wanted.only in host.title and _is_installed(host.program)]
    with tempfile.TemporaryDirectory() as folder:
        results = [result for group in _by_program(hosts) for result in _tried(group, Path(folder))]
    if wanted.write:
        today = datetime.datetime.now(datetime.UTC).date()
        PAGE.write_text(written(PAGE.read_text() if PAGE.exists() else "", results, HOSTS, today=today))
    return _verdict(results)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.e2e.clients", description=__doc__)
    parser.add_argument("--only", default="", metavar="TEXT", help="only the clients whose title holds this text")
    parser.add_argument("--no-write", dest="write", action="store_false", help="leave docs/clients.md as it is")
    return parser.parse_args()


def _is_installed(program: Program) -> bool:
    installed = program.needs.exists() and (node_is_installed() or not program.node)
    if not installed:
        _log.info("%s is not installed, and is left out", program.name)
    return installed


def _by_program(hosts: list[Host]) -> list[list[Host]]:
    by_name = sorted(hosts, key=lambda host: (host.program.name, host.config))
    return [list(group) for _, group in groupby(by_name, key=lambda host: (host.program.name, host.config))]


def _tried(hosts: list[Host], folder: Path) -> list[Tried]:
    """Those of one program, which call one edge."""
    program, config = hosts[0].program, hosts[0].config
    data = Path(tempfile.mkdtemp(dir=folder)) / "data"
    with ExitStack() as stack:
        stack.enter_context(redirect_stdout(None))
        edge = stack.enter_context(running_edge("--config", str(HERE / f"{config}.yaml"), data=data))
        process = stack.enter_context(running(program, folder / f"{program.name}.log"))
        return [_result(host, process, edge.url) for host in hosts]


def _result(host: Host, program: Running, url: str) -> Tried:
    verdicts = {}
    for name in SCENARIOS:
        verdicts[name], why = verdict(host, program, url, name)
        _log.info("%s: %s %s %s", host.title, name, verdicts[name], why)
    return Tried(host=host, verdicts=verdicts)


def _verdict(results: list[Tried]) -> int:
    bad = [
        f"{each.host.title}: {name} is {found}, and hosts.py says {each.host.expected(name)}"
        for each in results
        for name, found in each.verdicts.items()
        if found != each.host.expected(name)
    ]
    for line in bad:
        _log.error("%s", line)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
