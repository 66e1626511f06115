"""Who may be left out, and what is left without them."""

from pathlib import Path

import pytest

from llamon_agent.config.edge import EdgeConfig
from llamon_agent.config.langgraph_json import Project
from llamon_agent.domain.errors import ConfigError
from llamon_agent.serving.left_out import check_failed, graphs_of, lines, without


def config(*names: str, **a2a: object) -> EdgeConfig:
    agents = {name: {"target": f"m:{name}"} for name in names}
    return EdgeConfig.model_validate({"a2a": {"adapter": "custom", **a2a}, "agents": agents})


def test_graphs_with_a_target_of_their_own_are_no_longer_the_projects() -> None:
    graphs = {name: {"target": f"m:{target}"} for name, target in (("one", "one"), ("two", "else"), ("gone", "gone"))}
    project = Project(file=Path("langgraph.json"), agents=graphs, env={})
    assert graphs_of(config("one", "two"), project) == {"one"}
    assert graphs_of(config("one"), None) == set()


def test_only_those_may_fail_who_may_be_left_out_and_somebody_must_be_left() -> None:
    both = config("one", "two")
    check_failed(both, {}, set())
    check_failed(both, {"one": "Wrong."}, {"one"})
    with pytest.raises(ConfigError, match=r"\Aagents.one: Wrong.\Z"):
        check_failed(both, {"one": "Wrong."}, {"two"})
    with pytest.raises(ConfigError, match=r"\Aagents.one: Wrong.\nagents.two: Wrong.\nagents.two: Twice.\Z"):
        check_failed(both, {"one": "Wrong.", "two": "Wrong.\nTwice."}, {"one", "two"})


def test_what_names_a_left_out_agent_names_it_no_longer() -> None:
    asked = config("one", "two", "three", agent="two", routing={"allow": ["two", "three"]})
    left = without(asked, {"two"})
    assert [served.target.name for served in left.agent_specs()] == ["one", "three"]
    assert left.a2a.agent is None
    assert left.a2a.routing is not None
    assert left.a2a.routing.allow == ("three",)
    assert without(asked, {"one"}).a2a.agent == "two"
    assert without(asked, set()) is asked


def test_who_answers_in_a_default_agents_place_is_told() -> None:
    asked = config("one", "two", agent="two")
    assert lines(asked, {"one": "Wrong.\nTwice."}) == ["one is not served: Wrong.", "one is not served: Twice."]
    assert lines(asked, {"two": "Wrong."}) == ["two is not served: Wrong.", "the default agent is one, not two"]
    assert lines(asked, {}) == []
