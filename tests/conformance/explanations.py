"""The failures that this project cannot fix, each with its reason; checked both ways.

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
        runs="a2a-tck 1.0-dev *, no capabilities, *",
        test="TestRestStreaming::test_streaming_content_type",
        why="The kit closes a refused stream unread and then asks for its body (httpx.ResponseNotRead), so no "
        "answer with a status of 400 or more can pass, and 1.0 §5.4 wants 400. Over JSON-RPC it skips the same test.",
    ),
    Explanation(
        runs="a2a-tck 1.0-dev *capabilities, errors of 1.0.1, *",
        test="TestGrpcStatusCodes::test_*_returns_unimplemented",
        why="GRPC-ERR-002: the kit has the error table of 1.0.0. 1.0.1 made UNIMPLEMENTED FAILED_PRECONDITION; "
        "`a2a.errors: 1.0.0` is the older table.",
    ),
)


def unexplained(result: Result, known: Iterable[Explanation] = EXPLANATIONS) -> Iterator[str]:
    """The failures without an explanation."""
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
