import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from llamon_agent.domain.error_location import brief, where, with_cause, worth_a_trace
from llamon_agent.domain.errors import AgentError, BackendError


def raised(work: Callable[..., Any]) -> BaseException:
    with pytest.raises((ValueError, SyntaxError)) as caught:
        work()
    return caught.value


def test_the_last_line_of_somebodys_own_code_is_told_even_where_a_library_raised() -> None:
    def work() -> None:
        json.loads("a secret")

    error = raised(work)
    assert brief(error) == f"JSONDecodeError at {Path(__file__)}:{work.__code__.co_firstlineno + 1}"


def test_where_there_is_no_code_of_theirs_the_last_place_is_told() -> None:
    error = raised(lambda: json.loads("x"))
    assert error.__traceback__ is not None
    ours = error.__traceback__.tb_next
    assert ours is not None
    assert "json" in where(error.with_traceback(ours.tb_next))


def test_a_syntax_error_knows_its_place() -> None:
    error = raised(lambda: compile("\n(", "graph.py", "exec"))
    assert where(error) == "graph.py:2"


def test_an_error_that_was_never_raised_has_no_place() -> None:
    assert brief(ValueError("a secret")) == "ValueError at a place that is not known"


def test_a_traceback_is_shown_where_something_else_caused_the_error() -> None:
    deliberate = AgentError("No such order.")
    wrapped = AgentError("No such order.")
    wrapped.__cause__ = deliberate
    broken = AgentError("It broke.")
    broken.__cause__ = KeyError("a secret")
    away = BackendError()
    away.__cause__ = OSError()
    shown = [worth_a_trace(each) for each in (deliberate, wrapped, broken, away)]
    assert shown == [None, None, broken, None]


def test_an_error_is_told_with_what_caused_it() -> None:
    assert with_cause(AgentError("It broke.")) == "It broke."
    error = AgentError("It broke.")
    error.__cause__ = KeyError("a secret")
    assert with_cause(error) == "It broke. (KeyError at a place that is not known)"
