"""Run the kits against our edge and write docs/conformance.md: `python -m tests.conformance` (`make conformance`).

`a2a-testbed` always runs. The official kit runs where TCK_DIR names a git checkout of it. Ends with 1 where a test
failed that nobody explained, or an explanation is out of date.
"""

import argparse
import datetime
import logging
import os
import sys
import tempfile
from contextlib import redirect_stdout
from pathlib import Path

from tests.conformance.edges import serving
from tests.conformance.environments import MissingPython
from tests.conformance.explanations import EXPLANATIONS, stale, unexplained
from tests.conformance.kits import Run, official, testbed
from tests.conformance.report import PAGE, written
from tests.conformance.results import Result, read_junit

_log = logging.getLogger("conformance")


def main() -> int:
    """The exit code: 0 where every failure is explained, and every explanation is of a failure."""
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)
    wanted = _arguments()
    results: list[Result] = []
    with tempfile.TemporaryDirectory() as folder:
        runs = [run for run in _runs(Path(folder)) if wanted.only in run.title]
        try:
            results.extend(_result_of(run, Path(folder)) for run in runs)
        except MissingPython as exc:
            _log.error("%s", exc)
            return 0 if "KIT_OPTIONAL" in os.environ else 1
        finally:  # what was found before something broke is found all the same
            if wanted.write:
                _write(results)
    return _verdict(results)


def _write(results: list[Result]) -> None:
    today = datetime.datetime.now(datetime.UTC).date()
    PAGE.write_text(written(PAGE.read_text() if PAGE.exists() else "", results, EXPLANATIONS, today=today))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.conformance", description=__doc__)
    parser.add_argument("--only", default="", metavar="TEXT", help="only the runs whose title holds this text")
    parser.add_argument("--no-write", dest="write", action="store_false", help="leave docs/conformance.md as it is")
    return parser.parse_args()


def _runs(folder: Path) -> list[Run]:
    runs = testbed()
    if checkout := os.environ.get("TCK_DIR"):
        runs += official(Path(checkout), folder)
    else:
        _log.info("TCK_DIR is not set: the official kit is left out")
    return runs


def _result_of(run: Run, folder: Path) -> Result:
    """Serve what the run asks for, and let the kit loose on it."""
    report = folder / "report.xml"
    report.unlink(missing_ok=True)
    edge = serving(run.config, folder / "data", environment=run.edge_environment, guarded=run.guarded)
    with redirect_stdout(None), edge as url:
        output = run.kit.test(run, url, report)
    if not report.exists():
        raise RuntimeError(f"{run.title}: the kit wrote no report\n{output}")
    result = read_junit(run, report.read_bytes())
    _log.info("%s", result.line)
    return result


def _verdict(results: list[Result]) -> int:
    bad = [f"not explained: {text}" for result in results for text in unexplained(result)]
    bad += [f"explained, and passes now: {text}" for text in stale(results)]
    for line in bad:
        _log.error("%s", line)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
