import json
import signal
import sys
from collections.abc import AsyncIterator
from io import StringIO
from pathlib import Path

import pytest
from starlette.responses import Response
from tests.unit.cli.conftest import (
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

Capture = pytest.CaptureFixture[str]


def test_only_the_answer_is_on_stdout(agent: Agent, capsys: Capture) -> None:
    agent.says(result(task("COMPLETED", "Hello there")))
    assert main(["send", agent.origin, "hi"]) == Exit.OK
    printed = capsys.readouterr()
    assert printed.out == "Hello there\n"
    assert printed.err == "task t1, go on with --context c1\n"


@pytest.mark.parametrize("state", ["COMPLETED", "WORKING", "INPUT_REQUIRED"])
@pytest.mark.parametrize("ids", [{}, {"id": "t1"}])
def test_an_id_that_the_agent_did_not_give_is_not_in_a_hint(
    agent: Agent, capsys: Capture, ids: Json, state: str
) -> None:
    agent.says(result({"task": {**ids, "status": {"state": f"TASK_STATE_{state}"}}}))
    main(["send", agent.origin, "hi"])
    assert "None" not in capsys.readouterr().err


def test_the_call_is_a2a_1_0_and_waits_for_the_answer(agent: Agent) -> None:
    agent.says(result(task("COMPLETED")))
    main(["send", agent.origin, "hi", "--context", "c7", "--task", "t7"])
    (call,) = agent.calls
    assert call.path == "/a2a"
    assert call.headers["a2a-version"] == "1.0"
    assert call.body["method"] == "SendMessage"
    assert "authorization" not in call.headers
    assert "configuration" not in call.body["params"]
    sent = call.message
    assert sent.pop("messageId")
    assert sent == {"role": "ROLE_USER", "parts": [{"text": "hi"}], "contextId": "c7", "taskId": "t7"}


def test_two_messages_never_share_an_id(agent: Agent) -> None:
    agent.says(result(task("COMPLETED")))
    main(["send", agent.origin, "hi"])
    main(["send", agent.origin, "hi"])
    first, second = agent.calls
    assert first.message["messageId"] != second.message["messageId"]


def test_a_message_in_reply_is_an_answer_too(agent: Agent, capsys: Capture) -> None:
    agent.says(result({"message": message("Just this")}))
    assert main(["send", agent.origin, "hi"]) == Exit.OK
    assert capsys.readouterr().out == "Just this\n"


@pytest.mark.parametrize("text", ["-5 degrees", "--", "--nothing like it"])
def test_a_text_may_start_with_a_dash(agent: Agent, text: str) -> None:
    agent.says(result(task("COMPLETED")))
    given = ["send", agent.origin, "--", text] if text == "--" else ["send", agent.origin, text]
    assert main(given) == Exit.OK
    assert agent.calls[0].message["parts"] == [{"text": text}]


def test_a_dash_alone_reads_the_text_from_stdin(agent: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    agent.says(result(task("COMPLETED")))
    monkeypatch.setattr(sys, "stdin", StringIO("two\nlines\n"))
    assert main(["send", agent.origin, "-"]) == Exit.OK
    assert agent.calls[0].message["parts"] == [{"text": "two\nlines"}]


@pytest.mark.parametrize("by_option", [True, False])
def test_a_token_goes_with_the_call(agent: Agent, monkeypatch: pytest.MonkeyPatch, by_option: bool) -> None:
    agent.says(result(task("COMPLETED")))
    if not by_option:
        monkeypatch.setenv("LLAMON_TOKEN", "s3cret")
    main(["send", agent.origin, "hi", *(["--token", "s3cret"] if by_option else [])])
    assert agent.calls[0].headers["authorization"] == "Bearer s3cret"


def test_history_goes_into_the_messages_metadata(agent: Agent, tmp_path: Path) -> None:
    agent.says(result(task("COMPLETED")))
    past = [{"role": "user", "parts": [{"kind": "text", "text": "remember 42"}]}]
    (tmp_path / "past.json").write_text(json.dumps(past), encoding="utf-8")
    assert main(["send", agent.origin, "hi", "--history", str(tmp_path / "past.json")]) == Exit.OK
    assert agent.calls[0].message["metadata"] == {"history": past}


@pytest.mark.parametrize("content", ["{}", "[", None])
def test_a_history_that_is_no_array_is_a_usage_error(
    agent: Agent, tmp_path: Path, capsys: Capture, content: str | None
) -> None:
    path = tmp_path / "past.json"
    if content is not None:
        path.write_text(content, encoding="utf-8")
    assert main(["send", agent.origin, "hi", "--history", str(path)]) == Exit.USAGE
    assert str(path) in capsys.readouterr().err
    assert not agent.calls


def test_background_does_not_wait(agent: Agent, capsys: Capture) -> None:
    agent.says(result(task("WORKING")))
    assert main(["send", agent.origin, "hi", "--background"]) == Exit.OK
    assert agent.calls[0].body["params"]["configuration"] == {"returnImmediately": True}
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err == f"task t1 in context c1, get its answer with: llamon get {agent.origin} t1\n"


def test_background_and_stream_exclude_each_other(agent: Agent) -> None:
    assert main(["send", agent.origin, "hi", "--background", "--stream"]) == Exit.USAGE


def test_an_agent_that_gave_up_waiting_is_no_answer(agent: Agent, capsys: Capture) -> None:
    agent.says(result(task("WORKING")))
    assert main(["send", agent.origin, "hi"]) == Exit.UNREACHED
    told = capsys.readouterr().err
    assert "not complete" in told
    assert f"llamon get {agent.origin} t1" in told


@pytest.mark.parametrize("said", [task("COMPLETED"), task("COMPLETED", ""), {"message": message("")}])
def test_an_empty_answer_is_pointed_out(agent: Agent, capsys: Capture, said: Json) -> None:
    agent.says(result(said))
    assert main(["send", agent.origin, "hi"]) == Exit.OK
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.splitlines()[0] == "the agent said nothing"


def test_a_failure_is_not_called_an_empty_answer(agent: Agent, capsys: Capture) -> None:
    agent.says(result(task("FAILED")))
    main(["send", agent.origin, "hi"])
    assert "said nothing" not in capsys.readouterr().err


def test_a_stream_is_printed_as_it_comes_with_notes_on_stderr(agent: Agent, capsys: Capture) -> None:
    agent.says(
        stream(
            task("SUBMITTED"),
            status_update("WORKING", message("looking it up")),
            piece("Hel", append=False),
            piece("lo "),
            piece("world", last=True),
            status_update("COMPLETED"),
        )
    )
    assert main(["send", agent.origin, "hi", "--stream"]) == Exit.OK
    assert agent.calls[0].body["method"] == "SendStreamingMessage"
    printed = capsys.readouterr()
    assert printed.out == "Hello world\n"
    assert printed.err.splitlines()[0] == "looking it up"


def test_an_error_before_the_first_event_of_a_stream_is_told(agent: Agent, capsys: Capture) -> None:
    agent.says(error(-32001, "The task was not found."))
    assert main(["send", agent.origin, "hi", "--stream", "--task", "t9"]) == Exit.PROTOCOL
    assert capsys.readouterr().err == "llamon: The agent refused the call: The task was not found. (error -32001)\n"


def test_a_stream_that_ends_too_early_is_no_answer(agent: Agent, capsys: Capture) -> None:
    agent.says(stream(task("WORKING"), piece("Hel", append=False)))
    assert main(["send", agent.origin, "hi", "--stream"]) == Exit.UNREACHED
    printed = capsys.readouterr()
    assert printed.out == "Hel\n"
    assert "not complete" in printed.err


@pytest.mark.parametrize(
    ("last", "code"),
    [
        (task("COMPLETED", "Hello"), Exit.OK),
        (task("INPUT_REQUIRED", said=message("Which one?")), Exit.ASKS),
        ({"message": message("Hello")}, Exit.OK),
    ],
)
def test_a_stream_that_stays_open_is_left_once_the_task_is_settled(agent: Agent, last: Json, code: Exit) -> None:
    agent.says(stream(last, then=silence))
    assert main(["send", agent.origin, "hi", "--stream", "--timeout", "5"]) == code


def test_a_connection_that_breaks_in_a_stream_is_told(agent: Agent, capsys: Capture) -> None:
    async def break_off() -> AsyncIterator[bytes]:
        yield b": still here\n\n"
        raise ConnectionResetError

    agent.says(stream(task("WORKING"), piece("Hel", append=False), then=break_off))
    assert main(["send", agent.origin, "hi", "--stream"]) == Exit.UNREACHED
    assert "closed the connection" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("state", "sentence"),
    [
        ("FAILED", "The task failed: The disk is full"),
        ("REJECTED", "The agent rejected the task: The disk is full"),
        ("CANCELED", "The task was canceled: The disk is full"),
    ],
)
def test_a_bad_end_is_told_and_is_exit_code_1(agent: Agent, capsys: Capture, state: str, sentence: str) -> None:
    agent.says(result(task(state, said=message("The disk is full"))))
    assert main(["send", agent.origin, "hi"]) == Exit.ENDED_BADLY
    assert f"llamon: {sentence}\n" in capsys.readouterr().err


CHOICES = [{"label": word, "value": word} for word in ("keep", "drop")]
KEEP_OR_DROP = {"data": {"questions": [{"id": "q1", "value": {"options": ["keep", "drop"]}, "choices": CHOICES}]}}


def test_a_question_is_printed_with_how_to_answer_it(agent: Agent, capsys: Capture) -> None:
    agent.says(result(task("INPUT_REQUIRED", said=message("Delete it?", KEEP_OR_DROP))))
    assert main(["send", agent.origin, "delete it"]) == Exit.ASKS
    printed = capsys.readouterr()
    assert printed.out == "Delete it?\n"
    assert printed.err == f"choices: keep, drop\nanswer with: llamon send {agent.origin} ANSWER --task t1\n"


def test_choices_that_the_question_names_are_not_told_twice(agent: Agent, capsys: Capture) -> None:
    agent.says(result(task("INPUT_REQUIRED", said=message("Delete it?\nAnswer one of: keep, drop.", KEEP_OR_DROP))))
    assert main(["send", agent.origin, "delete it"]) == Exit.ASKS
    assert capsys.readouterr().err == f"answer with: llamon send {agent.origin} ANSWER --task t1\n"


def test_json_is_the_result_as_one_document_and_nothing_else(agent: Agent, capsys: Capture) -> None:
    answer = task("COMPLETED", "Hi", said=message("안녕"))
    agent.says(result(answer))
    assert main(["send", agent.origin, "hi", "--json"]) == Exit.OK
    printed = capsys.readouterr()
    assert json.loads(printed.out) == answer
    assert printed.out.count("\n") == 1
    assert printed.err == ""


def test_json_of_a_stream_is_one_event_a_line(agent: Agent, capsys: Capture) -> None:
    events = [task("SUBMITTED"), piece("Hi", append=False, last=True), status_update("COMPLETED")]
    agent.says(stream(*events))
    assert main(["send", agent.origin, "hi", "--json", "--stream"]) == Exit.OK
    printed = capsys.readouterr()
    assert [json.loads(line) for line in printed.out.splitlines()] == events
    assert printed.err == ""


def test_json_is_written_although_a_field_that_is_not_read_is_no_text(agent: Agent, capsys: Capture) -> None:
    body = json.dumps({"jsonrpc": "2.0", "id": "1", "result": {**task("COMPLETED"), "more": "?"}}).encode()
    agent.says(Response(body.replace(b'"?"', b'"\xff"'), media_type="application/json"))
    assert main(["send", agent.origin, "hi", "--json"]) == Exit.OK
    assert json.loads(capsys.readouterr().out)["more"] == "\ufffd"


def test_json_leaves_the_failure_to_the_exit_code_and_stderr(agent: Agent, capsys: Capture) -> None:
    agent.says(result(task("FAILED", said=message("no"))))
    assert main(["send", agent.origin, "hi", "--json"]) == Exit.ENDED_BADLY
    printed = capsys.readouterr()
    assert json.loads(printed.out)["task"]["id"] == "t1"
    assert printed.err == "llamon: The task failed: no\n"


def test_an_agents_words_cannot_steer_the_terminal(agent: Agent, capsys: Capture) -> None:
    agent.says(result(task("COMPLETED", "\x1b[2Jred\x1b[31m\x07\x9b1m\r\nnext")))
    main(["send", agent.origin, "hi"])
    assert capsys.readouterr().out == "[2Jred[31m1m\nnext\n"


def test_waiting_ends_with_the_timeout(agent: Agent, capsys: Capture) -> None:
    agent.says(stream(task("WORKING"), then=silence))
    assert main(["send", agent.origin, "hi", "--stream", "--timeout", "2"]) == Exit.UNREACHED
    told = capsys.readouterr().err
    assert "within 2 seconds" in told
    assert f"task t1 in context c1, get its answer with: llamon get {agent.origin} t1\n" in told


def test_a_reader_that_goes_away_ends_it_quietly(agent: Agent) -> None:
    agent.says(result(task("COMPLETED", "x" * 1_000_000)))
    with llamon("send", agent.origin, "hi") as run:
        assert run.stdout is not None
        assert run.stderr is not None
        run.stdout.read(10)
        run.stdout.close()
        assert run.stderr.read() == b""
        assert run.wait(10) == Exit.PIPE_CLOSED


def test_ctrl_c_is_exit_code_130_without_a_traceback(agent: Agent) -> None:
    agent.says(stream(task("WORKING"), piece("Hel", append=False), then=silence))
    with llamon("send", agent.origin, "hi", "--stream") as run:
        assert run.stdout is not None
        assert run.stdout.read(3) == b"Hel"
        run.send_signal(signal.SIGINT)
        _, err = run.communicate(timeout=10)
    assert (run.returncode, err) == (Exit.INTERRUPTED, b"")


def test_an_answer_that_cannot_be_read_names_the_field(agent: Agent, capsys: Capture) -> None:
    agent.says(result({"task": {"id": 7, "contextId": "c1", "status": {"state": "TASK_STATE_WORKING"}}}))
    assert main(["send", agent.origin, "hi"]) == Exit.PROTOCOL
    assert "is not A2A 1.0: task.id is not valid." in capsys.readouterr().err
