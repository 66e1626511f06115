"""A command line's places are filled inside their words, and never become options."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llamon_agent.adapters.process.commandline import PLACEHOLDERS, check_prompt, read_command_line
from llamon_agent.domain.errors import AgentError, ConfigError

VALUES = dict.fromkeys(PLACEHOLDERS, "x")


def test_words_are_split_as_a_shell_does_and_nothing_else_is() -> None:
    command = read_command_line("""agent 'two words' "$HOME" *.py > out; rm -rf $(pwd) ~""")
    assert command.program == "agent"
    assert command.words == ("two words", "$HOME", "*.py", ">", "out;", "rm", "-rf", "$(pwd)", "~")


def test_placeholders_are_filled_inside_their_words() -> None:
    command = read_command_line("agent --session={session_id} {context_id}/{task_id} {thread_id} {prompt}")
    values = {"session_id": "s", "context_id": "c", "task_id": "t", "thread_id": "th", "prompt": "do; it $(now) 'x"}
    assert command.arguments(values) == ["--session=s", "c/t", "th", "do; it $(now) 'x"]


@given(st.text(st.characters(exclude_categories=["Cs"])).filter(lambda text: not text.startswith("-")))
def test_a_value_stays_one_argument_and_is_not_filled_again(value: str) -> None:
    arguments = read_command_line("agent {prompt} {context_id}").arguments({**VALUES, "prompt": value})
    assert arguments == [value, "x"]


def test_other_braces_are_the_programs_own() -> None:
    command = read_command_line("""awk '{print $1} {{prompt}} {unknown}'""")
    assert command.arguments({**VALUES, "prompt": "p"}) == ["{print $1} {p} {unknown}"]


@pytest.mark.parametrize(
    ("place", "what"),
    [("prompt", "prompt"), ("context_id", "contextId"), ("session_id", "contextId"), ("thread_id", "contextId")],
)
def test_a_value_that_looks_like_an_option_is_refused(place: str, what: str) -> None:
    command = read_command_line(f"agent -p {{{place}}}")
    with pytest.raises(AgentError) as caught:
        command.arguments({**VALUES, place: "--dangerous"})
    assert caught.value.public == f"The {what} begins with '-', which this agent's command would take for an option."


def test_an_empty_placeholder_in_front_hides_no_option() -> None:
    with pytest.raises(AgentError):
        read_command_line("agent {prompt}{context_id}").arguments({**VALUES, "prompt": "", "context_id": "-x"})


def test_after_the_end_of_options_a_dash_is_only_a_dash() -> None:
    command = read_command_line("agent -p -- {prompt}")
    assert command.arguments({**VALUES, "prompt": "- a list"}) == ["-p", "--", "- a list"]


def test_a_caller_cannot_send_the_end_of_options() -> None:
    with pytest.raises(AgentError):
        read_command_line("agent {prompt} {context_id}").arguments({**VALUES, "prompt": "--", "context_id": "-x"})


def test_a_dash_inside_a_word_is_the_authors_own() -> None:
    assert read_command_line("agent --id={context_id}").arguments({**VALUES, "context_id": "-x"}) == ["--id=-x"]


def test_lone_surrogates_are_replaced() -> None:
    assert read_command_line("agent {prompt}").arguments({**VALUES, "prompt": "a\ud800\ud800"}) == ["a\ufffd\ufffd"]


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        ("agent 'open", "close it"),
        ("", "needs a command line"),
        ("   ", "needs a command line"),
        ("'' x", "needs a command line"),
        ("{prompt} x", "name it"),
        ("./{context_id}.sh", "name it"),
    ],
)
def test_a_line_that_names_no_program_is_refused_at_the_start(line: str, hint: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read_command_line(line)
    assert hint in caught.value.public


@pytest.mark.parametrize(("line", "as_argument"), [("agent", True), ("agent {prompt}", False)])
def test_a_prompt_without_a_placeholder_or_the_reverse_is_refused(line: str, as_argument: bool) -> None:
    with pytest.raises(ConfigError):
        check_prompt(read_command_line(line), as_argument=as_argument)


@pytest.mark.parametrize(("line", "as_argument"), [("agent", False), ("agent -- {prompt}", True)])
def test_a_prompt_with_a_placeholder_is_fine(line: str, as_argument: bool) -> None:
    check_prompt(read_command_line(line), as_argument=as_argument)
