import logging
import sys
from typing import Any

import pytest
from langgraph import errors
from langgraph.checkpoint.serde import _msgpack

from llamon_agent.adapters.langgraph import versions
from llamon_agent.adapters.langgraph.versions import (
    add_safe_types,
    is_invalid_resume,
    only_known_types,
    warn_of_old_version,
)


@pytest.fixture(autouse=True)
def forgotten() -> None:
    warn_of_old_version.cache_clear()


@pytest.mark.parametrize("installed", ["1.0.10", "1.2.19", "1.2.19.post1", "1.2.9", "1.2rc1"])
def test_an_old_langgraph_is_named_once(
    installed: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(versions, "version", lambda _name: installed)
    warn_of_old_version()
    warn_of_old_version()
    assert [record.levelno for record in caplog.records] == [logging.WARNING]
    assert f"langgraph {installed} " in caplog.text


@pytest.mark.parametrize("installed", ["1.2.20", "1.2.24", "1.3", "2.0.0a1", "10.0"])
def test_a_newer_langgraph_is_not(
    installed: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(versions, "version", lambda _name: installed)
    warn_of_old_version()
    assert not caplog.records


def marked() -> ValueError:
    error = ValueError("no such city")
    errors._mark_invalid_resume(error)
    return error


def test_an_answer_that_does_not_fit_is_known_by_its_mark() -> None:
    assert is_invalid_resume(marked())
    assert not is_invalid_resume(ValueError("the node's own"))


def test_a_langgraph_without_marks_marks_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    error: Any = marked()
    monkeypatch.delattr(errors, "is_invalid_resume")
    assert not is_invalid_resume(error)


def test_types_are_added_to_langgraphs_list_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_msgpack, "SAFE_MSGPACK_TYPES", frozenset({("their", "Type")}))
    add_safe_types([ValueError])
    add_safe_types([ValueError])
    assert {("their", "Type"), ("builtins", "ValueError")} == _msgpack.SAFE_MSGPACK_TYPES


def test_a_langgraph_without_such_a_list_needs_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "langgraph.checkpoint.serde._msgpack", None)
    add_safe_types([ValueError])
    assert ("builtins", "ValueError") not in _msgpack.SAFE_MSGPACK_TYPES
    assert not only_known_types()
