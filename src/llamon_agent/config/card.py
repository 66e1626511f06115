"""The sections about an agent's cards."""

from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, Field, SecretStr

from llamon_agent.config.problems import Wrong
from llamon_agent.config.sections import Section
from llamon_agent.config.values import CardText, ExtensionUri, JsonObject, KeyId
from llamon_agent.domain.profile import HISTORY_SEEDING, ExtendedFields, Extension, SigningAlgorithm, Skill


class SkillConfig(Section):
    """One thing that an agent can do, as shown in its card."""

    id: CardText
    """A short id, unique within the agent."""
    name: CardText
    """What people call the skill."""
    description: CardText
    """What the skill does, for people and for the models that choose an agent."""
    tags: tuple[CardText, ...] = ()
    """Words to find the skill by."""
    examples: tuple[CardText, ...] = ()
    """Prompts that use the skill."""

    @property
    def skill(self) -> Skill:
        return Skill(**self.model_dump())


def _unique(skills: tuple[SkillConfig, ...]) -> tuple[SkillConfig, ...]:
    ids = [skill.id for skill in skills]
    if twice := sorted({each for each in ids if ids.count(each) > 1}):
        raise Wrong(f"has several skills with the id {', '.join(twice)}; each needs its own")
    return skills


Skills = Annotated[tuple[SkillConfig, ...], AfterValidator(_unique)]


class ProviderConfig(Section):
    """The provider of the agent."""

    organization: CardText
    """The organization's name."""
    url: CardText
    """The organization's page."""


class ExtensionConfig(Section):
    """An extension of A2A that the agent supports, declared in its card."""

    uri: ExtensionUri
    """What names the extension, in the card and in the A2A-Extensions header."""
    description: str = ""
    """What the agent does with it."""
    required: bool = False
    """Whether callers must name it; calls of those that do not are refused."""
    params: JsonObject = Field(default={})
    """The parameters of the extension that the card contains."""


class ExtendedConfig(Section):
    """What the card for authenticated callers adds to the public one."""

    description: CardText | None = None
    """What the agent does, for those callers. Without it, what the other card says."""
    skills: Skills = ()
    """More skills; one with the id of another takes its place."""
    documentation_url: CardText | None = None
    """A page about the agent, for those callers."""

    @property
    def extended_fields(self) -> ExtendedFields:
        skills = tuple(skill.skill for skill in self.skills)
        return ExtendedFields(description=self.description, skills=skills, documentation_url=self.documentation_url)


class SigningKeyConfig(Section):
    """A private key that signs cards: `file` or `key`."""

    file: Path | None = None
    """A file with the key, as PEM or as a JWK."""
    key: SecretStr | None = None
    """The key itself, as PEM or as a JWK; better given by the environment than written into a file."""
    alg: SigningAlgorithm = "ES256"
    """The algorithm, which must suit the key."""


class SigningConfig(Section):
    """Signs the agent cards. Needs `public_url`, as a signature must not vouch for an address that a caller made up."""

    keys: Annotated[dict[KeyId, SigningKeyConfig], Field(min_length=1)]
    """The keys by their ids, which the signatures name. Several keys sign each card, for the time when one replaces
    another. The public ones are at /.well-known/jwks.json."""


def declared(extensions: tuple[ExtensionConfig, ...], own: tuple[Extension, ...] = ()) -> tuple[Extension, ...]:
    """The extensions of an agent: these, the one that every agent supports, and its own, unless these declare them
    differently.
    """
    configured = [Extension(**extension.model_dump()) for extension in extensions]
    return tuple({extension.uri: extension for extension in (HISTORY_SEEDING, *own, *configured)}.values())
