"""An operator's commands on a data folder, with an edge that owns it and without."""

import asyncio
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest
from langgraph.checkpoint.sqlite import SqliteSaver
from tests.contract.task_store import a_task, a_turn
from tests.unit.cli.conftest import Agent, error, result, task

from llamon_agent.cli.exits import Exit
from llamon_agent.cli.main import main
from llamon_agent.domain.errors import TaskNotFound
from llamon_agent.domain.message import Data, Message, Raw, Role, Text, Url
from llamon_agent.domain.task import Artifact, Task, TaskState, TaskStatus
from llamon_agent.store.sqlite.folder import TASKS_NAME, own_folder
from llamon_agent.store.sqlite.store import SqliteTaskStore

Capture = pytest.CaptureFixture[str]
S = TaskState

NOW_MS = 1_800_000_000_000
DAY_MS = 86_400_000


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The data folder of the working directory, which is empty."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("llamon_agent.cli.tasks.time.time_ns", lambda: NOW_MS * 1_000_000)
    return tmp_path / "data"


def keep(folder: Path, *tasks: Task) -> None:
    """Store tasks; those that are not settled are held by a process that dies."""

    async def store_them() -> None:
        store = SqliteTaskStore.open(folder / TASKS_NAME)
        await store.renew(until_ms=NOW_MS * 2)
        for one in tasks:
            await store.create(one, turn=None if one.is_settled else a_turn(one.id))
        await store.close()

    folder.mkdir(exist_ok=True)
    asyncio.run(store_them())


def kept(folder: Path, task_id: str, *, owner: str = "ann", agent: str = "demo") -> Task | None:
    async def read() -> Task | None:
        store = SqliteTaskStore.open(folder / TASKS_NAME)
        try:
            return await store.get(owner, agent, task_id)
        finally:
            await store.close()

    return asyncio.run(read())


def some() -> list[Task]:
    return [
        a_task("t1", owner="ann", agent="demo", context_id="c1", state=S.COMPLETED, at_ms=NOW_MS - 40 * DAY_MS),
        a_task("t2", owner="bob", agent="demo", context_id="c2", state=S.FAILED, at_ms=NOW_MS - DAY_MS),
        a_task("t3", owner="ann", agent="words", context_id="c1", state=S.INPUT_REQUIRED, at_ms=NOW_MS),
    ]


def told() -> Task:
    says = Message(message_id="m", role=Role.USER, parts=(Text.of("hello \x1b[31mred"),))
    asks = Message(message_id="q", role=Role.AGENT, parts=(Text.of("Sure?"), Data(data={"id": 1})))
    parts = (Text.of("part"), Raw(data=b"123", filename="a.bin"), Url(url="http://h/x"))
    return Task(
        id="told",
        context_id="c",
        owner="ann",
        agent="demo",
        status=TaskStatus(state=S.INPUT_REQUIRED, at_ms=NOW_MS, message=asks),
        seq=3,
        created_ms=NOW_MS - 1,
        history=(says,),
        artifacts=(Artifact(artifact_id="a", parts=parts, name="answer"),),
    )


# list


def test_tasks_of_all_owners_are_listed_from_the_one_that_changed_last(folder: Path, capsys: Capture) -> None:
    keep(folder, *some())
    assert main(["tasks", "list"]) == Exit.OK
    head, *lines = capsys.readouterr().out.splitlines()
    assert head.split() == ["task", "state", "since", "agent", "context", "owner"]
    assert [line.split()[0] for line in lines] == ["t3", "t2", "t1"]
    assert lines[0].split() == ["t3", "input-required", "2027-01-15T08:00:00.000Z", "words", "c1", "ann"]


@pytest.mark.parametrize(
    ("flags", "found"),
    [
        (["--agent", "words"], ["t3"]),
        (["--owner", "bob"], ["t2"]),
        (["--context", "c1"], ["t3", "t1"]),
        (["--state", "failed", "--state", "input-required"], ["t3", "t2"]),
        (["--since", "24h"], ["t3", "t2"]),
        (["--since", "2027-01-15T08:00:00Z"], ["t3"]),
        (["--limit", "1"], ["t3"]),
        (["--owner", "nobody"], []),
    ],
)
def test_a_list_is_narrowed(folder: Path, capsys: Capture, flags: list[str], found: list[str]) -> None:
    keep(folder, *some())
    assert main(["tasks", "list", "--json", *flags]) == Exit.OK
    assert [one["id"] for one in json.loads(capsys.readouterr().out)] == found


def test_a_list_as_json_names_every_field(folder: Path, capsys: Capture) -> None:
    keep(folder, some()[1])
    assert main(["tasks", "list", "--json"]) == Exit.OK
    assert json.loads(capsys.readouterr().out) == [
        {
            "id": "t2",
            "state": "failed",
            "since": "2027-01-14T08:00:00.000Z",
            "created": "1970-01-01T00:00:01.000Z",
            "agent": "demo",
            "context_id": "c2",
            "owner": "bob",
        }
    ]


def test_a_list_that_was_cut_says_so(folder: Path, capsys: Capture) -> None:
    keep(folder, *some())
    assert main(["tasks", "list", "--limit", "2"]) == Exit.OK
    assert "1 more" in capsys.readouterr().err


def test_a_running_edge_does_not_prevent_reading(folder: Path, capsys: Capture) -> None:
    keep(folder, *some())
    with own_folder(folder):
        assert main(["tasks", "list", "--json"]) == Exit.OK
    assert len(json.loads(capsys.readouterr().out)) == 3


@pytest.mark.parametrize("flags", [["--since", "yesterday"], ["--state", "done"], ["--limit", "0"]])
def test_what_cannot_be_meant_is_a_usage_error(folder: Path, capsys: Capture, flags: list[str]) -> None:
    keep(folder)
    assert main(["tasks", "list", *flags]) == Exit.USAGE
    assert flags[0] in capsys.readouterr().err


def test_the_configuration_says_where_the_tasks_are(tmp_path: Path, capsys: Capture) -> None:
    keep(tmp_path / "elsewhere", *some())
    Path("edge.yaml").write_text("a2a: {target: nowhere}\ndata: {folder: elsewhere}\n", encoding="utf-8")
    assert main(["tasks", "list", "--json"]) == Exit.OK
    assert len(json.loads(capsys.readouterr().out)) == 3


def test_a_missing_store_is_reported_and_not_made(folder: Path, capsys: Capture) -> None:
    for command in (["list"], ["show", "t"], ["export"], ["cancel", "t"], ["prune", "--older-than", "1d"]):
        assert main(["tasks", *command]) == Exit.USAGE
        assert "There is no task store at data/tasks.sqlite" in capsys.readouterr().err
    assert not folder.exists()


def test_tasks_in_memory_cannot_be_looked_at(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    monkeypatch.setenv("LLAMON_DATA__EPHEMERAL", "true")
    assert main(["tasks", "list"]) == Exit.USAGE
    assert "in memory" in capsys.readouterr().err


# show and export


def test_a_task_is_shown_in_full_and_steers_no_terminal(folder: Path, capsys: Capture) -> None:
    keep(folder, told())
    assert main(["tasks", "show", "told"]) == Exit.OK
    out = capsys.readouterr().out
    assert "id         told\nstate      input-required\n" in out
    assert '\nuser\n  hello [31mred\n\nagent\n  Sure?\n  {"id":1}\n' in out
    assert "\nartifact answer\n  part\n  [a.bin, unknown type, 3 bytes]\n  [a file: http://h/x]\n" in out


def test_what_callers_wrote_cannot_pass_for_what_is_said_here(folder: Path, capsys: Capture) -> None:
    says = Message(message_id="m", role=Role.USER, parts=(Text.of("hi\nowner      root"),))
    odd = a_task("odd", owner="ann", context_id="c\nowner      root", state=S.COMPLETED)
    keep(folder, msgspec.structs.replace(odd, history=(says,)))
    for command in (["list"], ["show", "odd"]):
        assert main(["tasks", *command]) == Exit.OK
        lines = capsys.readouterr().out.splitlines()
        assert not any(line.startswith("owner") and "root" in line for line in lines)


def test_a_task_is_printed_as_it_is_stored_or_as_a2a_writes_it(folder: Path, capsys: Capture) -> None:
    keep(folder, told())
    assert main(["tasks", "show", "told", "--json"]) == Exit.OK
    assert json.loads(capsys.readouterr().out)["context_id"] == "c"
    assert main(["tasks", "show", "told", "--a2a"]) == Exit.OK
    assert json.loads(capsys.readouterr().out)["contextId"] == "c"


def test_a_missing_task_is_reported(folder: Path, capsys: Capture) -> None:
    keep(folder, told())
    for command in (["show", "other"], ["cancel", "other"]):
        assert main(["tasks", *command]) == Exit.ENDED_BADLY
        assert capsys.readouterr().err == f"llamon: {TaskNotFound.public}\n"


def test_tasks_are_exported_a_line_each(folder: Path, capsys: Capture) -> None:
    keep(folder, *some(), told())
    assert main(["tasks", "export"]) == Exit.OK
    lines = capsys.readouterr().out.splitlines()
    assert [json.loads(line)["id"] for line in lines] == ["t1", "t2", "t3", "told"]
    assert main(["tasks", "export", "--a2a", "--agent", "words"]) == Exit.OK
    (line,) = capsys.readouterr().out.splitlines()
    assert json.loads(line)["status"]["state"] == "TASK_STATE_INPUT_REQUIRED"


# cancel


def test_a_task_is_canceled_through_its_edge(agent: Agent, capsys: Capture) -> None:
    agent.says(result(task("CANCELED")["task"]))
    assert main(["tasks", "cancel", "t1", "--url", agent.origin, "--token", "s3cret"]) == Exit.OK
    (call,) = agent.calls
    assert (call.body["method"], call.body["params"]) == ("CancelTask", {"id": "t1"})
    assert call.headers["authorization"] == "Bearer s3cret"
    assert capsys.readouterr().err == "task t1 is canceled\n"


def test_a_refusal_of_the_edge_is_reported(agent: Agent, capsys: Capture) -> None:
    agent.says(error(-32002, "The task has ended."))
    assert main(["tasks", "cancel", "t1", "--url", agent.origin]) == Exit.PROTOCOL
    assert "The task has ended." in capsys.readouterr().err


@pytest.mark.parametrize("state", [S.INPUT_REQUIRED, S.WORKING, S.SUBMITTED])
def test_without_an_edge_a_task_is_canceled_in_the_store_and_no_other(folder: Path, state: TaskState) -> None:
    keep(folder, a_task("t1", state=state), a_task("t2", state=state))
    assert main(["tasks", "cancel", "t1"]) == Exit.OK
    after, other = kept(folder, "t1"), kept(folder, "t2")
    assert after is not None
    assert (after.status.state, other) == (S.CANCELED, a_task("t2", state=state))
    assert after.seq > 2**20  # readers may have heard more than was stored

    async def attempts() -> list[tuple[str, int]]:
        store = SqliteTaskStore.open(folder / TASKS_NAME)
        found = [(each.task.id, each.attempt) for each in await store.take_over(now_ms=NOW_MS, limit=9)]
        await store.close()
        return found

    tries = {S.INPUT_REQUIRED: [], S.WORKING: [("t2", 2)], S.SUBMITTED: [("t2", 1)]}
    assert asyncio.run(attempts()) == tries[state]


def test_a_task_that_has_ended_is_not_canceled(folder: Path, capsys: Capture) -> None:
    keep(folder, *some())
    assert main(["tasks", "cancel", "t1"]) == Exit.ENDED_BADLY
    assert "can no longer be canceled" in capsys.readouterr().err


def test_canceling_twice_is_fine(folder: Path) -> None:
    keep(folder, a_task("t1", state=S.INPUT_REQUIRED))
    assert [main(["tasks", "cancel", "t1"]) for _ in range(2)] == [Exit.OK, Exit.OK]


@pytest.mark.parametrize(
    ("command", "remedy"), [(["cancel", "t3"], "with --url"), (["prune", "--older-than", "1d"], "data.retention")]
)
def test_the_store_of_an_edge_that_runs_is_not_changed(
    folder: Path, capsys: Capture, command: list[str], remedy: str
) -> None:
    keep(folder, *some())
    with own_folder(folder):
        assert main(["tasks", *command]) == Exit.USAGE
    assert remedy in capsys.readouterr().err
    assert kept(folder, "t1") is not None


# prune


def test_a_dry_run_counts_and_forgets_nothing(folder: Path, capsys: Capture) -> None:
    keep(folder, *some())
    with own_folder(folder):
        assert main(["tasks", "prune", "--older-than", "30d", "--dry-run"]) == Exit.OK
    assert capsys.readouterr().out == "1 task would be deleted\n"
    assert kept(folder, "t1") is not None


@contextmanager
def threads(folder: Path, agent: str) -> Iterator[Callable[[], set[str]]]:
    """The checkpoints of an agent that has threads c1 and c2; gives what is left of them."""
    place = folder / agent
    place.mkdir(parents=True)
    with SqliteSaver.from_conn_string(str(place / "checkpoints.sqlite")) as saver:
        for thread in ("principal:3:ann:c1", "principal:3:bob:c2"):
            checkpoint = {
                "v": 4,
                "id": "1",
                "ts": "",
                "channel_values": {},
                "channel_versions": {},
                "versions_seen": {},
            }
            config = {"configurable": {"thread_id": thread, "checkpoint_ns": ""}}
            saver.put(config, checkpoint, {}, {})  # type: ignore[arg-type]

    def left() -> set[str]:
        with SqliteSaver.from_conn_string(str(place / "checkpoints.sqlite")) as saver:
            return {found.config["configurable"]["thread_id"] for found in saver.list(None)}

    yield left


def test_old_tasks_go_and_the_threads_of_conversations_that_are_over(folder: Path, capsys: Capture) -> None:
    keep(folder, *some())
    with threads(folder, "demo") as left:
        assert main(["tasks", "prune", "--older-than", "30d", "--json"]) == Exit.OK
        assert json.loads(capsys.readouterr().out) == {"tasks": 1, "conversations": 1, "dry_run": False}
        assert left() == {"principal:3:bob:c2"}
    assert (kept(folder, "t1"), kept(folder, "t2", owner="bob")) == (None, some()[1])


def test_many_tasks_go_at_once(folder: Path, capsys: Capture) -> None:
    keep(folder, *[a_task(f"t{number}", state=S.COMPLETED) for number in range(250)])
    assert main(["tasks", "prune", "--older-than", "1s"]) == Exit.OK
    assert capsys.readouterr().out == "deleted: 250 tasks, and 1 conversation\n"


def test_an_age_that_is_none_is_a_usage_error(folder: Path, capsys: Capture) -> None:
    keep(folder)
    assert main(["tasks", "prune", "--older-than", "30"]) == Exit.USAGE
    assert "--older-than must be a number above 0 followed by a unit" in capsys.readouterr().err
