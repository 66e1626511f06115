"""What was found of one graph: an outcome for each column of the table."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

COLUMNS = ("starts", "sends", "streams", "remembers", "history", "asks", "cancels", "model fails", "restart")
"""`starts` is whether the graph is served at all; `model fails` is whether a failed call leaves a usable thread."""

WORKS, FAILS, NONE = "yes", "NO", "–"


@dataclass(frozen=True)
class Outcome:
    """Shape: verdict is WORKS, FAILS or NONE, which is for a graph that has no such thing; note says more."""

    verdict: str
    note: str = ""


@dataclass
class Found:
    """Shape: columns has no entry for what was not tried; fault is empty if nothing failed."""

    project: str
    graph: str
    version: str = ""
    langgraph: str = ""
    columns: dict[str, Outcome] = field(default_factory=dict)
    fault: str = ""

    @property
    def failed(self) -> list[str]:
        return [name for name in COLUMNS if name in self.columns and self.columns[name].verdict == FAILS]


def write(found: Found) -> dict[str, Any]:
    columns = {name: [outcome.verdict, outcome.note] for name, outcome in found.columns.items()}
    return {**vars(found), "columns": columns}


def read(written: Mapping[str, Any]) -> Found:
    columns = {name: Outcome(*pair) for name, pair in written["columns"].items()}
    return Found(**{**written, "columns": columns})
