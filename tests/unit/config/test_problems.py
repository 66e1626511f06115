from typing import Annotated, Literal

import pytest
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from llamon_agent.config.file import Source
from llamon_agent.config.problems import Problem, Wrong, explain, problems_in


def _never(value: str) -> str:
    raise Wrong("must be something else")


def _broken(value: str) -> str:
    raise ValueError(value)


class Inner(BaseModel):
    model_config = ConfigDict(extra="forbid")
    color: Literal["red", "green"] = "red"
    size: int = 1


class Outer(BaseModel):
    model_config = ConfigDict(extra="forbid")
    name: str = ""
    flag: bool = False
    size: Annotated[int, Field(ge=2, le=9)] = 2
    share: Annotated[float, Field(gt=0)] = 1.0
    ours: Annotated[str, AfterValidator(_never)] = ""
    theirs: Annotated[str, AfterValidator(_broken)] = ""
    inner: Inner | None = None
    several: tuple[Inner, ...] = ()
    named: dict[str, Inner] = {}


def found(**values: object) -> list[Problem]:
    with pytest.raises(ValidationError) as caught:
        Outer.model_validate(values)
    return problems_in(caught.value, Outer)


@pytest.mark.parametrize(
    ("values", "path", "text"),
    [
        ({"name": 3}, ("name",), "must be text; put it in quotes"),
        ({"flag": "perhaps"}, ("flag",), "must be true or false"),
        ({"flag": []}, ("flag",), "must be true or false"),
        ({"size": "many"}, ("size",), "must be a whole number"),
        ({"size": 2.5}, ("size",), "must be a whole number"),
        ({"size": 1}, ("size",), "must be at least 2"),
        ({"size": 10}, ("size",), "must be at most 9"),
        ({"share": "half"}, ("share",), "must be a number"),
        ({"share": 0}, ("share",), "must be greater than 0"),
        ({"ours": "x"}, ("ours",), "must be something else"),
        ({"theirs": "private"}, ("theirs",), "is not valid"),
        ({"inner": 3}, ("inner",), "must be a section of `key: value` lines"),
        ({"several": 3}, ("several",), "must be a list"),
        ({"named": []}, ("named",), "must be a section of `key: value` lines"),
        ({"inner": {"color": "blue"}}, ("inner", "color"), "must be red or green"),
        ({"nam": 1}, ("nam",), "is not a known key; did you mean name?"),
        ({"inner": {"colour": 1}}, ("inner", "colour"), "is not a known key; did you mean color?"),
        ({"several": [{"sise": 1}]}, ("several", 0, "sise"), "is not a known key; did you mean size?"),
        ({"named": {"x": {"zzz": 1}}}, ("named", "x", "zzz"), "is not a known key; known are color, size"),
    ],
)
def test_a_problem_is_reported_in_our_words(values: dict[str, object], path: tuple[str | int, ...], text: str) -> None:
    assert found(**values) == [Problem(path, text)]


def test_a_problem_is_reported_for_the_source_that_wins() -> None:
    flags = Source(name="command line", values={"a": 1}, lines={})
    environment = Source(name="environment", values={"a": 2, "b": 2}, lines={}, variable=lambda path: f"V_{path[0]}")
    file = Source(name="f.yaml", values={"a": 3, "b": 3, "c": 3, "d": 3}, lines={("c",): 7, ("d",): 2})
    problems = [Problem((key,), "is wrong") for key in ("c", "x", "d", "b", "a")]
    assert explain(problems, (flags, environment, file)).splitlines() == [
        "command line: a is wrong",
        "environment V_b: b is wrong",
        "f.yaml: x is wrong",
        "f.yaml:2: d is wrong",
        "f.yaml:7: c is wrong",
    ]
