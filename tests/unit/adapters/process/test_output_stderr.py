"""What a command says on stderr is in the log, within bounds."""

import logging

import pytest

from llamon_agent.adapters.process.output import MAX_LINE_BYTES, MAX_LINES, StderrLog

LOGGER = "llamon_agent.adapters.process.output"


def logged(caplog: pytest.LogCaptureFixture, *pieces: bytes) -> list[str]:
    with caplog.at_level(logging.INFO, LOGGER):
        log = StderrLog("t")
        for piece in pieces:
            log.feed(piece)
        log.finish()
    return [record.getMessage() for record in caplog.records]


def test_each_line_is_a_log_line_that_names_the_task(caplog: pytest.LogCaptureFixture) -> None:
    assert logged(caplog, b"one\r\ntw", b"o\nthree") == [f"task t: stderr: {word}" for word in ("one", "two", "three")]


def test_a_line_cannot_pose_as_another_or_steer_the_terminal(caplog: pytest.LogCaptureFixture) -> None:
    assert logged(caplog, "a\x1b[2Jb\rERROR\u2028 \xff한\tz\n".encode() + b"\xff") == [
        "task t: stderr: a\ufffd[2Jb\ufffdERROR\ufffd \xff한\tz",
        "task t: stderr: \ufffd",
    ]


def test_a_long_line_is_cut(caplog: pytest.LogCaptureFixture) -> None:
    cut, whole = logged(caplog, b"a" * (MAX_LINE_BYTES + 1) + b"\n" + b"b" * MAX_LINE_BYTES)
    assert cut.endswith(" " + "a" * MAX_LINE_BYTES + "...")
    assert whole.endswith(" " + "b" * MAX_LINE_BYTES)


def test_a_flood_ends_with_one_warning(caplog: pytest.LogCaptureFixture) -> None:
    lines = logged(caplog, b"again\n" * (MAX_LINES + 50))
    assert len(lines) == MAX_LINES + 1
    assert lines[-1] == "task t: the command says more on stderr than is logged"
    assert caplog.records[-1].levelno == logging.WARNING
