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

Where a suite is of all capabilities, the edge declares what it has: bearer tokens, an extended card, streams, webhooks,
signed cards, and gRPC in the card. The suites of no capabilities look at how each of these is refused. `authentication`
runs without the token. The column of skipped tests holds also what a kit marks itself as expected to fail.

- **A token.** No kit here takes one. A hook of ours ([sitecustomize.py](../tests/conformance/hooks/sitecustomize.py))
  adds it to what a kit's HTTP and gRPC clients send, by the variables `A2A_AUTH_TYPE` and `A2A_AUTH_TOKEN`, which newer
  versions of the official kit read themselves.
- **gRPC's address.** The suite of 0.3 parses it as a URL, while 0.3's clients dial `host:port`. So it is run with
  `a2a.grpc.card_url: url`; see [configuration](configuration.md#grpc).
- **a2a-testbed** is run with `--strict`. Without, it counts an operation that is refused with another code than the one
  it wants as passed.
- **The newest official kit.** The newest commit that could be had as a whole is the one below, of May 2026. Of later
  ones single files could be read. What they ask besides is in our own tests over the wire: the agent behaviours
  `tck-auth-required` and `tck-delayed-complete` (the state after a blocking send, and after one that returns at once),
  `application/a2a+json` by default, FAILED_PRECONDITION, the same events on each stream of a task, the extended card
  with and without a token, and the protected header and the canonical form of signatures.

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
