import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from llamon_agent.config.edge import AgentConfig, EdgeConfig
from llamon_agent.config.load import load_config, write_schema
from llamon_agent.domain.errors import ConfigError
from llamon_agent.domain.profile import Introduction, Profile, Provider, Skill
from llamon_agent.runs.ports.run import Target

ROOT = Path(__file__).parents[3]
Load = Callable[..., EdgeConfig]


@pytest.fixture
def load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Load:
    """Load a file of this text, named edge.yaml, with these flags."""
    monkeypatch.chdir(tmp_path)

    def loaded(text: str = "", **flags: Any) -> EdgeConfig:
        Path("edge.yaml").write_text(text, encoding="utf-8")
        return load_config(Path("edge.yaml"), flags)

    return loaded


def problems(load: Load, text: str = "", **flags: Any) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        load(text, **flags)
    return caught.value.public.splitlines()


ECHO = "a2a: {adapter: echo}\n"


def test_the_defaults_are_these(load: Load) -> None:
    config = load(ECHO)
    assert config.a2a.enabled
    assert (config.a2a.host, config.a2a.port, config.a2a.path) == ("127.0.0.1", 8000, "/a2a")
    assert (config.a2a.public_url, config.a2a.tokens(), config.a2a.trust_proxy) == (None, {}, False)
    assert (config.a2a.timeout, config.a2a.artifacts, config.a2a.max_body_bytes) == (600.0, "auto", 10 * 1024 * 1024)
    assert (config.data.folder, config.data.ephemeral, config.data.durability) == (Path("data"), False, "full")
    assert (config.logging.level, config.logging.format) == ("info", "console")


def test_flags_win_over_the_environment_and_that_over_the_file(load: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "a2a: {adapter: echo, listen: 'a:1', path: /file, timeout: 1}"
    monkeypatch.setenv("LLAMON_A2A__LISTEN", "b:2")
    monkeypatch.setenv("LLAMON_A2A__PATH", "/env")
    config = load(text, a2a={"listen": "c:3"})
    assert (config.a2a.listen, config.a2a.path, config.a2a.timeout) == ("c:3", "/env", 1.0)


def test_without_a_file_the_environment_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LLAMON_A2A__TARGET", "pkg.mod:graph")
    monkeypatch.setenv("LLAMON_DATA__EPHEMERAL", "true")
    config = load_config(None, {})
    assert config.agent_specs()[0].target.target == "pkg.mod:graph"
    assert config.data.ephemeral


def test_nothing_can_be_changed_once_it_is_loaded(load: Load) -> None:
    config = load(ECHO)
    with pytest.raises(ValueError, match="frozen"):
        config.a2a.listen = "elsewhere:1"
    with pytest.raises(ValueError, match="frozen"):
        config.a2a = config.a2a


@pytest.mark.parametrize("text", ["", "# only a comment\n", "a2a:\nagents:\ndata:\n"])
def test_an_empty_section_is_as_good_as_none(load: Load, text: str) -> None:
    assert load(text, a2a={"adapter": "echo"}) == load(ECHO)


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


def test_a_principals_token_may_come_from_the_environment(load: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LLAMON_A2A__BEARER_TOKEN__BOB", "two")
    config = load("a2a: {adapter: echo, bearer_token: {alice: one}}")
    assert config.a2a.tokens() == {"alice": "one", "bob": "two"}


def test_an_empty_token_never_opens_the_door(load: Load, monkeypatch: pytest.MonkeyPatch) -> None:
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
def test_an_agent_that_nobody_named_is_named_after_its_target(load: Load, a2a: str, name: str) -> None:
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


def test_a_flag_for_the_target_wins_over_the_agents_own(load: Load) -> None:
    text = "agents: {demo: {name: Demo, target: 'a:b', timeout: 7}}"
    (spec,) = load(text, a2a={"target": "c:d"}).agent_specs()
    assert (spec.target.target, spec.target.timeout_s, spec.profile.name) == ("c:d", 7.0, "Demo")


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


def names(config: EdgeConfig) -> list[str]:
    return [spec.target.name for spec in config.agent_specs()]


@pytest.mark.parametrize(("a2a", "order"), [("", ["a", "b", "c"]), (", agent: b", ["b", "a", "c"])])
def test_the_default_agent_is_the_first_unless_another_is_named(load: Load, a2a: str, order: list[str]) -> None:
    assert names(load(f"a2a: {{adapter: echo{a2a}}}\nagents: {{a: {{}}, b: {{}}, c: {{}}}}")) == order


def test_an_agent_inherits_no_target_that_is_meant_for_another_adapter(load: Load) -> None:
    config = load("a2a: {target: 'a:b'}\nagents: {a: {}, b: {adapter: echo}, c: {adapter: custom}}")
    assert [spec.target.target for spec in config.agent_specs()] == ["a:b", "", "a:b"]


def test_a_flag_for_the_target_means_the_default_agent_and_no_other(load: Load) -> None:
    text = "a2a: {agent: b}\nagents: {a: {target: 'a:a'}, b: {target: 'b:b'}}"
    config = load(text, a2a={"target": "c:d"})
    assert [spec.target.target for spec in config.agent_specs()] == ["c:d", "a:a"]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a2a: {adapter: echo, agent: c}\nagents: {a: {}, b: {}}", "1: a2a.agent names no agent; there are a, b"),
        ("a2a: {adapter: echo, agent: c}", "1: a2a.agent names no agent; there are echo"),
        (
            "a2a:\n  adapter: echo\n  routing: {allow: [a, c]}\nagents: {a: {}, b: {}}",
            "3: a2a.routing.allow names no agent by c; there are a, b",
        ),
        ("a2a:\n  adapter: echo\n  routing: {key: x}", "3: a2a.routing.allow is required"),
        (
            "a2a: {target: './agents.py:graph', path: /}",
            "1: a2a.target would answer at /agents, which the edge uses itself; set another a2a.path",
        ),
        (
            "a2a: {adapter: echo, path: /}\nagents: {a: {}, health: {}}",
            "2: agents.health would answer at /health, which the edge uses itself; set another a2a.path",
        ),
        (
            "a2a: {adapter: echo, path: /}\nagents: {a: {}, readyz: {}}",
            "2: agents.readyz would answer at /readyz, which the edge uses itself; set another a2a.path",
        ),
    ],
)
def test_an_agent_that_cannot_be_reached_is_told(load: Load, text: str, problem: str) -> None:
    assert problems(load, text) == [f"edge.yaml:{problem}"]


# What an agent tells of itself.


TOLD = Introduction(name="Graph", description="Told.", skills=(Skill(id="t", name="T", description="Tool."),))


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
def test_the_configuration_wins_over_what_an_agent_tells(
    load: Load, agent: str, name: str, description: str, skills: list[str]
) -> None:
    (spec,) = load(f"{ECHO}agents: {{a: {agent}}}").agent_specs()
    profile = spec.introduced(TOLD)
    assert (profile.name, profile.description) == (name, description)
    assert [skill.id for skill in profile.skills] == skills


def test_an_agent_that_tells_nothing_is_called_by_its_key(load: Load) -> None:
    (spec,) = load(f"{ECHO}agents: {{a: {{}}}}").agent_specs()
    assert spec.introduced(Introduction(name="Graph")).name == "Graph"
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
    assert one.drives_as(other) is alike


# A langgraph.json as the target.


def graphs(**named: object) -> None:
    Path("langgraph.json").write_text(json.dumps({"graphs": named, "dependencies": ["."]}), encoding="utf-8")


def test_every_graph_of_a_langgraph_json_becomes_an_agent(load: Load, tmp_path: Path) -> None:
    graphs(one="./one.py:graph", two={"path": "pkg.two:graph", "description": "Second."})
    one, two = load("", a2a={"target": "langgraph.json"}).agent_specs()
    assert (one.target.name, one.target.adapter, one.target.target) == ("one", "langgraph", f"{tmp_path}/one.py:graph")
    assert (two.target.target, two.profile.description) == ("pkg.two:graph", "Second.")


def test_agents_say_more_of_graphs_or_are_agents_beside_them(load: Load) -> None:
    graphs(one="one:graph", two="two:graph")
    text = (
        "a2a: {target: ./langgraph.json, agent: two}\n"
        "agents: {two: {name: Two}, more: {adapter: echo, target: '2'}, mine: {adapter: custom, target: 'm:m'}}"
    )
    config = load(text)
    assert names(config) == ["two", "one", "more", "mine"]
    assert [spec.target.target for spec in config.agent_specs()] == ["two:graph", "one:graph", "2", "m:m"]
    assert config.agent_specs()[0].profile.name == "Two"


def test_a_langgraph_json_on_the_command_line_takes_the_place_of_the_files_targets(load: Load) -> None:
    graphs(one="one:graph")
    config = load("agents: {one: {name: One, target: 'old:graph'}}", a2a={"target": "langgraph.json"})
    assert [(spec.target.target, spec.profile.name) for spec in config.agent_specs()] == [("one:graph", "One")]


def test_an_agent_that_is_no_graph_of_it_needs_a_target(load: Load) -> None:
    graphs(one="one:graph")
    assert problems(load, "a2a: {target: langgraph.json}\nagents:\n  more: {}") == [
        "edge.yaml:3: agents.more is no graph of langgraph.json; give it a target of its own"
    ]


def test_what_is_wrong_with_a_langgraph_json_is_told(load: Load) -> None:
    graphs(one=3)
    (problem,) = problems(load, "a2a: {target: langgraph.json}")
    assert problem.startswith("langgraph.json: graphs.one must be ")


def test_a_json_file_on_a_command_line_is_no_langgraph_json(load: Load) -> None:
    config = load("a2a: {adapter: process, target: 'run --config x.json'}")
    assert config.a2a.project is None
    assert config.agent_specs()[0].target.target == "run --config x.json"


def test_an_edge_that_is_off_needs_no_target(load: Load) -> None:
    assert not load("a2a: {enabled: false}").a2a.enabled


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "edge.yaml: a2a.target is required by the langgraph adapter: give package.module:name or ./file.py:name"),
        (
            "a2a:\n  adapter: custom",
            "edge.yaml:1: a2a.target is required by the custom adapter: give package.module:name or ./file.py:name",
        ),
        (
            "a2a: {adapter: model, target: gpt-5}",
            "edge.yaml:1: a2a.target must be provider:model, such as openai:gpt-5",
        ),
        ("a2a: {adapter: model}", "edge.yaml:1: a2a.target must be provider:model, such as openai:gpt-5"),
        ("a2a:\n  target: graph", "edge.yaml:2: a2a.target must be package.module:name or ./file.py:name"),
        (
            "agents:\n  a:\n    target: 'a:b c'",
            "edge.yaml:3: agents.a.target must be package.module:name or ./file.py:name",
        ),
    ],
)
def test_a_target_that_cannot_be_is_told_where_it_stands(load: Load, text: str, problem: str) -> None:
    assert problems(load, text) == [problem]


# Problems.


def test_all_problems_are_told_at_once_each_where_it_stands(load: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LLAMON_DATA__EPHEMERAL", "maybe")
    text = "a2a:\n  timeout: soon\n  listn: x\nagents:\n  Demo:\n    skills:\n      - id: a\n        nam: b\n"
    assert problems(load, text, a2a={"listen": "8000"}) == [
        "command line: a2a.listen must be HOST:PORT, such as 127.0.0.1:8000 or [::1]:8000",
        "environment LLAMON_DATA__EPHEMERAL: data.ephemeral must be true or false",
        "edge.yaml:2: a2a.timeout must be a number",
        "edge.yaml:3: a2a.listn is not a known key; did you mean listen?",
        "edge.yaml:5: agents.Demo must be a name of lower-case letters, digits, - and _, as it becomes part of a URL",
        "edge.yaml:7: agents.Demo.skills[0].name is required",
        "edge.yaml:7: agents.Demo.skills[0].description is required",
        "edge.yaml:8: agents.Demo.skills[0].nam is not a known key; did you mean name?",
    ]


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("LLAMON_A2__LISTEN", "did you mean LLAMON_A2A__LISTEN?"),
        ("LLAMON_A2A__LISTN", "did you mean listen?"),
        ("LLAMON_AGENTS__DEMO__NAM", "did you mean name?"),
        ("LLAMON_A2A_BEARER_TOKEN", "did you mean LLAMON_A2A__BEARER_TOKEN?"),
        ("LLAMON_BEARER_TOKEN", "did you mean LLAMON_A2A__BEARER_TOKEN?"),
        ("LLAMON__A2A__BEARER_TOKEN", "did you mean LLAMON_A2A__BEARER_TOKEN?"),
        ("llamon_a2a_listen", "did you mean LLAMON_A2A__LISTEN?"),
        ("LLAMON_TOKEM", "did you mean LLAMON_TOKEN?"),
        ("LLAMON_A2A_PORT", "is not a known key"),
        ("LLAMON_BOGUS", "a key is set as LLAMON_SECTION__KEY"),
    ],
)
def test_a_misspelt_variable_is_told(load: Load, monkeypatch: pytest.MonkeyPatch, name: str, told: str) -> None:
    monkeypatch.setenv(name, "x")
    (problem,) = problems(load, ECHO)
    assert problem.startswith(f"environment {name.upper()}: ")
    assert told in problem


def test_a_misspelt_variable_is_told_beside_the_other_problems(load: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LLAMON_A2A_LISTEN", "x")
    assert len(problems(load, "a2a: {adapter: echo, listen: x}")) == 2
    assert len(problems(load, "a2a: {agent: x, adapter: echo}")) == 2


def test_a_section_in_a_variable_must_be_json(load: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LLAMON_A2A", "listen=x")
    (problem,) = problems(load, ECHO)
    assert problem.startswith("environment: ")
    assert "LLAMON_A2A__LISTEN" in problem


def test_the_clients_token_is_no_setting(load: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LLAMON_TOKEN", "x")
    assert load(ECHO).a2a.tokens() == {}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("LLAMON_TASK_ID", "t"),
        ("LLAMON_CONTEXT_ID", "c"),
        ("LLAMON_SESSION_ID", "s"),
        ("LLAMON_SERVICE_HOST", "10.0.0.1"),
        ("LLAMON_A2A_SERVICE_PORT_HTTP", "80"),
        ("LLAMON_PORT", "tcp://10.0.0.1:80"),
        ("LLAMON_A2A_PORT_80_TCP_ADDR", "10.0.0.1"),
    ],
)
def test_variables_that_others_set_for_us_are_no_problem(
    load: Load, monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(name, value)
    assert load(ECHO) == EdgeConfig.model_validate({"a2a": {"adapter": "echo"}})


# What is shipped.


def test_the_shipped_file_is_valid_and_serves_the_demo_agent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    (spec,) = load_config(Path("configs/edge.yaml"), {}).agent_specs()
    assert (spec.target.adapter, spec.target.target) == ("langgraph", "./examples/demo_agent.py:graph")
    assert len(spec.profile.skills) == 3


def test_the_shipped_file_shows_every_key_of_every_section() -> None:
    text = (ROOT / "configs/edge.yaml").read_text(encoding="utf-8")
    for section in EdgeConfig.model_fields.values():
        for key in getattr(section.annotation, "model_fields", {}):
            assert f"{key}:" in text


def test_the_shipped_schema_is_the_one_of_this_code() -> None:
    assert (ROOT / "configs/edge.schema.json").read_text(encoding="utf-8") == write_schema()


def test_the_shipped_file_names_its_schema_and_fits_it() -> None:
    text = (ROOT / "configs/edge.yaml").read_text(encoding="utf-8")
    assert text.startswith("# yaml-language-server: $schema=edge.schema.json\n")
    schema = json.loads(write_schema())
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(yaml.safe_load(text), schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"a2a": {"listn": "x"}}, schema)


@pytest.mark.parametrize(("token", "fits"), [("one", True), ({"alice": "one"}, True), (["one"], False), (1, False)])
def test_the_schema_takes_both_spellings_of_tokens(token: object, fits: bool) -> None:
    schema = jsonschema.Draft202012Validator(json.loads(write_schema()))
    assert schema.is_valid({"a2a": {"bearer_token": token}}) is fits


def test_every_setting_is_described_for_editors() -> None:
    schema = json.loads(write_schema())
    for model in schema["$defs"].values():
        for name, field in model["properties"].items():
            assert field.get("description") or "$ref" in field, name
    assert set(schema["$defs"]["AgentConfig"]["properties"]) == set(AgentConfig.model_fields)


def test_what_an_agent_takes_and_gives_is_said_by_media_types(load: Load) -> None:
    text = "a2a: {target: 'a:b'}\nagents: {x: {input_modes: [Image/*], output_modes: [text/csv], max_file_bytes: 7}}"
    (spec,) = load(text).agent_specs()
    assert (spec.card.input_modes, spec.card.output_modes) == (("image/*",), ("text/csv",))
    assert (spec.max_file_bytes, spec.max_files_bytes) == (7, 10 << 20)
