"""The failures that are not ours to mend, each with its reason; held both ways.

A failure without an explanation here ends `make conformance` with an error, and so does an explanation of a test that
ran and did not fail.
"""

from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase

import msgspec
from tests.conformance.results import Result


class Explanation(msgspec.Struct, frozen=True, kw_only=True):
    """Why some tests of some runs fail.

    Shape: `runs` is a pattern (fnmatch) of a run's title, `test` one of a test's name.
    """

    runs: str
    test: str
    why: str

    def covers(self, result: Result, test: str) -> bool:
        return fnmatchcase(result.run.title, self.runs) and fnmatchcase(test, self.test)


EXPLANATIONS: tuple[Explanation, ...] = (
    Explanation(
        runs="a2a-testbed *",
        test="transport::transport.extensions_uri_absolute",
        why="The kit wants an extension to be named by an http(s) URL. The specification (1.0 §4.4.4, §4.6) says URI, "
        "and ours is a URN, urn:llamon-agent:history-seeding:v1.",
    ),
    Explanation(
        runs="a2a-tck 1.0-dev *, no capabilities, *",
        test="TestRestStreaming::test_streaming_content_type",
        why="The kit reads the body of a refused stream without having loaded it (httpx.ResponseNotRead), so it cannot "
        "take any refusal over HTTP+JSON; over JSON-RPC it skips the same test.",
    ),
    Explanation(
        runs="a2a-tck 1.0-dev *capabilities, errors of 1.0.1, *",
        test="TestGrpcStatusCodes::test_*_returns_unimplemented",
        why="GRPC-ERR-002: the kit has the error table of 1.0.0. 1.0.1 made UNIMPLEMENTED FAILED_PRECONDITION; "
        "`a2a.errors: 1.0.0` is the older table.",
    ),
)


def unexplained(result: Result, known: Iterable[Explanation] = EXPLANATIONS) -> Iterator[str]:
    """The failures that nobody explained."""
    for test in result.failed:
        if not any(explanation.covers(result, test) for explanation in known):
            yield f"{result.run.title}: {test}"


def stale(results: Iterable[Result], known: Iterable[Explanation] = EXPLANATIONS) -> Iterator[str]:
    """The explanations of which, in runs that they are about, no test failed."""
    results = list(results)
    for explanation in known:
        for result in results:
            if fnmatchcase(result.run.title, explanation.runs) and not any(
                explanation.covers(result, test) for test in result.failed
            ):
                yield f"{result.run.title}: {explanation.test}"
