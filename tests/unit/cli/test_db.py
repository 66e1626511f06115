"""An operator's look at a database, and the migration of one."""

import asyncio
import json
import sqlite3
from contextlib import aclosing, closing, nullcontext
from pathlib import Path
from typing import Any

import psycopg
import pytest
from langgraph.checkpoint.base import BaseCheckpointSaver
from psycopg_pool import AsyncConnectionPool
from tests.integration.pruned_graph import one_node
from tests.unit.adapters.langgraph.scripted import agent_of, turn
from tests.unit.cli.test_tasks import keep, some

from llamon_agent.adapters.langgraph.checkpoints.postgres import open_postgres_checkpoints
from llamon_agent.adapters.langgraph.checkpoints.sqlite import open_checkpoints
from llamon_agent.cli.exits import Exit
from llamon_agent.cli.main import main
from llamon_agent.store.sqlite.folder import TASKS_NAME, own_folder, size_of
from llamon_agent.store.statements import load_migrations

Capture = pytest.CaptureFixture[str]

NEEDED = len(load_migrations("sqlite/migrations"))


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path / "data"


def older(folder: Path) -> None:
    """A store as the first version made it."""
    folder.mkdir()
    with closing(sqlite3.connect(folder / TASKS_NAME, isolation_level=None)) as connection:
        connection.executescript(load_migrations("sqlite/migrations")[0] + "; pragma user_version = 1")


def test_the_status_shows_place_version_and_counts(folder: Path, capsys: Capture) -> None:
    keep(folder, *some())
    with own_folder(folder):
        assert main(["db", "status"]) == Exit.OK
    place, schema, tasks, webhooks, keys = capsys.readouterr().out.splitlines()
    assert place.startswith("place    data/tasks.sqlite (sqlite, 0.")
    assert schema == f"schema   version {NEEDED}"
    assert tasks == "tasks    3: 1 input-required, 1 completed, 1 failed"
    assert (webhooks, keys) == ("webhooks 0", "keys     0")


def test_the_status_is_also_written_as_json(folder: Path, capsys: Capture) -> None:
    keep(folder, *some())
    assert main(["db", "status", "--json"]) == Exit.OK
    told = json.loads(capsys.readouterr().out)
    assert (told["kind"], told["schema"], told["pending"]) == ("sqlite", NEEDED, 0)
    assert told["states"] == {"completed": 1, "failed": 1, "input-required": 1}


def test_an_older_store_is_migrated(folder: Path, capsys: Capture) -> None:
    older(folder)
    assert main(["db", "status"]) == Exit.OK
    assert f"version 1, {NEEDED - 1} to migrate to {NEEDED}" in capsys.readouterr().out
    assert main(["db", "migrate"]) == Exit.OK
    assert capsys.readouterr().out == f"data/tasks.sqlite has schema version {NEEDED}\n"


def test_a_store_that_an_edge_works_on_is_not_migrated(folder: Path, capsys: Capture) -> None:
    older(folder)
    with own_folder(folder):
        assert main(["db", "migrate"]) == Exit.USAGE
    assert "An edge is running on these tasks" in capsys.readouterr().err


def test_a_newer_store_is_reported_as_newer(folder: Path, capsys: Capture) -> None:
    older(folder)
    with closing(sqlite3.connect(folder / TASKS_NAME)) as connection:
        connection.execute("pragma user_version = 99")
    assert main(["db", "status"]) == Exit.USAGE
    printed = capsys.readouterr()
    assert "version 99" in printed.out
    assert "upgrade llamon-agent" in printed.err


def test_an_empty_database_is_migrated_and_looked_at(
    database_url: str, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.setenv("LLAMON_DATA__POSTGRES__URL", database_url)
    assert main(["db", "status", "--json"]) == Exit.OK
    before = json.loads(capsys.readouterr().out)
    assert (before["kind"], before["schema"]) == ("postgres", 0)
    assert main(["tasks", "list"]) == Exit.USAGE
    assert "llamon db migrate makes their tables" in capsys.readouterr().err
    assert main(["db", "migrate"]) == Exit.OK
    with psycopg.connect(database_url) as connection:
        connection.execute("select from checkpoints")  # of threads, which LangGraph makes
    assert main(["tasks", "list"]) == Exit.OK
    capsys.readouterr()
    assert main(["db", "status", "--json"]) == Exit.OK
    assert json.loads(capsys.readouterr().out)["pending"] == 0


def test_the_commands_work_on_a_database_as_on_a_folder(
    own_store_url: str, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.setenv("LLAMON_DATA__POSTGRES__URL", own_store_url)
    with psycopg.connect(own_store_url, autocommit=True) as connection:
        for number, (state, terminal) in enumerate([("completed", True), ("input-required", False)]):
            body = {
                "id": f"t{number}", "context_id": f"c{number}", "owner": "default", "agent": "demo", "seq": 1,
                "created_ms": 1, "status": {"state": state, "at_ms": 1},
            }  # fmt: skip
            connection.execute(
                "insert into llamon_task (id, owner, agent, context_id, state, terminal, at_ms, seq, attempt, body)"
                " values (%s, 'default', 'demo', %s, %s, %s, 1, 1, 0, %s)",
                (f"t{number}", f"c{number}", state, terminal, json.dumps(body).encode()),
            )
    assert main(["tasks", "cancel", "t1"]) == Exit.OK
    assert main(["tasks", "show", "t1"]) == Exit.OK
    assert "canceled" in capsys.readouterr().out
    assert main(["tasks", "prune", "--older-than", "1d", "--json"]) == Exit.OK
    assert json.loads(capsys.readouterr().out) == {"tasks": 1, "conversations": 1, "dry_run": False}
    assert main(["tasks", "export"]) == Exit.OK
    (line,) = capsys.readouterr().out.splitlines()
    assert json.loads(line)["id"] == "t1"


def test_a_password_is_never_shown(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    monkeypatch.setenv("LLAMON_DATA__POSTGRES__URL", "postgresql://me:s3cret@127.0.0.1:9/x")
    assert main(["db", "status"]) == Exit.USAGE
    printed = capsys.readouterr()
    assert "the server cannot be reached" in printed.err
    assert "s3cret" not in printed.out + printed.err


async def talk(saver: BaseCheckpointSaver[Any], *threads: str) -> None:
    """Eight turns of 50 kB in each thread."""
    agent = agent_of(one_node(saver))
    for thread in threads:
        for number in range(8):
            async with aclosing(agent.run(turn("x" * 50_000, task=f"t{number}", thread=thread))) as events:
                assert [event async for event in events]


def test_a_folder_is_compacted(folder: Path, capsys: Capture) -> None:
    async def talk_in_two() -> None:
        for agent in ("demo", "gone"):
            async with open_checkpoints("sqlite", folder / agent) as saver:
                assert saver is not None
                await talk(saver, "c1", "c2")

    keep(folder, *some())
    asyncio.run(talk_in_two())
    before = size_of(folder)
    assert main(["db", "compact"]) == Exit.OK
    assert size_of(folder) < before / 3
    assert capsys.readouterr().out.startswith(f"the files take {size_of(folder) / 1e6:.1f} MB; before, they took")
    for agent in ("demo", "gone"):
        with closing(sqlite3.connect(folder / agent / "checkpoints.sqlite")) as connection:
            kept = connection.execute("select thread_id, count(*) from checkpoints group by 1").fetchall()
        assert kept == [("c1", 4), ("c2", 4)]  # the last turn, and the end of the one before
    assert main(["db", "status"]) == Exit.OK
    assert "tasks    3" in capsys.readouterr().out


def test_nothing_is_pruned_where_all_is_kept(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def talk_once() -> None:
        async with open_checkpoints("sqlite", folder / "demo") as saver:
            assert saver is not None
            await talk(saver, "c1")

    keep(folder, *some())
    asyncio.run(talk_once())
    monkeypatch.setenv("LLAMON_DATA__RETENTION__PAST_TURNS", "all")
    assert main(["db", "compact"]) == Exit.OK
    with closing(sqlite3.connect(folder / "demo" / "checkpoints.sqlite")) as connection:
        assert connection.execute("select count(*) from checkpoints").fetchone() == (24,)


def test_a_store_that_an_edge_works_on_is_not_compacted(folder: Path, capsys: Capture) -> None:
    keep(folder, *some())
    with own_folder(folder):
        assert main(["db", "compact"]) == Exit.USAGE
    assert "An edge is running on these tasks: it prunes threads by itself" in capsys.readouterr().err


def test_no_folder_is_made_to_be_compacted(folder: Path, capsys: Capture) -> None:
    assert main(["db", "compact"]) == Exit.USAGE
    assert "There is no task store" in capsys.readouterr().err
    assert not folder.exists()


def test_a_file_that_cannot_be_compacted_is_named(folder: Path, capsys: Capture) -> None:
    keep(folder, *some())
    (folder / "demo").mkdir()
    (folder / "demo" / "store.sqlite").write_bytes(b"no database" * 100)
    assert main(["db", "compact"]) == Exit.USAGE
    assert "store.sqlite cannot be made smaller" in capsys.readouterr().err


def test_a_database_is_compacted_while_edges_use_it(
    own_store_url: str, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    async def talk_in_two() -> None:
        async with AsyncConnectionPool[Any](
            own_store_url, kwargs={"autocommit": True}, min_size=1, max_size=2, open=False
        ) as pool:
            for agent in ("demo", "gone"):
                saver = await open_postgres_checkpoints(pool, agent=agent, lock=nullcontext(), pipeline=True)
                await talk(saver, "c1", "c2")

    asyncio.run(talk_in_two())
    monkeypatch.setenv("LLAMON_DATA__POSTGRES__URL", own_store_url)
    assert main(["db", "compact"]) == Exit.OK
    assert "autovacuum" in capsys.readouterr().out
    with psycopg.connect(own_store_url) as connection:
        kept = connection.execute("select thread_id, count(*) from checkpoints group by 1 order by 1").fetchall()
    assert kept == [("demo:c1", 4), ("demo:c2", 4), ("gone:c1", 4), ("gone:c2", 4)]
