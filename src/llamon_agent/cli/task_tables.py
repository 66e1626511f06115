"""What an operator is shown of tasks, for people and for programs.

What a caller or an agent has written is shown without control characters; names on one line, and words a little to the
right, so that neither can pass for what is said here.
"""

import sys
from collections.abc import Iterable, Sequence
from textwrap import indent

from rich.console import Console
from rich.table import Table
from rich.text import Text as Styled

from llamon_agent.cli.conversation import part_words
from llamon_agent.cli.screen import one_line, plain
from llamon_agent.domain.encoding import write_timestamp
from llamon_agent.domain.message import Message, Part
from llamon_agent.domain.task import PAUSED, TERMINAL, Artifact, Task, TaskState

_WIDE = 1000
"""Columns, where no terminal says how many it has: nothing is cut for a program that reads lines."""

_TO_THE_RIGHT = "  "

_BAD = frozenset({TaskState.FAILED, TaskState.REJECTED, TaskState.CANCELED})


def show_tasks(tasks: Iterable[Task]) -> None:
    """A line for each task."""
    rows = [
        (task.id, _colored(task.status.state), _when(task), task.agent, task.context_id, task.owner) for task in tasks
    ]
    show_table(("task", "state", "since", "agent", "context", "owner"), rows)


def show_table(heads: Iterable[str], rows: Iterable[tuple[str | Styled, ...]]) -> None:
    """A table on stdout; its first column is never broken, so that it can be copied."""
    table = Table(box=None, pad_edge=False, header_style="dim")
    for place, head in enumerate(heads):
        table.add_column(head, no_wrap=place == 0, overflow="fold")
    for row in rows:
        table.add_row(*(cell if isinstance(cell, Styled) else Styled(one_line(cell)) for cell in row))
    Console(width=None if sys.stdout.isatty() else _WIDE, highlight=False).print(table)


def show_task(task: Task) -> None:
    """A task in full: what is known of it, what was said, and what came of it."""
    for name, value in summary(task).items():
        print(f"{name:<10} {one_line(value)}")
    for message in _said(task):
        print(f"\n{message.role.value}\n{_words(message.parts)}")
    for artifact in task.artifacts:
        print(f"\n{_title(artifact)}\n{_words(artifact.parts)}")


def summary(task: Task) -> dict[str, str]:
    """A task in a list for programs. Shape: JSON."""
    return {
        "id": task.id,
        "state": task.status.state.value,
        "since": _when(task),
        "created": write_timestamp(task.created_ms),
        "agent": task.agent,
        "context_id": task.context_id,
        "owner": task.owner,
    }


def _said(task: Task) -> list[Message]:
    """What was said, in order; a failure's reason stands in the status and in the history."""
    last = task.status.message
    return [*task.history, *([last] if last is not None and last not in task.history else [])]


def _title(artifact: Artifact) -> str:
    return f"artifact {one_line(artifact.name)}" if artifact.name else "artifact"


def _words(parts: Sequence[Part]) -> str:
    return indent(plain("\n".join(part_words(part) for part in parts)), _TO_THE_RIGHT, lambda _line: True)


def _when(task: Task) -> str:
    return write_timestamp(task.status.at_ms)


def _colored(state: TaskState) -> Styled:
    style = "yellow" if state in PAUSED else "red" if state in _BAD else "green" if state in TERMINAL else "cyan"
    return Styled(state.value, style=style)
