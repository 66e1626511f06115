"""Graphs of a langgraph.json that cannot be served: the others are, without them.

A project is often served as it is, with graphs that were never meant for A2A. An agent in the configuration itself must
be served; if it cannot be, the start fails with the reason.
"""

import logging
from collections.abc import Mapping, Set

from llamon_agent.config.edge import EdgeConfig
from llamon_agent.config.langgraph_json import Project
from llamon_agent.domain.errors import ConfigError

logger = logging.getLogger(__name__)

BROKE = "its code broke while it was opened; the log says where"


def graphs_of(config: EdgeConfig, project: Project | None) -> frozenset[str]:
    """The agents that are graphs of the project as its file gives them."""
    graphs = project.agents if project else {}
    agents = config.agents
    return frozenset(
        name for name, graph in graphs.items() if name in agents and agents[name].target == graph["target"]
    )


def check_failed(config: EdgeConfig, failed: Mapping[str, str], optional: Set[str]) -> None:
    """Raises: ConfigError, with the problems of all that failed: one of them must be served, or no agent is left."""
    if failed.keys() <= optional and len(failed) < len(config.agent_specs()):
        return
    several = len(config.agents) > 1
    found = [(f"agents.{name}: " if several else "", problem) for name, problem in _problems(failed)]
    raise ConfigError("\n".join(place + problem for place, problem in found))


def without(config: EdgeConfig, names: Set[str]) -> EdgeConfig:
    """The configuration, as if it had no agents by these names. Another agent must be left."""
    if not names:
        return config
    a2a = config.a2a
    kept: dict[str, object] = {"agent": None if a2a.agent in names else a2a.agent}
    if a2a.routing is not None:
        allow = tuple(name for name in a2a.routing.allow if name not in names)
        kept["routing"] = a2a.routing.model_copy(update={"allow": allow})
    agents = {name: agent for name, agent in config.agents.items() if name not in names}
    return config.model_copy(update={"agents": agents, "a2a": a2a.model_copy(update=kept)})


def log_left_out(config: EdgeConfig, left_out: Mapping[str, str]) -> None:
    """Log which agents are left out and why, and which one answers in place of the default agent."""
    for line in lines(config, left_out):
        logger.warning("%s: %s", config.a2a.target, line)


def lines(config: EdgeConfig, left_out: Mapping[str, str]) -> list[str]:
    """What a person must know of the agents that are left out.

    Shape: config still names them.
    """
    texts = [f"{name} is not served: {problem}" for name, problem in _problems(left_out)]
    default = config.agent_specs()[0].target.name
    if default in left_out:
        now = without(config, left_out.keys()).agent_specs()[0].target.name
        texts.append(f"the default agent is {now}, not {default}")
    return texts


def _problems(failed: Mapping[str, str]) -> list[tuple[str, str]]:
    return [(name, problem) for name, problems in failed.items() for problem in problems.splitlines()]
