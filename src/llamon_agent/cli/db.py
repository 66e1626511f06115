"""`llamon db`: the database or file in which an edge keeps its tasks."""

import asyncio

import msgspec
from cyclopts import App

from llamon_agent.cli.exits import Exit
from llamon_agent.cli.options import AsJson, StoreOptions
from llamon_agent.cli.screen import Screen, complain
from llamon_agent.domain.task import TaskState
from llamon_agent.runs.inspection import StoreFacts
from llamon_agent.serving.storage import inspect_storage

app = App(name="db", help="Look after the database of an edge.", help_format="plaintext")

_STORE = StoreOptions()


@app.command
def status(*, store: StoreOptions = _STORE, as_json: AsJson = False) -> int:
    """Show where the tasks are, whether their schema is this version's, and how many there are.

    Parameters
    ----------
    as_json
        Print it as JSON.
    """
    with inspect_storage(store.load()) as stored:
        facts = stored.facts()
    if as_json:
        Screen().json(msgspec.json.encode({**msgspec.structs.asdict(facts), "pending": facts.pending}).decode())
    else:
        print("\n".join(_lines(facts)))
    if facts.pending < 0:
        complain("this store is a newer version's: upgrade llamon-agent")
        return Exit.USAGE
    return Exit.OK


@app.command
def migrate(*, store: StoreOptions = _STORE) -> int:
    """Bring the schema to this version, as `llamon serve` does at its start."""
    from llamon_agent.cli.store_admin import migrate_stored

    data = store.load()
    asyncio.run(migrate_stored(data))
    with inspect_storage(data) as stored:
        facts = stored.facts()
    Screen().line(f"{facts.place} has schema version {facts.schema}")
    return Exit.OK


@app.command
def compact(*, store: StoreOptions = _STORE) -> int:
    """Delete the checkpoints of LangGraph's threads that no later turn needs, and make the files of a data folder
    smaller. An edge deletes them too, when a task ends.
    """
    from llamon_agent.cli.store_admin import compact_stored

    sizes = asyncio.run(compact_stored(store.load()))
    if sizes is None:
        Screen().line("old checkpoints are deleted; autovacuum frees their room for new rows, and")
        Screen().line("`vacuum full`, which locks the tables meanwhile, would give it back to the disk")
    else:
        Screen().line(f"the files take {_size(sizes[1])}; before, they took {_size(sizes[0])}")
    return Exit.OK


def _lines(facts: StoreFacts) -> list[str]:
    counted = [f"{facts.states[state]} {state.value}" for state in TaskState if state in facts.states]
    tasks = sum(facts.states.values())
    return [
        f"place    {facts.place} ({facts.kind}, {_size(facts.size_bytes)})",
        f"schema   version {facts.schema}{_pending(facts)}",
        f"tasks    {tasks}" + (f": {', '.join(counted)}" if counted else ""),
        f"webhooks {facts.webhooks}",
        f"keys     {facts.keys}",
    ]


def _pending(facts: StoreFacts) -> str:
    if facts.pending <= 0:
        return ""
    return f", {facts.pending} to migrate to {facts.needed}: llamon db migrate, or the next llamon serve, does it"


def _size(size_bytes: int) -> str:
    return f"{size_bytes / 1_000_000:,.1f} MB"
