"""`llamon tasks`: the tasks that an edge has stored, for its operator.

Reading is possible while the edge runs. A change goes through the edge, or needs it stopped.
"""

import asyncio
import time
from dataclasses import dataclass
from typing import Annotated

import msgspec
from cyclopts import App, Parameter
from cyclopts.validators import Number

from llamon_agent.cli.exits import Exit, Usage
from llamon_agent.cli.options import AsJson, StoreOptions, Switch, Token
from llamon_agent.cli.screen import Screen
from llamon_agent.cli.task_tables import show_task, show_tasks, summary
from llamon_agent.config.values import DURATION_EXAMPLES, read_duration_s
from llamon_agent.domain.encoding import read_timestamp
from llamon_agent.domain.errors import BadParams, TaskNotFound
from llamon_agent.domain.task import TERMINAL, Task, TaskState
from llamon_agent.runs.inspection import TaskFilter
from llamon_agent.serving.storage import inspect_storage
from llamon_agent.wire.v10.codec import Dialect10

app = App(name="tasks", help="Look after the tasks that an edge has stored.", help_format="plaintext")

_STORE = StoreOptions()


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Wanted:
    """The options that say which tasks are meant."""

    agent: Annotated[str | None, Parameter(show_default=False)] = None
    """Only this agent's."""
    owner: Annotated[str | None, Parameter(show_default=False)] = None
    """Only this principal's; that of callers without a name is `default`."""
    context: Annotated[str | None, Parameter(show_default=False)] = None
    """Only this conversation's."""
    state: Annotated[tuple[TaskState, ...], Parameter(show_default=False, negative="")] = ()
    """Only those in this state; may be given more than once."""
    since: Annotated[str | None, Parameter(show_default=False)] = None
    """Only those that changed since: 24h, for example, or 2026-11-30T12:00:00Z."""

    def filter(self) -> TaskFilter:
        """Raises: Usage."""
        return TaskFilter(
            owner=self.owner,
            agent=self.agent,
            context_id=self.context,
            states=self.state,
            since_ms=None if self.since is None else _since_ms(self.since),
        )


_ANY = Wanted()

Limit = Annotated[int, Parameter(validator=Number(gte=1))]


@app.command(name="list")
def list_tasks(
    *, wanted: Wanted = _ANY, limit: Limit = 50, store: StoreOptions = _STORE, as_json: AsJson = False
) -> int:
    """List the tasks of all owners, the last changed first.

    Parameters
    ----------
    limit
        How many at most.
    as_json
        Print them as one JSON array.
    """
    with inspect_storage(store.load()) as stored:
        tasks = stored.latest(wanted.filter(), limit=limit)
        total = stored.count(wanted.filter())
    if as_json:
        Screen().json(_json([summary(task) for task in tasks]))
        return Exit.OK
    show_tasks(tasks)
    if total > len(tasks):
        Screen().note(
            f"{total - len(tasks)} more; see them with a higher --limit, or narrow it with --state or --since"
        )
    return Exit.OK


@app.command
def show(task: str, /, *, store: StoreOptions = _STORE, a2a: Switch = False, as_json: AsJson = False) -> int:
    """Show a task in full, with its messages and artifacts.

    Parameters
    ----------
    task
        The task's id.
    a2a
        Print it as A2A 1.0 does, as JSON.
    as_json
        Print it as it is stored, as JSON.
    """
    with inspect_storage(store.load()) as stored:
        found = stored.find(task)
    if found is None:
        raise TaskNotFound
    if as_json or a2a:
        Screen().json(_written(found, a2a=a2a))
    else:
        show_task(found)
    return Exit.OK


@app.command
def export(*, wanted: Wanted = _ANY, store: StoreOptions = _STORE, a2a: Switch = False) -> int:
    """Print tasks as JSON, one a line, in the order in which they were made.

    Parameters
    ----------
    a2a
        As A2A 1.0 writes them, instead of as they are stored.
    """
    screen = Screen()
    with inspect_storage(store.load()) as stored:
        for task in stored.every(wanted.filter()):
            screen.json(_written(task, a2a=a2a))
    return Exit.OK


@app.command
def cancel(task: str, /, *, url: str | None = None, token: Token = None, store: StoreOptions = _STORE) -> int:
    """Cancel a task: at the edge that serves it, or in the store of an edge that does not run.

    Parameters
    ----------
    task
        The task's id.
    url
        The agent at an edge that runs, as for `llamon get`.
    token
        The bearer token of the task's owner, for an edge that runs.
    """
    from llamon_agent.cli.store_admin import cancel_at, cancel_stored

    asyncio.run(cancel_stored(store.load(), task) if url is None else cancel_at(url, token, task))
    Screen().note(f"task {task} is canceled")
    return Exit.OK


@app.command
def prune(*, older_than: str, dry_run: Switch = False, store: StoreOptions = _STORE, as_json: AsJson = False) -> int:
    """Delete tasks that ended long ago, with their artifacts and webhooks, and conversations that have no task left.

    Parameters
    ----------
    older_than
        How long ago they ended at least, such as 30d.
    dry_run
        Only count them.
    as_json
        Print the numbers as JSON.
    """
    before_ms = _now_ms() - round(_duration_s(older_than) * 1000)
    data = store.load()
    if dry_run:
        with inspect_storage(data) as stored:
            tasks = stored.count(TaskFilter(states=tuple(TERMINAL), before_ms=before_ms))
        report, numbers = f"{_some(tasks, 'task')} would be deleted", {"tasks": tasks}
    else:
        from llamon_agent.cli.store_admin import prune_stored

        tasks, conversations = asyncio.run(prune_stored(data, before_ms=before_ms))
        report = f"deleted: {_some(tasks, 'task')}, and {_some(conversations, 'conversation')}"
        numbers = {"tasks": tasks, "conversations": conversations}
    if as_json:
        Screen().json(_json({**numbers, "dry_run": dry_run}))
    else:
        Screen().line(report)
    return Exit.OK


def _written(task: Task, *, a2a: bool) -> str:
    return (Dialect10().write_task(task) if a2a else msgspec.json.encode(task)).decode()


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()


def _some(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def _since_ms(text: str) -> int:
    seconds = read_duration_s(text)
    if seconds is not None:
        return _now_ms() - round(seconds * 1000)
    try:
        return read_timestamp(text, "--since")
    except BadParams as exc:
        raise Usage(
            f"--since must be a time, such as 2026-11-30T12:00:00Z, or how long ago, such as {DURATION_EXAMPLES}"
        ) from exc


def _duration_s(text: str) -> float:
    seconds = read_duration_s(text)
    if seconds is None:
        raise Usage(f"--older-than must be a number above 0 followed by a unit, such as {DURATION_EXAMPLES}")
    return seconds


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
