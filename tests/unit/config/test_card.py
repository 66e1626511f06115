from pathlib import Path

import pytest

from llamon_agent.config.edge import EdgeConfig
from llamon_agent.config.load import load_config
from llamon_agent.domain.errors import ConfigError
from llamon_agent.domain.profile import HISTORY_SEEDING, ExtendedFields, Extension, Profile, Skill


def profile(tmp_path: Path, agent: str, *, a2a: str = "") -> Profile:
    file = tmp_path / "edge.yaml"
    file.write_text(f"a2a: {{adapter: echo, {a2a}}}\nagents: {{demo: {agent}}}")
    (spec,) = load_config(file, {}).agent_specs()
    return spec.profile


def test_an_agent_that_says_nothing_streams_and_can_be_seeded(tmp_path: Path) -> None:
    told = profile(tmp_path, "{}")
    assert (told.streaming, told.extended_fields, told.extensions) == (True, None, (HISTORY_SEEDING,))


def test_extensions_are_declared_after_the_one_of_every_agent(tmp_path: Path) -> None:
    told = profile(tmp_path, "{extensions: [{uri: 'urn:x', required: true, params: {a: [1, null]}}], streaming: false}")
    assert told.extensions == (HISTORY_SEEDING, Extension(uri="urn:x", required=True, params={"a": [1, None]}))
    assert not told.streaming


def test_an_agent_may_say_something_else_of_that_one(tmp_path: Path) -> None:
    told = profile(tmp_path, f"{{extensions: [{{uri: '{HISTORY_SEEDING.uri}', required: true}}]}}")
    assert told.extensions == (Extension(uri=HISTORY_SEEDING.uri, required=True),)


def test_an_extended_card_is_what_it_adds(tmp_path: Path) -> None:
    agent = "{extended: {description: More., skills: [{id: a, name: A, description: Adds.}]}}"
    told = profile(tmp_path, agent, a2a="bearer_token: t")
    assert told.extended_fields == ExtendedFields(
        description="More.", skills=(Skill(id="a", name="A", description="Adds."),)
    )
    assert profile(tmp_path, "{extended: {}}", a2a="bearer_token: t").extended_fields == ExtendedFields()


SKILL = "{id: a, name: A, description: Adds.}"


@pytest.mark.parametrize("empty", ["''", "' '"])
@pytest.mark.parametrize(
    ("key", "agent"),
    [
        ("version", "{version: EMPTY}"),
        ("name", "{name: EMPTY}"),
        ("description", "{description: EMPTY}"),
        ("documentation_url", "{documentation_url: EMPTY}"),
        ("icon_url", "{icon_url: EMPTY}"),
        ("skills[0].id", "{skills: [{id: EMPTY, name: A, description: D}]}"),
        ("skills[0].name", "{skills: [{id: a, name: EMPTY, description: D}]}"),
        ("skills[0].description", "{skills: [{id: a, name: A, description: EMPTY}]}"),
        ("skills[0].tags[1]", "{skills: [{id: a, name: A, description: D, tags: [x, EMPTY]}]}"),
        ("skills[0].examples[0]", "{skills: [{id: a, name: A, description: D, examples: [EMPTY]}]}"),
        ("provider.organization", "{provider: {organization: EMPTY, url: 'https://a.example'}}"),
        ("provider.url", "{provider: {organization: A, url: EMPTY}}"),
        ("extended.description", "{extended: {description: EMPTY}}"),
        ("extended.documentation_url", "{extended: {documentation_url: EMPTY}}"),
        ("extended.skills[0].name", "{extended: {skills: [{id: a, name: EMPTY, description: D}]}}"),
    ],
)
def test_what_a_card_says_is_not_empty(tmp_path: Path, key: str, agent: str, empty: str) -> None:
    with pytest.raises(ConfigError) as refused:
        profile(tmp_path, agent.replace("EMPTY", empty), a2a="bearer_token: t")
    assert f"agents.demo.{key} must not be empty" in refused.value.public


@pytest.mark.parametrize("agent", [f"{{skills: [{SKILL}, {SKILL}]}}", f"{{extended: {{skills: [{SKILL}, {SKILL}]}}}}"])
def test_the_id_of_a_skill_is_its_own(tmp_path: Path, agent: str) -> None:
    with pytest.raises(ConfigError, match="several skills with the id a"):
        profile(tmp_path, agent, a2a="bearer_token: t")


def test_a_skill_of_the_extended_card_may_replace_one_of_the_other(tmp_path: Path) -> None:
    agent = f"{{skills: [{SKILL}], extended: {{skills: [{SKILL}]}}}}"
    assert profile(tmp_path, agent, a2a="bearer_token: t").extended_fields is not None


def test_extended_cards_are_refused_where_anybody_may_call(tmp_path: Path) -> None:
    file = tmp_path / "edge.yaml"
    file.write_text("a2a: {adapter: echo}\nagents:\n  a: {extended: {}}\n  b: {}\n  c: {extended: {description: D}}\n")
    remedy = "is for callers who sign in, but anyone may call: set a2a.bearer_token, or leave it out"
    with pytest.raises(ConfigError) as refused:
        load_config(file, {})
    assert refused.value.public.splitlines() == [
        f"{file}:3: agents.a.extended {remedy}",
        f"{file}:5: agents.c.extended {remedy}",
    ]


def test_an_extended_card_is_never_declared_where_anybody_may_call() -> None:
    config = EdgeConfig.model_validate({"a2a": {"adapter": "echo"}, "agents": {"a": {"extended": {}}}})
    assert config.agent_specs()[0].profile.extended_fields is None


@pytest.mark.parametrize(
    ("extension", "told"),
    [
        ("{uri: 'a b'}", "must be a URI without commas"),
        ("{uri: 'urn:a,b'}", "must be a URI without commas"),
        ("{uri: 'urn:x', params: {a: [{b: .inf}]}}", "must be values that JSON can carry"),
        ("{uri: 'urn:x', params: {a: 9007199254740992}}", "must be values that JSON can carry"),
        ("{description: x}", "is required"),
    ],
)
def test_an_extension_that_cannot_be_declared_is_reported(tmp_path: Path, extension: str, told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        profile(tmp_path, f"{{extensions: [{extension}]}}")
