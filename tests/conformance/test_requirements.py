"""The requirements and the tests that bear them know of each other."""

import re
from pathlib import Path

from tests.conformance.requirements import GAPS, REQUIREMENTS

_TESTS = Path(__file__).parents[1]
_MARK = re.compile(r"mark\.requirement\(\s*\"([^\"]+)\"\s*\)")


def marked() -> set[str]:
    """Every id that a test bears, read from the source: a test that is left out today still bears it."""
    return {found for file in _TESTS.rglob("test_*.py") for found in _MARK.findall(file.read_text())}


def test_every_requirement_has_a_test_or_is_a_known_gap() -> None:
    assert REQUIREMENTS.keys() - marked() == GAPS.keys()


def test_every_mark_is_a_requirement() -> None:
    assert marked() <= REQUIREMENTS.keys()
