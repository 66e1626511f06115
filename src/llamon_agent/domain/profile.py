"""An agent's card before any dialect."""

from collections.abc import Mapping
from typing import Literal

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


class SelfDescription(msgspec.Struct, frozen=True, kw_only=True):
    """How an agent describes itself; the configuration may say otherwise."""

    name: str | None = None
    description: str | None = None
    skills: tuple[Skill, ...] = ()
    extensions: tuple["Extension", ...] = ()
    output_modes: tuple[str, ...] = OUTPUT_MODES


class Provider(msgspec.Struct, frozen=True, kw_only=True):
    """The provider of the agent. Source: A2A 1.0 §4.4.2 (AgentProvider)."""

    organization: str
    url: str


class Extension(msgspec.Struct, frozen=True, kw_only=True):
    """Something beyond A2A that an agent speaks. Source: A2A 1.0 §4.4.4 (AgentExtension).

    Shape: params is JSON, for the extension's own document to explain.
    """

    uri: str
    description: str = ""
    required: bool = False
    params: Mapping[str, object] = {}


MAX_SEEDED_TURNS = 10
"""How many turns of a host's history start a conversation, the newest ones."""

HISTORY_SEEDING = Extension(
    uri="https://llamon-agent.example/extensions/history-seeding/v1",
    description="Starts an empty conversation with the host's past messages, sent in metadata.history.",
    params={"maxTurns": MAX_SEEDED_TURNS, "metadataKey": "history"},
)
"""What every agent here speaks; docs/extensions/history-seeding.md is its document."""


class ExtendedFields(msgspec.Struct, frozen=True, kw_only=True):
    """What the card for authenticated callers has besides: another description, more skills."""

    description: str | None = None
    skills: tuple[Skill, ...] = ()
    documentation_url: str | None = None


class Profile(msgspec.Struct, frozen=True, kw_only=True):
    """What a card says of an agent, without addresses. Source: A2A 1.0 §4.4.1 (AgentCard).

    Shape: push says whether there are webhooks; bearer, whether callers need a token; extended_fields is None where
           there is no extended card.
    """

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
    streaming: bool = True
    push: bool = False
    extensions: tuple[Extension, ...] = (HISTORY_SEEDING,)
    extended_fields: ExtendedFields | None = None


def extended(profile: Profile) -> Profile:
    """What the extended card says: the profile with its extra fields, whose skills win over those of the same id."""
    extended_fields = profile.extended_fields or ExtendedFields()
    skills = {skill.id: skill for skill in (*profile.skills, *extended_fields.skills)}
    return msgspec.structs.replace(
        profile,
        description=extended_fields.description or profile.description,
        skills=tuple(skills.values()),
        documentation_url=extended_fields.documentation_url or profile.documentation_url,
    )


SigningAlgorithm = Literal["ES256", "ES384", "ES512", "EdDSA", "RS256", "RS384", "RS512", "PS256", "PS384", "PS512"]
"""Those with a public key: a reader that verifies a card by a shared secret could forge it, too."""


Scheme = Literal["http", "https"]
"""The scheme of a gRPC address in the form of a URL."""
