"""An agent's card before any dialect."""

import msgspec

from llamon_agent.domain.message import JSON, TEXT

INPUT_MODES = (TEXT, JSON)
"""What an agent takes that does not say: what every agent can read. Files are for agents that ask for them."""

OUTPUT_MODES = (TEXT,)
"""What an agent gives that does not say."""


class Skill(msgspec.Struct, frozen=True, kw_only=True):
    """One thing an agent can do. Source: A2A 1.0 §4.4.5 (AgentSkill)."""

    id: str
    name: str
    description: str
    tags: tuple[str, ...] = ()
    examples: tuple[str, ...] = ()


class Introduction(msgspec.Struct, frozen=True, kw_only=True):
    """What an agent tells of itself; the configuration may say otherwise."""

    name: str | None = None
    description: str | None = None
    skills: tuple[Skill, ...] = ()


class Provider(msgspec.Struct, frozen=True, kw_only=True):
    """Who offers the agent. Source: A2A 1.0 §4.4.2 (AgentProvider)."""

    organization: str
    url: str


class Profile(msgspec.Struct, frozen=True, kw_only=True):
    """What a card says of an agent, without addresses. Source: A2A 1.0 §4.4.1 (AgentCard)."""

    name: str
    description: str
    version: str
    skills: tuple[Skill, ...] = ()
    provider: Provider | None = None
    documentation_url: str | None = None
    icon_url: str | None = None
    input_modes: tuple[str, ...] = INPUT_MODES
    output_modes: tuple[str, ...] = OUTPUT_MODES
    bearer: bool = False
