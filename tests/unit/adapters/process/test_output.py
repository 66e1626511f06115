"""A command's stdout becomes run events, in either format; its stderr goes to the log."""

import base64
import json
import logging
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.adapters.process.commands import text_of

from llamon_agent.adapters.process.output import (
    MAX_LINE_BYTES,
    MAX_LOGGED_LINE_BYTES,
    MAX_LOGGED_LINES,
    Ending,
    JsonLinesOutput,
    Lines,
    Output,
    StderrLog,
    TextOutput,
)
from llamon_agent.domain.errors import AgentError
from llamon_agent.domain.events import (
    AgentEvent,
    ArtifactMade,
    Complete,
    Delta,
    Error,
    Interrupt,
    Progress,
    Question,
)
from llamon_agent.domain.message import Data, Raw
from llamon_agent.domain.task import Artifact
from llamon_agent.testing.scripted import counting_ids

texts = st.text(st.characters(exclude_categories=["Cs"]))


def heard(output: Output, *pieces: bytes) -> list[AgentEvent]:
    return [event for piece in pieces for event in output.feed(piece)] + output.finish()


def jsonl() -> JsonLinesOutput:
    return JsonLinesOutput("t", counting_ids())


def ending_of(*lines: object) -> Ending | None:
    output = jsonl()
    heard(output, *(json.dumps(line).encode() + b"\n" for line in lines))
    return output.ending


@given(texts, st.integers(1, 5))
def test_text_is_the_answer_in_whatever_pieces_it_comes(text: str, size: int) -> None:
    data = text.encode()
    events = heard(TextOutput(), *(data[at : at + size] for at in range(0, len(data), size)))
    assert text_of(events) == text.rstrip("\r\n")
    assert all(isinstance(event, Delta) and event.text for event in events)


def test_text_comes_at_once_but_for_newlines_that_may_be_the_last() -> None:
    output = TextOutput()
    assert output.feed(b"one\n\n") == [Delta(text="one")]
    assert output.feed(b"two\n") == [Delta(text="\n\ntwo")]
    assert output.finish() == []
    assert output.ending is None


def test_what_is_no_text_is_replaced() -> None:
    assert text_of(heard(TextOutput(), b"a\xffb", b"\xed\x95")) == "a\ufffdb\ufffd"


def test_every_key_gives_its_event() -> None:
    lines = b'{"progress": "reading"}\n{"delta": "so"}\n\n{"artifact": {"name": "n", "parts": [{"data": [1]}]}}\r\n'
    assert heard(jsonl(), lines, b'{"delta": "', b'on"}') == [
        Progress(text="reading"),
        Delta(text="so"),
        ArtifactMade(artifact=Artifact(artifact_id="id-1", name="n", parts=(Data(data=[1]),))),
        Delta(text="on"),
    ]


def test_a_file_travels_as_base64() -> None:
    part = {"bytes": base64.b64encode(b"\x00\xff").decode(), "media_type": "image/png", "filename": "a.png"}
    (made,) = heard(jsonl(), json.dumps({"artifact": {"parts": [part]}}).encode())
    assert isinstance(made, ArtifactMade)
    assert made.artifact.parts == (Raw(data=b"\x00\xff", media_type="image/png", filename="a.png"),)


def test_keys_of_other_names_are_passed_over() -> None:
    assert heard(jsonl(), b'{"type": "x", "delta": "so", "time": 3}') == [Delta(text="so")]


@pytest.mark.parametrize(
    ("line", "ending"),
    [
        ({"complete": "all"}, Complete(text="all")),
        ({"complete": None}, Complete()),
        ({"error": "no such order"}, Error(public="no such order")),
        ({"interrupt": "which?"}, Interrupt(text="which?", questions=(Question(id="id-1", value="which?"),))),
        ({"interrupt": {"a": 1}}, Interrupt(text='{"a":1}', questions=(Question(id="id-1", value={"a": 1}),))),
        ({"delta": "x"}, None),
    ],
)
def test_three_keys_say_how_the_run_ends(line: object, ending: Ending | None) -> None:
    assert ending_of(line) == ending


def test_the_first_ending_counts_and_nothing_after_it() -> None:
    output = jsonl()
    lines = b'{"complete": "a"}\n{"error": "b"}\n{"delta": "c"}\n{"delta": 5}\n'
    assert heard(output, lines) == []
    assert output.ending == Complete(text="a")


def test_lines_that_are_no_events_are_ignored_with_one_warning(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        lines = b'loading...\n5\n[]\nnull\n{"secret": 1}\n{"delta": "so"}\n' + b"[" * 5_000 + b"\n"
        assert heard(jsonl(), lines) == [Delta(text="so")]
    (record,) = caplog.records
    assert record.getMessage() == "task t: the command writes lines that are no events; they are ignored"


@pytest.mark.parametrize(
    "line",
    [
        b'{"delta": "cut',
        b'{"progress": "a", "x": 1e999}',
        b' { "delta" : so}',
        b'{"x": ' + b"[" * 5_000,
        b'{"delta": "\\ud83d", }',
    ],
)
def test_what_begins_as_an_object_and_cannot_be_read_fails_the_run(line: bytes) -> None:
    with pytest.raises(AgentError, match="a line of JSON that cannot be read"):
        heard(jsonl(), line + b"\n")


@pytest.mark.parametrize("line", [b"{'delta': 1}", b"{", b'  "delta": 1', b"}", b"{name} is here"])
def test_braces_alone_are_chat(line: bytes) -> None:
    assert heard(jsonl(), line + b"\n") == []


@pytest.mark.parametrize(
    ("written", "read"),
    [
        (rb"a\ud83d", "a\ud83d"),
        (rb"\udE00b", "\ude00b"),
        (rb"\ud83d\ud83d\ude00", "\ud83d\U0001f600"),
        (rb"\\ud83d \ud83d", "\\ud83d \ud83d"),
    ],
)
def test_surrogates_are_left_to_the_answer_where_the_next_line_may_have_the_second_half(
    written: bytes, read: str
) -> None:
    assert heard(jsonl(), b'{"delta": "' + written + b'"}\n') == [Delta(text=read)]


def test_a_byte_order_mark_is_dropped() -> None:
    assert heard(jsonl(), b'\xef\xbb\xbf{"delta": "so"}\n') == [Delta(text="so")]


def test_a_line_is_read_even_if_a_byte_of_it_is_no_utf_8() -> None:
    assert heard(jsonl(), b'{"delta": "a\xffb"}') == [Delta(text="a\ufffdb")]


@pytest.mark.parametrize(
    "line",
    [
        b'{"delta": 5}',
        b'{"delta": null}',
        b'{"progress": []}',
        b'{"complete": 1}',
        b'{"error": ""}',
        b'{"error": {}}',
        b'{"artifact": "x"}',
        b'{"artifact": {"parts": []}}',
        b'{"delta": "a", "complete": "a"}',
    ],
)
def test_a_piece_of_the_answer_that_cannot_be_understood_is_not_left_out(line: bytes) -> None:
    with pytest.raises(AgentError):
        heard(jsonl(), line)


def test_a_line_may_be_so_long_and_no_longer() -> None:
    around = len(b'{"delta":""}')
    fits = b'{"delta":"' + b"a" * (MAX_LINE_BYTES - around) + b'"}'
    assert len(text_of(heard(jsonl(), fits))) == MAX_LINE_BYTES - around
    with pytest.raises(AgentError) as caught:
        heard(jsonl(), fits + b" ")
    assert str(MAX_LINE_BYTES) in caught.value.public


@given(st.lists(texts), st.integers(1, 7))
def test_json_lines_come_in_any_pieces(answer: list[str], size: int) -> None:
    data = b"".join(json.dumps({"delta": text}).encode() + b"\n" for text in answer)
    events = heard(jsonl(), *(data[at : at + size] for at in range(0, len(data), size)))
    assert events == [Delta(text=text) for text in answer]


@given(st.binary())
def test_any_bytes_are_events_or_an_agents_error(data: bytes) -> None:
    with suppress(AgentError):
        heard(jsonl(), data)


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
    cut, whole = logged(caplog, b"a" * (MAX_LOGGED_LINE_BYTES + 1) + b"\n" + b"b" * MAX_LOGGED_LINE_BYTES)
    assert cut.endswith(" " + "a" * MAX_LOGGED_LINE_BYTES + "...")
    assert whole.endswith(" " + "b" * MAX_LOGGED_LINE_BYTES)


def test_a_flood_ends_with_one_warning(caplog: pytest.LogCaptureFixture) -> None:
    lines = logged(caplog, b"again\n" * (MAX_LOGGED_LINES + 50))
    assert len(lines) == MAX_LOGGED_LINES + 1
    assert lines[-1] == "task t: the command writes more to stderr than is logged"
    assert caplog.records[-1].levelno == logging.WARNING


streams = st.lists(st.binary(max_size=12).map(lambda data: data.replace(b"x", b"\n")), max_size=8)


def cut(pieces: list[bytes], limit_bytes: int) -> list[bytes]:
    lines = Lines(limit_bytes)
    return [line for piece in pieces for line in lines.feed(piece)] + lines.finish()


@given(streams)
def test_the_lines_do_not_depend_on_the_pieces(pieces: list[bytes]) -> None:
    whole = b"".join(pieces)
    assert cut(pieces, 1_000) == whole.removesuffix(b"\n").split(b"\n") if whole else cut(pieces, 1_000) == []


@given(streams, st.integers(0, 5))
def test_of_a_long_line_just_one_byte_too_many_is_kept(pieces: list[bytes], limit_bytes: int) -> None:
    assert cut(pieces, limit_bytes) == [line[: limit_bytes + 1] for line in cut(pieces, 1_000)]


def test_what_comes_after_a_long_line_is_whole_again() -> None:
    assert cut([b"a" * 10, b"a" * 10 + b"\nbc\nd"], 3) == [b"aaaa", b"bc", b"d"]
