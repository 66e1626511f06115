"""File, environment and flags become one configuration, or a list of problems with their places."""

import json
from pathlib import Path

import jsonschema
import pytest
import yaml
from tests.unit.config.loading import ECHO, URL, Load, names, problems

from llamon_agent.config.edge import AgentConfig, EdgeConfig
from llamon_agent.config.load import load_config, load_data_config, write_schema
from llamon_agent.domain.errors import ConfigError

ROOT = Path(__file__).parents[3]


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


@pytest.mark.parametrize("text", ["", "# only a comment\n", "a2a:\nagents:\ndata:\n"])
def test_an_empty_section_is_as_good_as_none(load: Load, text: str) -> None:
    assert load(text, a2a={"adapter": "echo"}) == load(ECHO)


def test_a_principals_token_may_come_from_the_environment(load: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LLAMON_A2A__BEARER_TOKEN__BOB", "two")
    config = load("a2a: {adapter: echo, bearer_token: {alice: one}}")
    assert config.a2a.tokens() == {"alice": "one", "bob": "two"}


def test_a_flag_for_the_target_wins_over_the_agents_own(load: Load) -> None:
    text = "agents: {demo: {name: Demo, target: 'a:b', timeout: 7}}"
    (spec,) = load(text, a2a={"target": "c:d"}).agent_specs()
    assert (spec.target.target, spec.target.timeout_s, spec.profile.name) == ("c:d", 7.0, "Demo")


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
def test_an_agent_that_cannot_be_reached_is_reported(load: Load, text: str, problem: str) -> None:
    assert problems(load, text) == [f"edge.yaml:{problem}"]


def graphs(**named: object) -> None:
    Path("langgraph.json").write_text(json.dumps({"graphs": named, "dependencies": ["."]}), encoding="utf-8")


def test_every_graph_of_a_langgraph_json_becomes_an_agent(load: Load, tmp_path: Path) -> None:
    graphs(one="./one.py:graph", two={"path": "pkg.two:graph", "description": "Second."})
    one, two = load("", a2a={"target": "langgraph.json"}).agent_specs()
    assert (one.target.name, one.target.adapter, one.target.target) == ("one", "langgraph", f"{tmp_path}/one.py:graph")
    assert (two.target.target, two.profile.description) == ("pkg.two:graph", "Second.")


def test_agents_add_to_graphs_or_are_agents_of_their_own(load: Load) -> None:
    graphs(one="one:graph", two="two:graph")
    text = (
        "a2a: {target: ./langgraph.json, agent: two}\n"
        "agents: {two: {name: Two}, more: {adapter: echo, target: '2'}, mine: {adapter: custom, target: 'm:m'}}"
    )
    config = load(text)
    assert names(config) == ["two", "one", "more", "mine"]
    assert [spec.target.target for spec in config.agent_specs()] == ["two:graph", "one:graph", "2", "m:m"]
    assert config.agent_specs()[0].profile.name == "Two"


def test_a_langgraph_json_on_the_command_line_replaces_the_targets_of_the_file(load: Load) -> None:
    graphs(one="one:graph")
    config = load("agents: {one: {name: One, target: 'old:graph'}}", a2a={"target": "langgraph.json"})
    assert [(spec.target.target, spec.profile.name) for spec in config.agent_specs()] == [("one:graph", "One")]


def test_an_agent_that_is_no_graph_of_it_needs_a_target(load: Load) -> None:
    graphs(one="one:graph")
    assert problems(load, "a2a: {target: langgraph.json}\nagents:\n  more: {}") == [
        "edge.yaml:3: agents.more is no graph of langgraph.json; give it a target of its own"
    ]


def test_a_problem_in_a_langgraph_json_is_reported(load: Load) -> None:
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
def test_a_target_of_the_wrong_form_is_reported_with_its_place(load: Load, text: str, problem: str) -> None:
    assert problems(load, text) == [problem]


def test_all_problems_are_reported_at_once_each_with_its_place(load: Load, monkeypatch: pytest.MonkeyPatch) -> None:
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
def test_a_misspelt_variable_is_reported(load: Load, monkeypatch: pytest.MonkeyPatch, name: str, told: str) -> None:
    monkeypatch.setenv(name, "x")
    (problem,) = problems(load, ECHO)
    assert problem.startswith(f"environment {name.upper()}: ")
    assert told in problem


def test_a_misspelt_variable_is_reported_with_the_other_problems(load: Load, monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_the_data_are_found_whatever_is_wrong_with_the_agents(load: Load) -> None:
    with pytest.raises(ConfigError):
        load(f"{ECHO}agents: {{a: {{target: nowhere, adapter: custom}}}}\ndata: {{folder: kept}}")
    assert load_data_config(Path("edge.yaml"), {}).folder == Path("kept")
    assert load_data_config(Path("edge.yaml"), {"data": {"folder": "other"}}).folder == Path("other")
    assert load_data_config(None, {}).folder == Path("data")


def test_the_environment_says_where_the_data_are(load: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    load(ECHO + "data: {folder: kept}")
    monkeypatch.setenv("LLAMON_DATA__POSTGRES__URL", URL)
    data = load_data_config(Path("edge.yaml"), {})
    assert data.postgres is not None
    assert (data.folder, data.postgres.url.get_secret_value()) == (Path("kept"), URL)


def test_a_problem_of_the_data_is_reported_with_its_line(load: Load) -> None:
    load(ECHO)
    Path("edge.yaml").write_text("data:\n  folde: kept\n", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"edge\.yaml:2: data\.folde is not a known key; did you mean folder\?"):
        load_data_config(Path("edge.yaml"), {})
