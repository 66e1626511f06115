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


_OLD_TABLE = "a2a-tck 1.0-dev *capabilities, errors of 1.0.1, *"

EXPLANATIONS: tuple[Explanation, ...] = (
    Explanation(
        runs="a2a-tck 1.0-dev *, no capabilities, *",
        test="TestRestStreaming::test_streaming_content_type",
        why="The kit closes a refused stream unread and then asks for its body (httpx.ResponseNotRead), so no "
        "answer with a status of 400 or more can pass, and 1.0 §5.4 wants 400. Over JSON-RPC it skips the same test.",
    ),
    Explanation(
        runs=_OLD_TABLE,
        test="TestGrpcStatusCodes::test_*_returns_unimplemented",
        why="GRPC-ERR-002: the kit has the error table of 1.0.0. 1.0.1 made UNIMPLEMENTED FAILED_PRECONDITION; "
        "`a2a.errors: 1.0.0` is the older table.",
    ),
    Explanation(
        runs=_OLD_TABLE,
        test="TestRestFormat::test_response_content_type",
        why="HTTP_JSON-SVC-001: the kit wants the `application/json` of 1.0.0. 1.0.1 §11.1 prefers "
        "`application/a2a+json`, and so does the kit since then; `a2a.errors: 1.0.0` gives the older one.",
    ),
    Explanation(
        runs="a2a-tck 0.3.0.beta4, authentication, *",
        test="test_agent_card_security::test_public_agent_card_access_control",
        why="The kit looks for the public card at the URL for calls, by GET. 0.3 §5.3 has it at "
        "`/.well-known/agent-card.json`, where it is public.",
    ),
    Explanation(
        runs="a2a-tck 0.3.0.beta4, authentication, *",
        test="test_agent_card_security::test_sensitive_information_protection",
        why="The kit takes the address 127.0.0.1 in a card for a secret. It is where the kit itself calls.",
    ),
    Explanation(
        runs="a2a-tck 0.3.0.beta4, [am]*, HTTP+JSON",
        test="TestAuthenticatedExtendedCard::test_authenticated_extended_card_*",
        why="The kit joins `/v1/card` to the host and drops the path of the card's URL, unlike for all other calls "
        "(0.3 §7.10, §3.5.3), and gets a 404.",
    ),
    Explanation(
        runs="a2a-tck 0.3.0.beta4, [am]*, gRPC",
        test="TestAuthenticatedExtendedCard::test_authenticated_extended_card_*",
        why="With the token the kit reads a field `type` of a2a.v1's SecurityScheme, which that has not. Without, it "
        "looks for `authentication` in the text of the error and not at its status, UNAUTHENTICATED.",
    ),
    Explanation(
        runs="a2a-testbed *, contracts of ?.?, all capabilities, *",
        test="transport::transport.agent_card_url_well_formed",
        why="The kit takes the address of gRPC, `host:port`, for a URL. The official clients dial it as it is, and "
        "A2A's proto file (AgentInterface.url) gives that as the example since July 2026.",
    ),
    Explanation(
        runs="a2a-testbed *, contracts of 0.3, no capabilities, *",
        test="transport::transport.extended_card_capability_consistency",
        why="The kit wants 1.0's -32004 where an agent has no extended card. 0.3 §8.2 has an error of its own for "
        "that, -32007.",
    ),
    Explanation(
        runs="a2a-testbed *, contracts of 0.3, no capabilities, *",
        test="transport::transport.streaming_capability_consistency",
        why="The kit wants a refused stream answered with plain JSON, by 1.0 §9.5. In 0.3 (§7) the answer to such a "
        "method is a stream, its official clients read nothing else there, and the error is its one event.",
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
