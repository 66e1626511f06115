"""Kill an edge under load, again and again, and look whether anything is lost: `python -m tests.crash` (`make crash`).

Prints what was counted. Ends with 1 where something was violated, and then leaves everything in its folder. Each round
has a seed of its own, which is told with what it found; `--seed S --rounds 1` plays it again, as far as time allows.
"""

import argparse
import asyncio
import logging
import sys
import tempfile
import time
from pathlib import Path

from tests.crash.harness import crash
from tests.crash.rounds import Report

_log = logging.getLogger("crash")


def main() -> int:
    """The exit code: 0 where nothing was violated."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s", stream=sys.stderr)
    for chatty in ("httpx", "a2a"):
        logging.getLogger(chatty).setLevel(logging.WARNING)
    wanted = _arguments()
    folder = Path(tempfile.mkdtemp(prefix="crash-"))
    begun_s = time.monotonic()
    report = asyncio.run(crash(folder, rounds=wanted.rounds, seed=wanted.seed, tell=_tell, store=wanted.store))
    _log.info("%s", "\n".join(f"{count:>7} {name}" for name, count in sorted(report.counts.items())))
    _log.info("%d rounds from seed %d in %.0f s", wanted.rounds, wanted.seed, time.monotonic() - begun_s)
    for violation in report.violations:
        _log.error("VIOLATION %s", violation)
    if report.violations:
        _log.error("%d violations; everything is left in %s", len(report.violations), folder)
    return 1 if report.violations else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.crash", description=__doc__)
    parser.add_argument("--rounds", type=int, default=150)
    parser.add_argument("--store", choices=["sqlite", "postgres"], default="sqlite")
    parser.add_argument("--seed", type=int, default=1, help="of the first round; each next one has the next")
    return parser.parse_args()


def _tell(number: int, report: Report) -> None:
    deaths, tasks = report.counts["deaths"], report.counts["tasks"]
    _log.info("round %d: %d deaths, %d tasks, %d violations", number, deaths, tasks, len(report.violations))


if __name__ == "__main__":
    sys.exit(main())
