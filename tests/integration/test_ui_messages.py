"""Components of LangGraph's generative UI reach a host as artifacts, over HTTP."""

import logging
from pathlib import Path
from typing import Any

import pytest
from tests.integration.test_odd_values import talking

GRAPHS = Path(__file__).with_name("ui_agents.py")


def component(task: Any) -> Any:
    found = [each for each in task["artifacts"] if each["artifactId"] == "card"]
    assert len(found) == 1
    return found[0]


async def test_a_component_is_a_data_artifact_that_changes_with_it(tmp_path: Path) -> None:
    async with talking({"folder": str(tmp_path)}, "graph", {}, GRAPHS) as talk:
        shown = component(await talk.say("show"))
        assert shown["name"] == "weather"
        assert shown["parts"] == [{"data": {"city": "Rome", "degrees": 21}}]
        assert shown["metadata"] == {"type": "ui"}
        warmer = component(await talk.say("warmer"))
        assert warmer["parts"] == [{"data": {"city": "Rome", "degrees": 25}}]
        hidden = component(await talk.say("hide"))
        assert (hidden["parts"], hidden["metadata"]) == ([{"data": {}}], {"type": "remove-ui"})


async def test_the_log_names_the_state_that_no_caller_gets(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "llamon_agent")
    async with talking({"ephemeral": True}, "graph", {}, GRAPHS):
        assert [line for line in caplog.messages if "no other keys of its state (notes)" in line]
