"""What came of a kit's run, read from its report."""

from xml.etree import ElementTree

import msgspec
from tests.conformance.kits import Run


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """How many tests of a run passed and were skipped, and which failed, each as class and name."""

    run: Run
    passed: int
    failed: tuple[str, ...]
    skipped: int

    @property
    def line(self) -> str:
        return f"{self.run.title}: {self.passed} passed, {len(self.failed)} failed, {self.skipped} skipped"


def read_junit(run: Run, xml: bytes) -> Result:
    """A report in JUnit's XML, which pytest and a2a-testbed both write."""
    cases = list(ElementTree.fromstring(xml).iter("testcase"))
    failed = tuple(_name(case) for case in cases if case.find("failure") is not None or case.find("error") is not None)
    skipped = sum(case.find("skipped") is not None for case in cases)
    return Result(run=run, passed=len(cases) - len(failed) - skipped, failed=failed, skipped=skipped)


def _name(case: ElementTree.Element) -> str:
    return f"{case.get('classname', '').rpartition('.')[2]}::{case.get('name')}"
