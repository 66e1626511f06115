import sys
from io import StringIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llamon_agent.cli.screen import Screen, complain, plain

Capture = pytest.CaptureFixture[str]


class Terminal(StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


@given(st.text())
def test_plain_text_has_no_control_characters_and_keeps_the_rest(text: str) -> None:
    kept = plain(text)
    assert all(char in "\t\n" or (ord(char) >= 32 and not 127 <= ord(char) <= 159) for char in kept)
    assert [char for char in text if char.isprintable()] == [char for char in kept if char.isprintable()]


def test_each_line_of_an_error_has_our_name(capsys: Capture) -> None:
    complain("one\ntwo")
    assert capsys.readouterr().err == "llamon: one\nllamon: two\n"


def test_words_end_with_one_newline(capsys: Capture) -> None:
    screen = Screen()
    for text in ("a", "b", ""):
        screen.words(text)
    screen.end()
    screen.words("c\n")
    screen.end()
    assert capsys.readouterr().out == "ab\nc\n"


def test_json_keeps_every_character_and_escapes_the_controls(capsys: Capture) -> None:
    Screen().json('{"a":"\x7f\x9b안"}')
    assert capsys.readouterr().out == '{"a":"\\u007f\\u009b안"}\n'


def test_a_note_is_no_markup(capsys: Capture) -> None:
    Screen().note("[bold]x[/bold] :smile:")
    assert capsys.readouterr().err == "[bold]x[/bold] :smile:\n"


def test_a_note_breaks_an_open_line_only_where_both_are_seen(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Screen()
    screen.words("a")
    screen.note("n")
    screen.words("b")
    assert capsys.readouterr().out == "ab"
    terminal = Terminal()
    monkeypatch.setattr(sys, "stdout", terminal)
    screen.note("n")
    assert terminal.getvalue() == "\n"


def test_lines_come_from_a_pipe_without_a_prompt(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", StringIO("one\n\nlast"))
    screen = Screen()
    assert [screen.ask("you> ") for _ in range(4)] == ["one", "", "last", None]
    assert capsys.readouterr().out == ""


def test_the_end_of_a_terminals_input_is_none(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", Terminal("typed\n"))
    screen = Screen()
    assert screen.ask("you> ") == "typed"
    assert screen.ask("you> ") is None
    assert capsys.readouterr().out == "you> you> \n"


def test_a_terminal_shows_progress_at_once_and_overwrites_it(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = Terminal()
    monkeypatch.setattr(sys, "stderr", seen)
    screen = Screen()
    screen.progress("Hel\nlo")
    assert seen.getvalue() == "\x1b[2mHel lo\x1b[0m"
    screen.words("Hel\nlo")
    assert seen.getvalue().endswith("\r\x1b[2K")
