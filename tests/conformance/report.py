"""docs/conformance.md: a table of the runs, and the failures explained.

A row is replaced when its run is made again, and stays, with its date, when it is not: so a run of one kit keeps what
the page says of the others.
"""

import datetime
from collections.abc import Iterable, Sequence

from tests.conformance.environments import ROOT
from tests.conformance.explanations import Explanation
from tests.conformance.results import Result
from tests.pages import Row, items, merged, plain

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
    new = [_row(result, today) for result in results]
    return _HEAD + merged(page, new, keys=_KEYS, columns=_COLUMNS) + _explained(list(explained))


def _row(result: Result, today: datetime.date) -> Row:
    run = result.run
    counts = (result.passed, len(result.failed), result.skipped)
    return [run.kit.name, run.kit.version, run.suite, run.transport, *map(str, counts), today.isoformat()]


def _explained(explained: Sequence[Explanation]) -> str:
    if not explained:
        return ""
    return "\n## What fails, and why\n\n" + items(
        [f"**{plain(each.test)}** ({plain(each.runs)}): {each.why}" for each in explained]
    )
