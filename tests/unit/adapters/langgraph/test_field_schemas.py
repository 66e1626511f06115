"""What the card of a graph without messages says of its fields."""

from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, NotRequired

import pytest
from langgraph.graph import START, MessagesState, StateGraph
from pydantic import BaseModel, Field
from typing_extensions import TypedDict

from llamon_agent.adapters.langgraph.field_schemas import FIELDS_URI, fields_extension, fields_skill
from llamon_agent.adapters.langgraph.state import StateMapping, state_use


class Place(BaseModel):
    city: str


class Trip(BaseModel):
    start: Place = Field(description="Where it begins.")
    end: Place
    by: Literal["train", "bus"] = "train"
    context_id: str


class Plan(TypedDict):
    start: Place
    end: Place
    by: str
    context_id: str
    stops: list[Place]


@dataclass
class Options:
    question: str
    depth: int = 2
    tags: list[str] = field(default_factory=list)


class Keys(TypedDict):
    question: Annotated[str, Field(description="What to look up.")]
    count: NotRequired[int]


class Mixed(MessagesState):
    topic: str


def graph_of(builder: Any) -> Any:
    builder.add_node("node", lambda _: None)
    builder.add_edge(START, "node")
    return builder.compile()


def params_of(graph: Any, mapping: StateMapping | None = None) -> Any:
    extension = fields_extension(graph, state_use(graph, mapping or StateMapping()))
    assert extension is None or extension.uri == FIELDS_URI
    return None if extension is None else extension.params


def test_a_pydantic_model_gives_descriptions_defaults_and_definitions() -> None:
    params = params_of(graph_of(StateGraph(Plan, input_schema=Trip)))
    assert params["input"]["required"] == ["start", "end"]
    assert params["input"]["properties"]["start"] == {"$ref": "#/$defs/Place", "description": "Where it begins."}
    assert params["input"]["properties"]["by"] == {"type": "string", "enum": ["train", "bus"], "default": "train"}
    assert params["input"]["$defs"]["Place"]["properties"] == {"city": {"title": "City", "type": "string"}}
    assert params["output"]["properties"]["stops"] == {"type": "array", "items": {"$ref": "#/$defs/Place"}}
    assert "required" not in params["output"]
    assert "textField" not in params


@pytest.mark.parametrize(
    ("schema", "properties", "required"),
    [
        (
            Options,
            {
                "question": {"type": "string"},
                "depth": {"type": "integer", "default": 2},
                "tags": {"type": "array", "items": {"type": "string"}},
            },
            ["question"],
        ),
        (
            Keys,
            {"question": {"type": "string", "description": "What to look up."}, "count": {"type": "integer"}},
            ["question"],
        ),
    ],
)
def test_dataclasses_and_typed_dicts(schema: Any, properties: Any, required: list[str]) -> None:
    params = params_of(graph_of(StateGraph(schema)))
    assert params["input"] == {"type": "object", "properties": properties, "required": required}
    assert params["textField"] == "question"


def test_messages_are_no_field_of_the_output() -> None:
    assert set(params_of(graph_of(StateGraph(Mixed, input_schema=Keys)))["output"]["properties"]) == {"topic"}


@pytest.mark.parametrize(
    ("graph", "mapping"),
    [
        (graph_of(StateGraph(MessagesState)), None),
        (graph_of(StateGraph(Keys)), StateMapping(input_key="question", output_key="count")),
    ],
)
def test_there_is_nothing_to_say_of_messages_and_of_configured_keys(graph: Any, mapping: Any) -> None:
    assert params_of(graph, mapping) is None
    assert fields_skill(state_use(graph, mapping or StateMapping())) is None


def test_a_configured_key_leaves_only_the_output() -> None:
    assert set(params_of(graph_of(StateGraph(Keys)), StateMapping(input_key="question"))) == {"output"}
