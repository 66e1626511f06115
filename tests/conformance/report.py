"""docs/conformance.md: a table of the runs, and the failures explained.

A row is replaced when its run is made again, and stays, with its date, when it is not: so a run of one kit keeps what
the page says of the others.
"""

import datetime
import textwrap
from collections.abc import Iterable, Sequence

from tests.conformance.environments import ROOT
from tests.conformance.explanations import Explanation
from tests.conformance.results import Result

PAGE = ROOT / "docs" / "conformance.md"

_HEAD = """\
# Conformance

The results of other projects' suites against `llamon serve` with the agents in
[tests/conformance](../tests/conformance/agent.py). The command that runs them writes this page:

```sh
make conformance                              # a2a-testbed, which CI runs too
make conformance TCK_DIR=/path/to/a2a-tck     # and the official kit, a git checkout with tags and branches
```

The suite of 0.3 parses gRPC's address as a URL, while 0.3's clients dial `host:port`. So it is run with
`a2a.grpc.card_url: url`; see [configuration](configuration.md#grpc). The official kit at these versions cannot be given
a token, so its tests of the extended card, which is for callers with one, are skipped (six in 1.0-dev). Our own tests
ask for that card over every binding.

| kit | version | suite | transport | passed | failed | skipped | date |
|---|---|---|---|---|---|---|---|
"""
_KEYS = 4
"""How many of the columns say which run a row is of."""

_COLUMNS = 8


def written(page: str, results: Sequence[Result], explained: Iterable[Explanation], *, today: datetime.date) -> str:
    """The page after these runs, given what it was before."""
    rows = {tuple(row[:_KEYS]): row for row in _rows(page)}
    rows |= {tuple(row[:_KEYS]): row for row in (_row(result, today) for result in results)}
    lines = [f"| {' | '.join(row)} |\n" for _, row in sorted(rows.items())]
    return _HEAD + "".join(lines) + _explained(list(explained))


def _rows(page: str) -> list[list[str]]:
    rows = [[cell.strip() for cell in line.strip("|\n ").split("|")] for line in page.splitlines() if line[:2] == "| "]
    return [row for row in rows if len(row) == _COLUMNS and row[0] != "kit"]


def _row(result: Result, today: datetime.date) -> list[str]:
    run = result.run
    counts = (result.passed, len(result.failed), result.skipped)
    return [run.kit.name, run.kit.version, run.suite, run.transport, *map(str, counts), today.isoformat()]


def _explained(explained: Sequence[Explanation]) -> str:
    if not explained:
        return ""
    items = [f"- **{_plain(each.test)}** ({_plain(each.runs)}): {each.why}" for each in explained]
    wrapped = [
        textwrap.fill(item, 120, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False) + "\n"
        for item in items
    ]
    return "\n## What fails, and why\n\n" + "".join(wrapped)


def _plain(text: str) -> str:
    """A pattern's stars are stars, not emphasis."""
    return text.replace("*", "\\*")
