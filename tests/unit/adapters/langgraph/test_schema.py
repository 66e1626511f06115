"""Which fields of a graph without messages a message fills, and which fields are its answer."""

import typing
from dataclasses import dataclass, field
from typing import Annotated, Any, NotRequired

import pytest
import typing_extensions
from langgraph.func import entrypoint
from langgraph.graph import START, StateGraph
from langgraph.managed import RemainingSteps
from pydantic import BaseModel

from llamon_agent.adapters.langgraph.schema import Field, Placed, Schema, place, schema_of, text_among, written_fields


def join(one: str, other: str) -> str:
    return one + other


@dataclass
class Starter:
    changeme: str = "example"


@dataclass
class Two:
    topic: str
    notes: list[str] = field(default_factory=list)
    style: str = "plain"


class Model(BaseModel):
    question: str
    depth: int = 1
    style: str | None = None


class Whole(typing.TypedDict):
    question: str
    answer: NotRequired[str]
    left: RemainingSteps


class Loose(typing.TypedDict, total=False):
    one: str
    other: typing.Optional[str]  # noqa: UP045 -- as many write it


class LooseButOne(typing_extensions.TypedDict, total=False):
    one: typing_extensions.Required[str]
    other: Annotated[str, join]


class Kinds(typing.TypedDict):
    number: int
    either: str | int
    any: Any
    choice: typing.Literal["a"]
    table: dict[str, Any]


class WithIds(typing.TypedDict):
    question: str
    thread_id: str
    contextId: str
    task_id: int


class Plain:
    question: str
    style: str = "plain"


def graph(schema: Any, **schemas: Any) -> Any:
    builder = StateGraph(schema, **schemas)
    builder.add_node("node", lambda state: {})
    builder.add_edge(START, "node")
    return builder.compile()


@pytest.mark.parametrize(
    ("schema", "required", "texts", "text_field"),
    [
        (Starter, [], ["changeme"], "changeme"),
        (Two, ["topic"], ["topic", "style"], "topic"),
        (Model, ["question"], ["question", "style"], "question"),
        (Whole, ["question"], ["question", "answer"], "question"),
        (Loose, [], ["one", "other"], None),
        (LooseButOne, ["one"], ["one", "other"], "one"),
        (Kinds, ["number", "either", "any", "choice", "table"], [], None),
        (
            WithIds,
            ["question", "thread_id", "contextId", "task_id"],
            ["question", "thread_id", "contextId"],
            "question",
        ),
    ],
)
def test_text_fills_the_only_required_string_else_the_only_string(
    schema: Any, required: list[str], texts: list[str], text_field: str | None
) -> None:
    found = schema_of(graph(schema))
    assert [each.name for each in found.takes if each.is_required] == required
    assert [each.name for each in found.takes if each.is_text] == texts
    assert found.text_field == text_field


def test_marks_count_where_annotations_are_kept_as_strings() -> None:
    names: dict[str, Any] = {"__name__": __name__}
    exec(
        "from __future__ import annotations\n"
        "from typing import NotRequired, TypedDict\n"
        "class State(TypedDict):\n    question: str\n    answer: NotRequired[str]\n",
        names,
    )
    assert schema_of(graph(names["State"])).text_field == "question"


def test_input_and_output_have_schemas_of_their_own() -> None:
    found = schema_of(graph(Two, input_schema=Starter, output_schema=Loose))
    assert ([each.name for each in found.takes], [each.name for each in found.gives]) == (
        ["changeme"],
        ["one", "other"],
    )


def test_a_graph_without_named_keys_has_no_fields() -> None:
    @entrypoint()
    async def functional(given: str) -> str:
        return given

    assert schema_of(functional) == schema_of(graph(dict)) == Schema()


QUESTION = Schema(takes=(Field("question", True, True), Field("table", False, True), Field("taskId", True, False)))
LOOSE = Schema(takes=(Field("one", True, False), Field("other", True, False)))
IDS = {"task_id": "t", "context_id": "c", "thread_id": "h"}


@pytest.mark.parametrize(
    ("text", "data", "values"),
    [
        ("hi", [], {"question": "hi", "taskId": "t"}),
        ("hi", [{"table": {"a": 1}}], {"question": "hi", "table": {"a": 1}, "taskId": "t"}),
        (None, [{"question": "q", "taskId": "mine"}], {"question": "q", "taskId": "mine"}),
        (None, [{"question": "q"}, {"table": {}}], {"question": "q", "table": {}, "taskId": "t"}),
    ],
)
def test_a_message_fills_fields(text: str | None, data: list[Any], values: dict[str, Any]) -> None:
    assert place(QUESTION, text, data, IDS) == Placed(values)


@pytest.mark.parametrize(
    ("schema", "text", "data", "said"),
    [
        (LOOSE, "hi", [], "text belongs to no single field"),
        (LOOSE, "hi", [{"one": "x"}], "text belongs to no single field"),
        (QUESTION, "hi", [{"question": "q"}], "the field question, which a data part has filled"),
        (QUESTION, None, [{"qestion": "q"}], "a data part must be an object of fields"),
        (QUESTION, None, [{"question": "q", "more": 1}], "a data part must be an object of fields"),
        (QUESTION, None, [{"question": "q"}, {"question": "p"}], "each of them once"),
        (QUESTION, None, [{}], "a data part must be an object of fields"),
        (QUESTION, None, [["question"]], "a data part must be an object of fields"),
    ],
)
def test_what_has_no_field_is_refused_with_the_fields(
    schema: Schema, text: str | None, data: list[Any], said: str
) -> None:
    problem = place(schema, text, data, IDS).problem
    assert problem is not None
    assert said in problem
    assert problem.endswith("Its fields: one, other." if schema is LOOSE else "Its fields: question, table.")


def test_an_id_that_the_call_does_not_have_is_left_out() -> None:
    assert place(QUESTION, "hi", [], {}) == Placed({"question": "hi"})


GIVES = Schema(gives=(Field("question", True, True), Field("answer", True, False), Field("rows", False, False)))


@pytest.mark.parametrize(
    ("begun", "after", "written", "answer"),
    [
        ({"question": "q"}, {"question": "q", "answer": "a"}, (), {"answer": "a"}),
        ({"question": "q"}, {"question": "Q"}, (), {"question": "Q"}),
        ({"question": "q"}, {"question": "q"}, ("question",), {}),
        ({"answer": "a"}, {"answer": "a"}, (), {}),
        ({"answer": "a"}, {"answer": "a"}, ("answer",), {"answer": "a"}),
        ({}, {"rows": (1, 2), "hidden": 1, "messages": []}, (), {"rows": [1, 2]}),
        (None, None, (), {}),
    ],
)
def test_the_fields_that_a_run_wrote_are_its_answer(begun: Any, after: Any, written: Any, answer: Any) -> None:
    assert written_fields(GIVES, begun, after, written, {"question"}) == answer


@pytest.mark.parametrize(
    ("names", "text_field", "found"),
    [
        (["answer", "rows"], "question", "answer"),
        (["question", "answer"], "question", "answer"),
        (["question", "answer"], None, None),
        (["question"], "question", "question"),
        (["rows"], "question", None),
    ],
)
def test_the_only_string_is_the_text_of_an_answer(names: list[str], text_field: str | None, found: str | None) -> None:
    assert text_among(GIVES, names, text_field) == found
