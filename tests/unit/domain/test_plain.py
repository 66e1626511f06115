"""Values of other people's classes become plain ones, and what has no plain form is the agent's failure."""

from array import array
from collections import OrderedDict
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from types import MappingProxyType
from typing import Any

import msgspec
import pytest
from pydantic import BaseModel

from llamon_agent.domain.errors import AgentError
from llamon_agent.domain.events import ArtifactMade, Interrupt, Question
from llamon_agent.domain.message import Data, Text
from llamon_agent.domain.plain import checked, is_plain, json_of, sendable
from llamon_agent.domain.task import Artifact


class Words(str):
    """A text of a class of its own, as LangChain and markupsafe have them."""

    def __str__(self) -> str:
        return "something else"


class Count(int): ...


class Ratio(float): ...


class Rows(list[Any]): ...


class Colour(StrEnum):
    RED = "red"


class Model(BaseModel):
    x: int


@dataclass
class Point:
    x: int


VALUES: list[tuple[object, Any]] = [
    (Words("a"), "a"),
    ({Words("a"): Words("b")}, {"a": "b"}),
    (Rows([Count(3), Ratio(0.5)]), [3, 0.5]),
    ({Count(1): Colour.RED}, {"1": "red"}),
    (OrderedDict(a=(1, 2)), {"a": [1, 2]}),
    (MappingProxyType({"a": 1}), {"a": 1}),
    (Fraction(1, 2), 0.5),
    (array("i", [1, 2]), [1, 2]),  # which lists itself, as numpy's arrays and numbers do
    ({"a\ud800": ["\udfff", Words("\ud83d\ude00")]}, {"a\ufffd": ["\ufffd", "😀"]}),
    ({"\ud800": (Count(1), Model(x=2), float("nan"))}, {"\ufffd": [1, {"x": 2}, None]}),
    ({"model": Model(x=1), "point": Point(2)}, {"model": {"x": 1}, "point": {"x": 2}}),
]


def kinds(value: object) -> object:
    """The exact classes that a value is made of."""
    if isinstance(value, dict):
        return dict, [(type(key), kinds(inner)) for key, inner in value.items()]
    return (list, [kinds(inner) for inner in value]) if isinstance(value, list) else type(value)


@pytest.mark.parametrize(("value", "plain"), VALUES, ids=repr)
def test_a_value_becomes_plain_json(value: object, plain: object) -> None:
    assert json_of(value) == plain
    assert kinds(json_of(value)) == kinds(plain)


@pytest.mark.parametrize("value", [object(), {"a": object()}, {(1, 2): 3}, {"\ud800": object()}], ids=repr)
def test_a_value_without_a_json_form_is_the_agents_failure(value: object) -> None:
    with pytest.raises(AgentError, match="neither text nor JSON"):
        json_of(value)


@pytest.mark.parametrize("depth", [101, 300, 950])
def test_a_value_may_nest_a_hundred_levels(depth: int) -> None:
    value: Any = 1
    for _ in range(100):
        value = [value]
    assert json_of(value) == value
    assert is_plain(made("a", key=value))
    for _ in range(depth - 100):
        value = [value]
    with pytest.raises(AgentError, match="nests deeper than 100 levels"):
        json_of(value)


@pytest.mark.parametrize("carry", [sendable, checked])
def test_an_event_that_nests_too_deep_is_the_agents_failure(carry: Any) -> None:
    value: Any = 1
    for _ in range(200):
        value = [value]
    with pytest.raises(AgentError, match="an artifact that nests deeper than 100 levels"):
        carry(made("a", key=value), "an artifact")


def made(name: Any, **metadata: object) -> ArtifactMade:
    return ArtifactMade(artifact=Artifact(artifact_id="a", parts=(Text.of("x"),), name=name, metadata=metadata))


@pytest.mark.parametrize("carry", [sendable, checked])
def test_an_event_becomes_plain_in_all_its_places(carry: Any) -> None:
    event = carry(made(Words("name"), **{Words("key"): Words("value")}), "an artifact")
    assert event == made("name", key="value")
    assert type(event.artifact.name) is str
    assert is_plain(event)


def test_an_event_that_is_plain_is_not_copied() -> None:
    event = made("name", key=[1])
    assert sendable(event, "an artifact") is event


@pytest.mark.parametrize("event", [made(object()), made("a", key=object())], ids=["name", "key"])
@pytest.mark.parametrize("carry", [sendable, checked])
def test_an_event_that_has_no_plain_form_is_the_agents_failure(carry: Any, event: ArtifactMade) -> None:
    with pytest.raises(AgentError, match="The agent made an artifact that cannot be sent"):
        carry(event, "an artifact")


@pytest.mark.parametrize("carry", [sendable, checked])
def test_surrogates_of_an_event_are_replaced_in_all_its_places(carry: Any) -> None:
    parts = (Text.of("\ud83d\ude00\ud83d"), Data(data=["\ud800"], filename="\ud800"))
    event = made("\udfff", **{"\ud800": "\ud800"})
    event = msgspec.structs.replace(event, artifact=msgspec.structs.replace(event.artifact, parts=parts))
    found = carry(event, "an artifact").artifact
    assert (found.name, found.metadata) == ("\ufffd", {"\ufffd": "\ufffd"})
    assert found.parts == (Text.of("😀\ufffd"), Data(data=["\ufffd"], filename="\ufffd"))


def test_somebody_elses_event_must_have_the_right_kinds_in_its_fields() -> None:
    with pytest.raises(AgentError, match="The agent made an artifact that cannot be sent"):
        checked(made(5), "an artifact")


def test_a_question_becomes_plain_too() -> None:
    asked = checked(Interrupt(text="?", questions=(Question(id="q", value=Words("?")),)), "a question")
    assert type(asked.questions[0].value) is str


def test_data_of_any_json_survives_the_check() -> None:
    event = ArtifactMade(artifact=Artifact(artifact_id="a", parts=(Data(data={"a": [1, None, 2**70]}),)))
    assert checked(event, "an artifact") == event
    assert msgspec.json.encode(event)
