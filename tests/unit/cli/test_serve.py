import io
import json
import logging
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from llamon_agent.app import Ready
from llamon_agent.cli.exits import Exit
from llamon_agent.cli.main import main
from llamon_agent.cli.options import default_file
from llamon_agent.cli.serve import banner, listing
from llamon_agent.config.edge import EdgeConfig
from llamon_agent.config.load import load_config

Capture = pytest.CaptureFixture[str]
Serve = Callable[..., EdgeConfig]


@pytest.fixture
def unlogged() -> Iterator[None]:
    """Leave the loggers as they were."""
    root, package = logging.getLogger(), logging.getLogger("llamon_agent")
    handlers, levels = root.handlers[:], (root.level, package.level)
    yield
    root.handlers[:] = handlers
    root.setLevel(levels[0])
    package.setLevel(levels[1])


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, unlogged: None) -> Serve:
    """Run `llamon serve` in an empty folder with an app that only remembers what it was to serve."""
    spec: list[EdgeConfig] = []
    app = ModuleType("llamon_agent.app")

    def listen(config: EdgeConfig, load: Callable[[], EdgeConfig], ready: Ready) -> None:
        spec.append(config)
        ready(config.a2a.port, {}, False)

    app.__dict__["serve"] = listen
    monkeypatch.setitem(sys.modules, "llamon_agent.app", app)
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> EdgeConfig:
        assert main(["serve", *arguments]) == Exit.OK
        return spec.pop()

    return run


def told(config: EdgeConfig) -> list[str]:
    return banner(config, config.a2a.port)


def test_the_banner_shows_the_port_that_was_found() -> None:
    assert "  calls http://127.0.0.1:4711/a2a" in banner(configured(listen="127.0.0.1:0"), 4711)


def test_a_target_alone_is_a_langgraph_agent_and_reads_no_file(serve: Serve) -> None:
    Path("edge.yaml").write_text("not: a valid one", encoding="utf-8")
    (spec,) = serve("./agent.py:graph").agent_specs()
    assert (spec.target.adapter, spec.target.target) == ("langgraph", "./agent.py:graph")


def test_every_flag_has_its_key(serve: Serve) -> None:
    flags = ["--listen", "0.0.0.0:9", "--adapter", "custom", "--ephemeral", "--data", "d", "--log-level", "error"]
    config = serve("pkg.mod:agent", *flags, "--json")
    assert config == EdgeConfig.model_validate(
        {
            "a2a": {"listen": "0.0.0.0:9", "adapter": "custom", "target": "pkg.mod:agent"},
            "data": {"ephemeral": True, "folder": "d"},
            "logging": {"level": "error", "format": "json"},
        }
    )


def test_without_a_target_the_file_decides(serve: Serve) -> None:
    Path("configs").mkdir()
    Path("configs/edge.yaml").write_text("a2a: {adapter: echo, listen: 'localhost:1'}", encoding="utf-8")
    assert serve().a2a.listen == "localhost:1"
    Path("edge.yaml").write_text("a2a: {adapter: echo, listen: 'localhost:2'}", encoding="utf-8")
    assert serve().a2a.listen == "localhost:2"
    assert serve("--config", "configs/edge.yaml").a2a.listen == "localhost:1"
    assert default_file() == Path("edge.yaml")


def test_a_target_takes_the_place_of_the_files_and_leaves_the_rest(serve: Serve) -> None:
    text = "a2a: {path: /x}\nagents: {one: {name: One, adapter: custom, target: 'a:b', version: '3'}}"
    Path("mine.yaml").write_text(text, encoding="utf-8")
    config = serve("new:graph", "--config", "mine.yaml")
    (spec,) = config.agent_specs()
    assert (spec.target.adapter, spec.target.target) == ("langgraph", "new:graph")
    assert (spec.profile.name, spec.profile.version, config.a2a.path) == ("One", "3", "/x")


def test_nothing_to_serve_is_reported_with_the_remedy(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["serve"]) == Exit.USAGE
    told = capsys.readouterr().err
    assert "give package.module:name or ./file.py:name" in told
    assert "there is no edge.yaml and no configs/edge.yaml here; name a TARGET, or a file with --config" in told


@pytest.mark.parametrize("given", [["nothing"], ["--adapter", "langgraph"], ["--config", "mine.yaml"]])
def test_a_file_that_was_not_sought_is_not_missed(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, given: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["serve", *given]) == Exit.USAGE
    assert "there is no edge.yaml" not in capsys.readouterr().err


def test_the_banner_is_for_people_and_on_stderr(serve: Serve, capsys: Capture) -> None:
    serve("--adapter", "echo")
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "llamon chat http://127.0.0.1:8000" in printed.err
    serve("--adapter", "echo", "--json")
    assert capsys.readouterr().err == ""


def test_logging_is_set_up_as_configured(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    serve("--adapter", "echo", "--json")
    logging.getLogger("llamon_agent.x").info("hello")
    assert json.loads(stream.getvalue())["event"] == "hello"


def configured(**a2a: Any) -> EdgeConfig:
    return load_config(None, {"a2a": {"adapter": "echo", **a2a}})


@pytest.mark.parametrize(
    ("a2a", "origin"),
    [
        ({"listen": "0.0.0.0:80"}, "http://127.0.0.1:80"),
        ({"listen": "[::]:80"}, "http://[::1]:80"),
        ({"listen": "[::1]:80"}, "http://[::1]:80"),
        ({"public_url": "https://h.example/x/"}, "https://h.example/x"),
    ],
)
def test_the_banner_names_an_address_that_works(a2a: dict[str, str], origin: str) -> None:
    assert f"  calls {origin}/a2a" in told(configured(**a2a))


@pytest.mark.parametrize(
    ("a2a", "warned"),
    [
        ({"listen": "0.0.0.0:80"}, True),
        ({"listen": "0.0.0.0:80", "bearer_token": "s3cret"}, False),
        ({"listen": "localhost:80"}, False),
    ],
)
def test_an_edge_that_anyone_may_call_is_pointed_out(a2a: dict[str, str], warned: bool) -> None:
    lines = "\n".join(told(configured(**a2a)))
    assert ("a2a.bearer_token" in lines) is warned
    assert "s3cret" not in lines


def test_the_banner_lists_every_agent_with_its_address(serve: Serve) -> None:
    text = "a2a: {adapter: echo, agent: two}\nagents: {one: {name: One}, two: {target: '3'}}"
    Path("edge.yaml").write_text(text, encoding="utf-8")
    assert told(serve()) == [
        "llamon serves two (echo 3)",
        "  calls http://127.0.0.1:8000/a2a/two",
        "llamon serves One (echo)",
        "  calls http://127.0.0.1:8000/a2a/one",
        "llamon lists them at http://127.0.0.1:8000/agents",
        "the default agent is two",
        "  card  http://127.0.0.1:8000/.well-known/agent-card.json",
        "  calls http://127.0.0.1:8000/a2a",
        "  talk  llamon chat http://127.0.0.1:8000",
        "  stop  Ctrl-C",
    ]


def test_a_langgraph_json_is_a_target_too(serve: Serve) -> None:
    Path("langgraph.json").write_text('{"graphs": {"a": "a:graph", "b": "b:graph"}}', encoding="utf-8")
    assert [spec.target.target for spec in serve("langgraph.json").agent_specs()] == ["a:graph", "b:graph"]


def test_the_configuration_can_be_loaded_again(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    loads: list[Callable[[], EdgeConfig]] = []
    sys.modules["llamon_agent.app"].__dict__["serve"] = lambda config, load, ready: loads.append(load)
    Path("edge.yaml").write_text("a2a: {adapter: echo, path: /one}", encoding="utf-8")
    assert main(["serve", "--listen", "localhost:1"]) == Exit.OK
    Path("edge.yaml").write_text("a2a: {adapter: echo, path: /two}", encoding="utf-8")
    again = loads[0]()
    assert (again.a2a.path, again.a2a.listen) == ("/two", "localhost:1")


def test_an_edge_that_is_off_says_so() -> None:
    assert listing(configured(enabled=False)) == ["llamon does not listen: a2a.enabled is false"]


def test_who_is_left_out_is_told_and_not_listed() -> None:
    config = EdgeConfig.model_validate({"a2a": {"adapter": "echo"}, "agents": {"one": {}, "two": {}}})
    told = banner(config, 1, {"one": "It is wrong."})
    assert told[0] == "llamon serves two (echo)"
    assert "  note  one is not served: It is wrong." in told
    assert "  note  the default agent is two, not one" in told
