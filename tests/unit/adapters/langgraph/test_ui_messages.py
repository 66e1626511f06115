"""Messages of LangGraph's generative UI become artifacts."""

from typing import Any

import pytest

from llamon_agent.adapters.langgraph.ui_messages import UiMessages
from llamon_agent.domain.message import Data

SHOWN = {
    "type": "ui",
    "id": "1",
    "name": "chart",
    "props": {"a": 1},
    "metadata": {"run_id": object(), "message_id": "m"},
}
MORE = {"type": "ui", "id": "1", "name": "chart", "props": {"b": 2}, "metadata": {"merge": True}}


def props(made: Any) -> Any:
    (part,) = made.artifact.parts
    assert isinstance(part, Data)
    return part.data


def test_a_component_is_an_artifact_without_what_langgraph_writes_for_itself() -> None:
    made = UiMessages().artifact(SHOWN, None)
    assert made is not None
    assert (made.artifact.artifact_id, made.artifact.name, props(made)) == ("1", "chart", {"a": 1})
    assert made.artifact.metadata == {"message_id": "m", "type": "ui"}


@pytest.mark.parametrize(
    ("state", "merged"),
    [
        ({"ui": [{"type": "ui", "id": "1", "name": "chart", "props": {"b": 0, "c": 3}}]}, {"b": 2, "c": 3}),
        ({"ui": [{"type": "remove-ui", "id": "1"}]}, {"b": 2}),
        ({"ui": "odd"}, {"b": 2}),
        ({}, {"b": 2}),
        (None, {"b": 2}),
    ],
)
def test_merged_props_are_whole_after_an_earlier_run_too(state: Any, merged: Any) -> None:
    assert props(UiMessages().artifact(MORE, state)) == merged


def test_merged_props_are_whole_within_a_run_and_gone_once_removed() -> None:
    ui = UiMessages()
    ui.artifact(SHOWN, None)
    assert props(ui.artifact(MORE, None)) == {"a": 1, "b": 2}
    removed = ui.artifact({"type": "remove-ui", "id": "1"}, None)
    assert removed is not None
    assert (props(removed), removed.artifact.metadata) == ({}, {"type": "remove-ui"})
    assert props(ui.artifact(MORE, None)) == {"b": 2}


@pytest.mark.parametrize(
    "written",
    [
        "text",
        {"progress": "x"},
        {"type": "ui"},
        {**SHOWN, "id": ""},
        {**SHOWN, "props": 1},
        {"type": "remove-ui"},
        None,
    ],
)
def test_other_values_are_no_component(written: Any) -> None:
    assert UiMessages().artifact(written, None) is None


def test_props_without_a_json_form_are_named_by_their_type() -> None:
    made = UiMessages().artifact({**SHOWN, "props": {"o": object()}, "metadata": None}, None)
    assert props(made) == {"o": "<object>"}
