import io
import json
import logging
from collections.abc import Iterator
from importlib import import_module
from typing import Any, Literal

import pytest

from llamon_agent.serving.logs import KEYS, LineLimit, set_up_logging

ours = logging.getLogger("llamon_agent.somewhere")
theirs = logging.getLogger("some_library")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def _unlogged() -> Iterator[None]:
    """Leave the loggers as they were."""
    root, package = logging.getLogger(), logging.getLogger("llamon_agent")
    pool = logging.getLogger("psycopg.pool")
    handlers, levels = root.handlers[:], (root.level, package.level, pool.level)
    yield
    root.handlers[:] = handlers
    root.setLevel(levels[0])
    package.setLevel(levels[1])
    pool.setLevel(levels[2])


def lines(level: str = "info", style: Literal["console", "json"] = "json", stream: io.StringIO | None = None) -> Any:
    """Set up logging; calling the result gives the lines so far."""
    stream = stream or io.StringIO()
    set_up_logging(level, style, stream)
    return lambda: stream.getvalue().splitlines()


def test_json_is_one_object_a_line_from_everybody() -> None:
    written = lines()
    ours.info("호스트 %s", "약속")
    theirs.warning("hello")
    first, second = (json.loads(line) for line in written())
    assert (first["event"], first["level"], first["logger"]) == ("호스트 약속", "info", "llamon_agent.somewhere")
    assert first["timestamp"].endswith("Z")
    assert (second["event"], second["logger"]) == ("hello", "some_library")


def test_ids_go_with_a_line_and_nothing_else_of_extra_does() -> None:
    written = lines()
    ours.info("x", extra={key: f"v-{key}" for key in KEYS} | {"prompt": "private"})
    (line,) = written()
    told = json.loads(line)
    assert {key: told[key] for key in KEYS} == {key: f"v-{key}" for key in KEYS}
    assert "private" not in line


@pytest.mark.parametrize(
    ("level", "expected"),
    [
        ("debug", ["our debug", "our info", "their info", "our error", "their error"]),
        ("info", ["our info", "their info", "our error", "their error"]),
        ("warning", ["our error", "their error"]),
        ("error", ["our error", "their error"]),
    ],
)
def test_debug_is_for_our_lines_only(level: str, expected: list[str]) -> None:
    written = lines(level)
    ours.debug("our debug")
    theirs.debug("their debug: a prompt")
    ours.info("our info")
    theirs.info("their info")
    ours.error("our error")
    theirs.error("their error")
    assert [json.loads(line)["event"] for line in written()] == expected


@pytest.mark.parametrize("style", ["console", "json"])
@pytest.mark.parametrize(
    "text",
    [
        "Authorization: Bearer s3cret.abc-_~+/=",
        "bearer s3cret",
        "{'authorization': b'BEARER  s3cret'}",
        "Bearer%20s3cret",
    ],
)
def test_no_bearer_token_is_ever_written(style: Literal["console", "json"], text: str) -> None:
    written = lines(style=style)
    ours.info("got %s", text)
    ours.error("failed", exc_info=ValueError(text), extra={"method": text})
    whole = "\n".join(written())
    assert "s3cret" not in whole
    assert "***" in whole


@pytest.mark.parametrize("style", ["console", "json"])
def test_a_traceback_shows_no_local_variables(style: Literal["console", "json"]) -> None:
    written = lines(style=style, stream=Terminal())

    def fail() -> None:
        prompt = "pri" + "vate"
        raise RuntimeError("code " + str(len(prompt)))

    try:
        fail()
    except RuntimeError:
        ours.exception("failed")
    whole = "\n".join(written())
    assert "RuntimeError: code 7" in whole
    assert "private" not in whole


def test_only_a_terminal_gets_colors() -> None:
    plain, colored = lines(style="console"), lines(style="console", stream=Terminal())
    ours.info("hello")
    assert plain() == []  # the later set-up took its place
    assert "\x1b[" in colored()[0]
    plain = lines(style="console")
    ours.info("hello")
    assert "\x1b[" not in plain()[0]
    assert "hello" in plain()[0]


def test_stderr_is_the_default(capsys: pytest.CaptureFixture[str]) -> None:
    set_up_logging("info", "json")
    ours.info("hello")
    printed = capsys.readouterr()
    assert printed.out == ""
    assert json.loads(printed.err)["event"] == "hello"


def test_a_pool_that_tries_to_reach_its_server_does_not_fill_the_log() -> None:
    written = lines("debug")
    logging.getLogger("psycopg.pool").warning("error connecting")
    logging.getLogger("psycopg.pool").error("a worker has died")
    (line,) = written()
    assert json.loads(line)["event"] == "a worker has died"


READING = "llamon_agent.inbound.a2a.history.reading"


def test_what_each_call_can_log_is_limited_and_what_is_left_out_is_counted() -> None:
    now = 0.0
    limit = LineLimit(READING, 2, lambda: now)

    def written(number: int) -> str | None:
        record = logging.makeLogRecord({"name": READING, "msg": "line %d", "args": (number,)})
        return record.getMessage() if limit.filter(record) else None

    assert [written(number) for number in range(5)] == ["line 0", "line 1", None, None, None]
    now = 61.0
    assert written(5) == "line 5 (3 more lines like this were left out)"
    now = 130.0
    assert written(6) == "line 6"


BINDINGS = "llamon_agent.inbound.a2a.bindings"


@pytest.mark.parametrize("filled", [READING, f"{BINDINGS}.refusals", f"{BINDINGS}.web_guard"])
def test_an_edge_limits_the_lines_that_callers_can_add_and_no_others(filled: str) -> None:
    assert import_module(filled).logger.name == filled
    written = lines()
    for number in range(100):
        logging.getLogger(filled).warning("line %d", number)
        ours.warning("line %d", number)
    assert len(written()) == 20 + 100
