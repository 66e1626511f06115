import signal
import sys
from collections.abc import Callable
from io import StringIO

import pytest
from tests.unit.cli.conftest import (
    CARD,
    Agent,
    Json,
    error,
    llamon,
    message,
    piece,
    result,
    silence,
    status_update,
    stream,
    task,
)

from llamon_agent.cli.exits import Exit
from llamon_agent.cli.main import main
from llamon_agent.cli.screen import Screen

Capture = pytest.CaptureFixture[str]
CTRL_C = "\x03"


def chat(agent: Agent, monkeypatch: pytest.MonkeyPatch, *lines: str) -> int:
    monkeypatch.setattr(sys, "stdin", StringIO("".join(line + "\n" for line in lines)))
    return main(["chat", agent.origin])


def typing(*lines: str) -> Callable[[Screen, str], str | None]:
    """A person at a terminal, who types these lines or keys and then Ctrl-D."""
    left = iter(lines)

    def ask(_: Screen, prompt: str) -> str | None:
        line = next(left, None)
        if line == CTRL_C:
            raise KeyboardInterrupt
        return line

    return ask


def asks(*questions: Json) -> Json:
    return task("INPUT_REQUIRED", said={**message("Delete it?"), "metadata": {"questions": list(questions)}})


def choices(**values: object) -> list[Json]:
    return [{"label": label.replace("_", " "), "value": value} for label, value in values.items()]


def test_every_turn_is_in_the_context_that_the_agent_gave(
    agent: Agent, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    agent.says(
        stream(task("SUBMITTED"), piece("Hel", append=False), piece("lo"), status_update("COMPLETED")),
        stream(task("COMPLETED", "Bye")),
    )
    assert chat(agent, monkeypatch, "hi", "", "  ", "bye") == Exit.OK
    first, second = agent.calls
    assert first.body["method"] == "SendStreamingMessage"
    assert "contextId" not in first.message
    assert second.message["contextId"] == "c1"
    assert "taskId" not in second.message
    printed = capsys.readouterr()
    assert printed.out == "Hello\nBye\n"
    assert "You are talking with Canned." in printed.err
    assert "--context c1" in printed.err


def test_an_agent_that_does_not_stream_is_talked_with_all_the_same(
    agent: Agent, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    agent.cards = {"/.well-known/agent-card.json": {**CARD, "capabilities": {"streaming": False}}}
    agent.says(result(task("COMPLETED", "Hello")))
    assert chat(agent, monkeypatch, "hi") == Exit.OK
    assert agent.calls[0].body["method"] == "SendMessage"
    assert capsys.readouterr().out == "Hello\n"


@pytest.mark.parametrize("typed", ["1", "approve", "Approve"])
def test_a_question_offers_what_is_known_and_the_answer_goes_to_its_task(
    agent: Agent, monkeypatch: pytest.MonkeyPatch, capsys: Capture, typed: str
) -> None:
    question: Json = {"id": "q1", "value": {"type": "tool_approval", "name": "delete_file"}}
    question["choices"] = choices(approve="approve", reject="reject")
    agent.says(stream(asks(question)), stream(task("COMPLETED", "Deleted.")))
    assert chat(agent, monkeypatch, "delete it", typed) == Exit.OK
    assert agent.calls[1].message["taskId"] == "t1"
    assert agent.calls[1].message["parts"] == [{"text": "approve"}]
    assert capsys.readouterr().out == "Delete it?\nDeleted.\n"


def test_several_questions_are_answered_by_id(agent: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    first = {"id": "q1", "value": "Sure?", "choices": choices(yes=True, no=False)}
    second = {"id": "q2", "value": {"question": "Which?"}, "choices": choices(Old_one=7, new="new")}
    agent.says(stream(asks(first, second)), stream(task("COMPLETED")))
    chat(agent, monkeypatch, "delete it", "yes", "old one")
    assert agent.calls[1].message["parts"] == [{"data": {"answers": {"q1": True, "q2": 7}}}]


def test_what_was_said_before_a_question_is_not_said_again(
    agent: Agent, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    paused = asks({"id": "q1", "value": "Sure?"})
    paused["task"]["artifacts"] = task("WORKING", "I will delete")["task"]["artifacts"]
    agent.says(stream(paused), stream(task("WORKING", "I will delete"), piece(" it."), status_update("COMPLETED")))
    chat(agent, monkeypatch, "delete it", "yes")
    assert capsys.readouterr().out == "I will delete\nDelete it?\n it.\n"


def test_ctrl_c_at_a_question_cancels_its_task_and_at_the_prompt_does_nothing(
    agent: Agent, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    agent.says(
        stream(asks({"id": "q1", "value": "Sure?"})),
        result(task("CANCELED")["task"]),
        stream(task("COMPLETED", "Here")),
    )
    monkeypatch.setattr(Screen, "ask", typing("delete it", CTRL_C, CTRL_C, "and now?"))
    assert main(["chat", agent.origin]) == Exit.OK
    assert [call.body["method"] for call in agent.calls] == [
        "SendStreamingMessage",
        "CancelTask",
        "SendStreamingMessage",
    ]
    assert "taskId" not in agent.calls[2].message
    assert "Ctrl-D leaves." in capsys.readouterr().err


def test_a_cancel_that_is_refused_is_told_and_the_talk_goes_on(
    agent: Agent, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    agent.says(stream(asks({"id": "q1", "value": "Sure?"})), error(-32002, "It has ended."))
    monkeypatch.setattr(Screen, "ask", typing("delete it", CTRL_C))
    assert main(["chat", agent.origin]) == Exit.OK
    assert "It has ended." in capsys.readouterr().err


def test_a_question_is_asked_again_when_its_answer_did_not_arrive(
    agent: Agent, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    agent.says(
        stream(asks({"id": "q1", "value": "Sure?"})), error(-32000, "Too many."), stream(task("COMPLETED", "Deleted."))
    )
    assert chat(agent, monkeypatch, "delete it", "yes", "yes again") == Exit.OK
    assert [call.message.get("taskId") for call in agent.calls] == [None, "t1", "t1"]
    assert capsys.readouterr().out == "Delete it?\nDelete it?\nDeleted.\n"


def test_leaving_at_a_question_leaves_the_task_waiting(agent: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    agent.says(stream(asks({"id": "q1", "value": "Sure?"})))
    assert chat(agent, monkeypatch, "delete it") == Exit.OK
    assert len(agent.calls) == 1


def test_a_failed_turn_is_told_and_the_talk_goes_on_in_a_new_task(
    agent: Agent, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    agent.says(
        stream(task("FAILED", said=message("no disk"))), error(-32000, "Too many."), stream(task("COMPLETED", "Here"))
    )
    assert chat(agent, monkeypatch, "a", "b", "c") == Exit.OK
    assert [call.message.get("taskId") for call in agent.calls] == [None, None, None]
    assert agent.calls[2].message["contextId"] == "c1"
    printed = capsys.readouterr()
    assert printed.out == "Here\n"
    assert "llamon: The task failed: no disk\n" in printed.err
    assert "llamon: The agent refused the call: Too many. (error -32000)\n" in printed.err


def test_nobody_there_ends_it_at_once(capsys: Capture) -> None:
    assert main(["chat", "http://127.0.0.1:1"]) == Exit.UNREACHED
    assert "Nothing listens at http://127.0.0.1:1" in capsys.readouterr().err


def test_ctrl_c_cancels_the_task_and_not_the_talk(agent: Agent) -> None:
    agent.says(
        stream(task("WORKING"), piece("Well", append=False), then=silence),
        result(task("CANCELED")["task"]),
        stream(task("COMPLETED", "Still here")),
    )
    with llamon("chat", agent.origin) as run:
        assert run.stdin is not None
        assert run.stdout is not None
        run.stdin.write(b"count slowly\n")
        run.stdin.flush()
        assert run.stdout.read(4) == b"Well"
        run.send_signal(signal.SIGINT)
        out, err = run.communicate(b"and now?\n", timeout=10)
    assert [call.body["method"] for call in agent.calls][1:] == ["CancelTask", "SendStreamingMessage"]
    assert agent.calls[1].body["params"] == {"id": "t1"}
    assert "taskId" not in agent.calls[2].message
    assert out == b"\nStill here\n"
    assert b"canceled" in err
    assert run.returncode == Exit.OK
