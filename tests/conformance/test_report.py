"""How a kit's report becomes the page, and what is said of a failure; no kit is run here."""

import datetime

import pytest
from tests.conformance.agent import SCENARIOS, scenario_of
from tests.conformance.explanations import Explanation, stale, unexplained
from tests.conformance.kits import Kit, Run
from tests.conformance.report import written
from tests.conformance.results import Result, read_junit

TODAY = datetime.date(2026, 11, 30)
KIT = Kit(name="a-kit", version="1", test=lambda _run, _url, _report: "")
KNOWN = Explanation(runs="a-kit 1, a*", test="*::breaks", why="It is wrong.")


def run(suite: str = "all", transport: str = "JSON-RPC") -> Run:
    return Run(kit=KIT, config="c", transport=transport, suite=suite)


def result(*failed: str, suite: str = "all", passed: int = 1) -> Result:
    return Result(run=run(suite), passed=passed, failed=failed, skipped=0)


def test_a_report_of_junit_is_counted_and_its_failures_are_named() -> None:
    xml = b"""<testsuites><testsuite>
        <testcase classname="a.b.C" name="passes"/>
        <testcase classname="a.b.C" name="fails"><failure message="x"/></testcase>
        <testcase classname="a.b.C" name="breaks"><error message="x"/></testcase>
        <testcase classname="a.b.C" name="waits"><skipped message="x"/></testcase>
    </testsuite></testsuites>"""
    assert read_junit(run(), xml) == Result(run=run(), passed=1, failed=("C::fails", "C::breaks"), skipped=1)


def test_a_failure_is_explained_for_its_runs_only() -> None:
    assert list(unexplained(result("C::breaks"), [KNOWN])) == []
    assert list(unexplained(result("C::fails"), [KNOWN])) == ["a-kit 1, all, JSON-RPC: C::fails"]
    assert list(unexplained(result("C::breaks", suite="some"), [KNOWN])) == ["a-kit 1, some, JSON-RPC: C::breaks"]


def test_an_explanation_of_what_passes_is_stale_and_one_of_another_run_is_not() -> None:
    assert list(stale([result()], [KNOWN])) == ["a-kit 1, all, JSON-RPC: *::breaks"]
    assert list(stale([result("C::breaks"), result(suite="some")], [KNOWN])) == []


def test_a_run_takes_the_place_of_its_row_and_leaves_the_others_with_their_dates() -> None:
    first = written("", [result(), result(suite="some")], [], today=TODAY)
    later = written(first, [result("C::breaks", passed=7)], [KNOWN], today=datetime.date(2026, 12, 1))
    assert "| a-kit | 1 | some | JSON-RPC | 1 | 0 | 0 | 2026-11-30 |\n" in later
    assert "| a-kit | 1 | all | JSON-RPC | 7 | 1 | 0 | 2026-12-01 |\n" in later
    assert later.count("| a-kit | 1 |") == 2
    assert later.endswith("- **\\*::breaks** (a-kit 1, a\\*): It is wrong.\n")


@pytest.mark.parametrize(
    ("message_id", "prefix"),
    [
        ("tck-artifact-file-url-7", "tck-artifact-file-url"),
        ("tck-artifact-file-7", "tck-artifact-file"),
        ("tck-unheard-of", None),
    ],
)
def test_the_longest_prefix_says_what_the_agent_does(message_id: str, prefix: str | None) -> None:
    assert scenario_of(message_id) is (SCENARIOS[prefix] if prefix else None)
