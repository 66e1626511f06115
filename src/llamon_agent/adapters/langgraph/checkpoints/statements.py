"""What LangGraph's savers would write: their statements are taken, to be executed together with those of other threads.

LangGraph's saver for code that is not async makes its statements on a cursor. It is given one that keeps them, so that
what is written and how stays LangGraph's own, with each of its versions, and only when it is written is decided here.
Values are serialized when they are given, on the event loop, as the graph may change them afterwards.
"""

from collections.abc import Iterable, Sequence
from typing import Any

Statement = tuple[str, Sequence[Any]]
"""Some SQL, and the rows that it is executed with, one after the other."""


class TakenStatements:
    """A cursor that keeps what it is given."""

    def __init__(self) -> None:
        self.statements: list[Statement] = []

    def execute(self, statement: str, row: Any) -> None:
        self.statements.append((statement, [row]))

    def executemany(self, statement: str, rows: Iterable[Any]) -> None:
        self.statements.append((statement, list(rows)))
