"""A thread keeps what LangGraph's serializer refuses, unless it is told to make only objects that it knows."""

from fractions import Fraction
from importlib import import_module
from threading import Lock
from typing import Any

import pytest
from pydantic import BaseModel, HttpUrl

from llamon_agent.adapters.langgraph.checkpoints.serializer import serializer, strict_serializer
from llamon_agent.domain.errors import ConfigError


class Evidence(BaseModel):
    title: str
    url: HttpUrl | None = None


class Plain:
    def __init__(self, name: str) -> None:
        self.name = name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Plain) and self.name == other.name


@pytest.mark.parametrize(
    ("value", "form"),
    [
        ({"found": [Evidence(title="a", url=HttpUrl("https://example.com/"))]}, "pickle"),
        (Plain("a"), "pickle"),
        (Fraction(1, 3), "pickle"),
        (2**70, "pickle"),
        ({"text": "a", "number": 1}, "msgpack"),
    ],
)
def test_a_value_comes_back_as_it_was(value: Any, form: str) -> None:
    kept = serializer().dumps_typed(value)
    assert kept[0] == form
    assert serializer().loads_typed(kept) == value


def test_a_value_that_holds_a_lock_is_refused() -> None:
    with pytest.raises(TypeError):
        serializer().dumps_typed({"lock": Lock()})


def test_nothing_is_pickled_where_only_known_types_are_made(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = serializer().dumps_typed(Plain("a"))
    monkeypatch.setattr(import_module("langgraph.checkpoint.serde._msgpack"), "STRICT_MSGPACK_ENABLED", True)
    with pytest.raises(TypeError):
        serializer().dumps_typed(Plain("a"))
    with pytest.raises(NotImplementedError):
        serializer().loads_typed(kept)


def test_a_list_of_classes_lets_only_these_come_back_and_pickles_nothing() -> None:
    kept = serializer().dumps_typed({"evidence": Evidence(title="a")})
    listed = strict_serializer([f"{Evidence.__module__}:{Evidence.__name__}"])
    assert listed.loads_typed(kept) == {"evidence": Evidence(title="a")}
    read = strict_serializer([]).loads_typed(kept)
    assert not isinstance(read["evidence"], Evidence)
    with pytest.raises(TypeError):
        listed.dumps_typed(Plain("a"))
    with pytest.raises(NotImplementedError):
        listed.loads_typed(serializer().dumps_typed(Plain("a")))


def test_a_langgraph_that_has_no_such_list_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"{strict_serializer.__module__}._ALLOWED", "not_there")
    with pytest.raises(ConfigError, match="langgraph-checkpoint"):
        strict_serializer([])
