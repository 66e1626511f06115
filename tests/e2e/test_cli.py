"""The commands against a real edge: what people see, what programs get, and the exit codes."""

import json
import subprocess
import sys
from pathlib import Path
from uuid import uuid4

import pytest
from tests.e2e.conftest import Edge, running_edge

from llamon_agent.cli.exits import Exit


def llamon(*arguments: str, said: str = "") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "llamon_agent", *arguments]
    return subprocess.run(command, input=said, capture_output=True, text=True, timeout=30, check=False)


def test_send_prints_the_answer_and_nothing_else_on_stdout(edge: Edge) -> None:
    done = llamon("send", edge.url, "hello there")
    assert done.returncode == Exit.OK
    assert "hello there" in done.stdout
    assert "--context" in done.stderr


def test_a_conversation_goes_on_by_its_context(edge: Edge) -> None:
    context = str(uuid4())
    llamon("send", edge.url, "my number is 42", "--context", context)
    assert "42" in llamon("send", edge.url, "what is my number?", "--context", context, "--stream").stdout


def test_history_is_read_from_a_file(edge: Edge, tmp_path: Path) -> None:
    file = tmp_path / "history.json"
    turns = [{"messageId": "h1", "role": "ROLE_USER", "parts": [{"text": "the code word is apple"}]}]
    file.write_text(json.dumps(turns))
    assert "apple" in llamon("send", edge.url, "what was the code word?", "--history", str(file)).stdout


def test_a_question_is_exit_code_4_and_its_answer_goes_on(edge: Edge) -> None:
    asked = llamon("send", edge.url, "delete report.txt", "--json")
    assert asked.returncode == Exit.ASKS
    task = json.loads(asked.stdout)["task"]
    done = llamon("send", edge.url, "yes", "--task", task["id"], "--json")
    assert (done.returncode, json.loads(done.stdout)["task"]["id"]) == (Exit.OK, task["id"])


def test_streamed_json_is_one_event_a_line(edge: Edge) -> None:
    done = llamon("send", edge.url, "hello there", "--stream", "--json")
    events = [json.loads(line) for line in done.stdout.splitlines()]
    assert "task" in events[0]
    assert events[-1]["statusUpdate"]["status"]["state"] == "TASK_STATE_COMPLETED"


def test_a_failed_task_is_exit_code_1(edge: Edge) -> None:
    assert llamon("send", edge.url, "fail").returncode == Exit.ENDED_BADLY


def test_chat_answers_asks_and_remembers(edge: Edge) -> None:
    talk = llamon("chat", edge.url, said="my number is 42\ndelete report.txt\nyes\nwhat is my number?\n")
    assert talk.returncode == Exit.OK
    assert "report.txt" in talk.stdout
    assert "42" in talk.stdout.splitlines()[-1]


def test_the_card_is_shown_to_people_and_to_programs(edge: Edge) -> None:
    assert llamon("card", edge.url).stdout.startswith("demo ")
    assert json.loads(llamon("card", edge.url, "--json").stdout)["supportedInterfaces"]


@pytest.mark.parametrize("token", ["", "wrong"])
def test_without_the_token_nothing_is_answered(tmp_path: Path, token: str) -> None:
    env = {"LLAMON_A2A__BEARER_TOKEN": "right"}
    arguments = ["--adapter", "echo", "--ephemeral"]
    with running_edge(*arguments, data=tmp_path / "data", env=env) as edge:
        refused = llamon("send", edge.url, "hi", *(["--token", token] if token else []))
        assert refused.returncode == Exit.UNREACHED
        assert "token" in refused.stderr
        assert llamon("send", edge.url, "hi", "--token", "right").stdout == "hi\n"
