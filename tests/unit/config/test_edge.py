from pathlib import Path

import pytest
from tests.unit.config.loading import ECHO, Load, names, problems

from llamon_agent.domain.errors import ConfigError
from llamon_agent.domain.profile import Profile, Provider, SelfDescription, Skill
from llamon_agent.runs.ports.run import Target


def test_the_defaults_are_these(load: Load) -> None:
    config = load(ECHO)
    assert config.a2a.enabled
    assert (config.a2a.host, config.a2a.port, config.a2a.path) == ("127.0.0.1", 8000, "/a2a")
    assert (config.a2a.public_url, config.a2a.tokens(), config.a2a.trust_proxy) == (None, {}, False)
    assert (config.a2a.timeout, config.a2a.artifacts, config.a2a.max_body_bytes) == (600.0, "auto", 10 * 1024 * 1024)
    assert (config.data.folder, config.data.ephemeral, config.data.durability) == (Path("data"), False, "full")
    assert (config.logging.level, config.logging.format) == ("info", "console")


def test_nothing_can_be_changed_once_it_is_loaded(load: Load) -> None:
    config = load(ECHO)
    with pytest.raises(ValueError, match="frozen"):
        config.a2a.listen = "elsewhere:1"
    with pytest.raises(ValueError, match="frozen"):
        config.a2a = config.a2a


# Tokens.


def test_one_token_is_the_default_principals(load: Load) -> None:
    assert load("a2a: {adapter: echo, bearer_token: s3cret}").a2a.tokens() == {"default": "s3cret"}


def test_each_principal_may_have_its_own_token(load: Load) -> None:
    config = load("a2a: {adapter: echo, bearer_token: {alice: one, bob: two}}")
    assert config.a2a.tokens() == {"alice": "one", "bob": "two"}
    assert config.agent_specs()[0].profile.bearer


@pytest.mark.parametrize("token", ["12345", "true", '{"a":1}', "[1]", '"quoted"'])
def test_a_token_that_reads_like_json_is_still_that_token(
    load: Load, monkeypatch: pytest.MonkeyPatch, token: str
) -> None:
    monkeypatch.setenv("LLAMON_A2A__BEARER_TOKEN", token)
    assert load(ECHO).a2a.tokens() == {"default": token}


def test_an_empty_token_is_refused(load: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LLAMON_A2A__BEARER_TOKEN", "")
    (problem,) = problems(load, ECHO)
    assert problem.startswith("environment LLAMON_A2A__BEARER_TOKEN: a2a.bearer_token must be a token")


def test_a_token_is_never_shown(load: Load) -> None:
    config = load("a2a: {adapter: echo, bearer_token: s3cret}")
    assert "s3cret" not in repr(config)
    assert "s3cret" not in config.model_dump_json()
    for text in (
        "a2a: {adapter: echo, bearer_token: 's3cret s3cret'}",
        "a2a: {adapter: echo, bearer_token: {a: s3cret, b: s3cret}}",
        "a2a: {adapter: echo, bearer_token: [s3cret]}",
    ):
        with pytest.raises(ConfigError) as caught:
            load(text)
        told: BaseException | None = caught.value
        while told is not None:  # a traceback prints the whole chain
            assert "s3cret" not in str(told)
            told = told.__cause__ or told.__context__


# Agents.


def test_without_agents_the_a2a_section_describes_one(load: Load) -> None:
    (spec,) = load("a2a: {target: 'my.pkg.bot:graph', session_id: 's-{context_id}', timeout: 5}").agent_specs()
    assert spec.target == Target(
        name="bot", adapter="langgraph", target="my.pkg.bot:graph", session_id="s-{context_id}", timeout_s=5.0
    )
    assert spec.profile == Profile(
        name="bot", description="bot, an agent that answers over A2A.", version="1.0.0", skills=()
    )


@pytest.mark.parametrize(
    ("a2a", "name"),
    [
        ("{adapter: echo}", "echo"),
        ("{target: './examples/demo_agent.py:graph'}", "demo_agent"),
        ("{target: 'm:g'}", "m"),
        ("{adapter: model, target: 'openai:gpt-5.1'}", "gpt-5.1"),
        ("{adapter: model, target: 'ollama:qwen3:8b'}", "qwen3:8b"),
    ],
)
def test_an_agent_without_a_name_is_named_after_its_target(load: Load, a2a: str, name: str) -> None:
    assert load(f"a2a: {a2a}").agent_specs()[0].profile.name == name


@pytest.mark.parametrize(
    ("a2a", "key"),
    [
        ("{adapter: echo}", "echo"),
        ("{target: './graphs/Demo Agent.py:graph'}", "demo-agent"),
        ("{adapter: model, target: 'openai:gpt-5.1'}", "gpt-5-1"),
        ("{adapter: process, target: 'python3 -u agent.py --url http://h'}", "process"),
        ("{target: './요원.py:graph'}", "default"),
    ],
)
def test_its_key_is_that_name_as_a_url_can_hold_it(load: Load, a2a: str, key: str) -> None:
    """So that two that are served in one folder, one after the other, do not see each other's tasks and threads."""
    assert load(f"a2a: {a2a}").agent_specs()[0].target.name == key


def test_an_agent_says_what_differs_from_the_a2a_section(load: Load) -> None:
    text = """
    a2a: {target: 'a:b', timeout: 5, artifacts: single, session_id: one}
    agents:
      demo:
        name: Demo
        description: Shows.
        version: "2"
        skills: [{id: s, name: S, description: Does., tags: [t], examples: [e]}]
        provider: {organization: O, url: https://o.example}
        documentation_url: https://o.example/docs
        icon_url: https://o.example/icon.png
        adapter: custom
        target: c:d
        timeout: 7
        artifacts: append
        session_id: two
        direct_messages: true
    """
    (spec,) = load(text).agent_specs()
    assert spec.target == Target(
        name="demo", adapter="custom", target="c:d", session_id="two", timeout_s=7.0, direct_messages=True
    )
    assert spec.artifacts == "append"
    assert spec.profile == Profile(
        name="Demo",
        description="Shows.",
        version="2",
        skills=(Skill(id="s", name="S", description="Does.", tags=("t",), examples=("e",)),),
        provider=Provider(organization="O", url="https://o.example"),
        documentation_url="https://o.example/docs",
        icon_url="https://o.example/icon.png",
    )


def test_an_agent_inherits_what_it_does_not_say(load: Load) -> None:
    text = "a2a: {target: 'a:b', timeout: 5, artifacts: single, session_id: one}\nagents: {demo: {}}"
    (spec,) = load(text).agent_specs()
    assert spec.target == Target(name="demo", adapter="langgraph", target="a:b", session_id="one", timeout_s=5.0)
    assert (spec.artifacts, spec.profile.name) == ("single", "demo")


@pytest.mark.parametrize(
    ("ephemeral", "configured", "kept"),
    [
        (False, "data", "sqlite"),
        (False, "sqlite", "sqlite"),
        (True, "data", "memory"),
        (True, "postgres", "memory"),
        (True, "sqlite", "memory"),
        (True, "memory", "memory"),
        (True, "none", "none"),
    ],
)
def test_ephemeral_means_threads_too(load: Load, ephemeral: bool, configured: str, kept: str) -> None:
    text = f"{ECHO}agents: {{a: {{langgraph: {{checkpointer: {configured}, window_size: 3}}}}}}"
    (spec,) = load(text, data={"ephemeral": ephemeral}).agent_specs()
    assert spec.langgraph.checkpointer == kept
    assert spec.langgraph.window_size == 3


@pytest.mark.parametrize(("a2a", "order"), [("", ["a", "b", "c"]), (", agent: b", ["b", "a", "c"])])
def test_the_default_agent_is_the_first_unless_another_is_named(load: Load, a2a: str, order: list[str]) -> None:
    assert names(load(f"a2a: {{adapter: echo{a2a}}}\nagents: {{a: {{}}, b: {{}}, c: {{}}}}")) == order


def test_an_agent_inherits_no_target_that_is_meant_for_another_adapter(load: Load) -> None:
    config = load("a2a: {target: 'a:b'}\nagents: {a: {}, b: {adapter: echo}, c: {adapter: custom}}")
    assert [spec.target.target for spec in config.agent_specs()] == ["a:b", "", "a:b"]


# What an agent tells of itself.


TOLD = SelfDescription(name="Graph", description="Told.", skills=(Skill(id="t", name="T", description="Tool."),))


@pytest.mark.parametrize(
    ("agent", "name", "description", "skills"),
    [
        ("{}", "Graph", "Told.", ["t"]),
        ("{name: N}", "N", "Told.", ["t"]),
        ("{description: D}", "Graph", "D", ["t"]),
        ("{skills: []}", "Graph", "Told.", []),
        ("{skills: [{id: s, name: S, description: Does.}]}", "Graph", "Told.", ["s"]),
    ],
)
def test_the_configuration_wins_over_an_agents_own_description(
    load: Load, agent: str, name: str, description: str, skills: list[str]
) -> None:
    (spec,) = load(f"{ECHO}agents: {{a: {agent}}}").agent_specs()
    profile = spec.introduced(TOLD)
    assert (profile.name, profile.description) == (name, description)
    assert [skill.id for skill in profile.skills] == skills


def test_an_agent_without_a_description_is_called_by_its_key(load: Load) -> None:
    (spec,) = load(f"{ECHO}agents: {{a: {{}}}}").agent_specs()
    assert spec.introduced(SelfDescription(name="Graph")).name == "Graph"
    assert (spec.profile.name, spec.profile.description) == ("a", "a, an agent that answers over A2A.")


@pytest.mark.parametrize(
    ("agent", "alike"),
    [
        ("{name: N, timeout: 7, artifacts: single, session_id: s}", True),
        ("{target: '2'}", False),
        ("{adapter: custom, target: 'a:b'}", False),
        ("{langgraph: {window_size: 3}}", False),
    ],
)
def test_agents_are_alike_to_their_adapter_whatever_their_cards_say(load: Load, agent: str, alike: bool) -> None:
    (one,), (other,) = (
        load(f"{ECHO}agents: {{a: {{}}}}").agent_specs(),
        load(f"{ECHO}agents: {{a: {agent}}}").agent_specs(),
    )
    assert one.has_same_runtime_as(other) is alike


def test_what_an_agent_takes_and_gives_is_said_by_media_types(load: Load) -> None:
    text = "a2a: {target: 'a:b'}\nagents: {x: {input_modes: [Image/*], output_modes: [text/csv], max_file_bytes: 7}}"
    (spec,) = load(text).agent_specs()
    assert (spec.card.input_modes, spec.card.output_modes) == (("image/*",), ("text/csv",))
    assert (spec.max_file_bytes, spec.max_files_bytes) == (7, 10 << 20)
