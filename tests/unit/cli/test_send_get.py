import json

import pytest
from tests.unit.cli.conftest import Agent, error, message, result, task

from llamon_agent.cli.exits import Exit
from llamon_agent.cli.main import main

Capture = pytest.CaptureFixture[str]


def test_the_answer_of_a_task_is_printed(agent: Agent, capsys: Capture) -> None:
    agent.says(result(task("COMPLETED", "Hello there")["task"]))
    assert main(["get", agent.origin, "t1", "--token", "s3cret"]) == Exit.OK
    printed = capsys.readouterr()
    assert (printed.out, printed.err) == ("Hello there\n", "task t1, go on with --context c1\n")
    (call,) = agent.calls
    assert (call.body["method"], call.body["params"]) == ("GetTask", {"id": "t1"})
    assert call.headers["authorization"] == "Bearer s3cret"


def test_a_task_that_works_is_told_with_what_there_is_of_its_answer(agent: Agent, capsys: Capture) -> None:
    agent.says(result(task("WORKING", "Hel")["task"]))
    assert main(["get", agent.origin, "t1"]) == Exit.UNREACHED
    printed = capsys.readouterr()
    assert printed.out == "Hel\n"
    assert "llamon: The task is working; ask again later.\n" in printed.err
    assert f"llamon get {agent.origin} t1" in printed.err


def test_a_question_is_told_with_how_to_answer_it(agent: Agent, capsys: Capture) -> None:
    agent.says(result(task("INPUT_REQUIRED", said=message("Delete it?"))["task"]))
    assert main(["get", agent.origin, "t1"]) == Exit.ASKS
    printed = capsys.readouterr()
    assert printed.out == "Delete it?\n"
    assert printed.err == f"answer with: llamon send {agent.origin} ANSWER --task t1\n"


def test_a_bad_end_is_told(agent: Agent, capsys: Capture) -> None:
    agent.says(result(task("FAILED", said=message("The disk is full"))["task"]))
    assert main(["get", agent.origin, "t1"]) == Exit.ENDED_BADLY
    assert "llamon: The task failed: The disk is full\n" in capsys.readouterr().err


def test_json_is_the_task_and_nothing_else(agent: Agent, capsys: Capture) -> None:
    answer = task("COMPLETED", "Hi")["task"]
    agent.says(result(answer))
    assert main(["get", agent.origin, "t1", "--json"]) == Exit.OK
    printed = capsys.readouterr()
    assert json.loads(printed.out) == answer
    assert printed.err == ""


def test_a_task_that_is_not_there_is_told(agent: Agent, capsys: Capture) -> None:
    agent.says(error(-32001, "The task was not found."))
    assert main(["get", agent.origin, "t9"]) == Exit.PROTOCOL
    assert "The task was not found." in capsys.readouterr().err


def test_what_is_no_task_is_told(agent: Agent, capsys: Capture) -> None:
    agent.says(result({"id": "t1"}))
    assert main(["get", agent.origin, "t1"]) == Exit.PROTOCOL
    assert "is not A2A 1.0" in capsys.readouterr().err
