"""A few rounds of the crash harness; `make crash` has hundreds of deaths."""

from pathlib import Path

import pytest
from tests.crash.harness import crash


@pytest.mark.crash
@pytest.mark.timeout(120)
async def test_nothing_is_lost_when_the_edge_is_killed(tmp_path: Path) -> None:
    report = await crash(tmp_path, rounds=3, seed=1, tell=lambda number, found: None)
    assert report.violations == []
    assert report.counts["deaths"] >= 3
    assert report.counts["tasks completed"] >= 30
