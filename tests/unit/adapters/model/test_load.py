import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.pregel import Pregel
from pydantic import SecretStr

from llamon_agent.adapters.langgraph.thread import Graph
from llamon_agent.adapters.model.load import ModelOptions, load_model, load_tools, names_of, secrets_of
from llamon_agent.domain.errors import ConfigError

TOOLS = '''
def look(place: str) -> str:
    """Look at a place."""
    return place

tools = [look]
'''


@pytest.fixture(autouse=True)
def surroundings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_API_BASE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "llamon_load_sample.py").write_text(TOOLS)
    yield
    sys.modules.pop("llamon_load_sample", None)


def loaded(target: str = "openai:m", *, saver: Any = None, window_size: int | None = None, **options: Any) -> Graph:
    return load_model(target, ModelOptions(**options), checkpointer=saver, window_size=window_size)


@pytest.mark.parametrize("target", ["gpt-5", "openai:", ":gpt-5", ""])
def test_a_target_names_provider_and_model(target: str) -> None:
    with pytest.raises(ConfigError, match="not of the form provider:model"):
        loaded(target)


def test_the_error_for_a_missing_package_names_the_package() -> None:
    with pytest.raises(ConfigError, match="needs the package 'langchain-mistralai'"):
        loaded("mistralai:m")


def test_a_provider_that_langchain_does_not_know_is_named() -> None:
    with pytest.raises(ConfigError, match="LangChain knows no provider 'opanai'"):
        loaded("opanai:m")


def test_the_error_for_a_missing_key_names_the_remedy() -> None:
    with pytest.raises(ConfigError, match="set api_key or the provider's own variable"):
        loaded()


def test_the_error_for_a_refused_option_has_none_of_the_providers_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_PROXY", "socks9://secret")
    with pytest.raises(ConfigError, match="cannot be set up") as raised:
        loaded(api_key=SecretStr("sk-0123456789"))
    assert "secret" not in raised.value.public


def test_a_server_of_ones_own_needs_no_key() -> None:
    assert isinstance(loaded(base_url="http://127.0.0.1:9/v1"), Pregel)


def test_our_checkpointer_is_used() -> None:
    saver = InMemorySaver()
    assert loaded(base_url="http://127.0.0.1:9/v1", saver=saver).checkpointer is saver


def test_a_window_that_could_not_be_kept_is_refused() -> None:
    with pytest.raises(ConfigError, match="window_size"):
        loaded(base_url="http://127.0.0.1:9/v1", window_size=0)


def test_approval_is_asked_only_for_tools_that_exist_and_threads_that_are_kept() -> None:
    options: dict[str, Any] = {"base_url": "http://127.0.0.1:9/v1", "tools": "llamon_load_sample:tools"}
    with pytest.raises(ConfigError, match="approve names delete, but the tools are: look"):
        loaded(approve=("delete",), saver=InMemorySaver(), **options)
    with pytest.raises(ConfigError, match="but the tools are: none"):
        loaded(approve=("delete",), saver=InMemorySaver(), base_url=options["base_url"])
    with pytest.raises(ConfigError, match="needs a checkpointer"):
        loaded(approve=("look",), **options)
    graph = loaded(approve=("look",), saver=InMemorySaver(), **options)
    assert any(name.startswith("HumanInTheLoop") for name in graph.nodes)


def test_keys_are_found_wherever_they_came_from(monkeypatch: pytest.MonkeyPatch) -> None:
    from langchain_openai import ChatOpenAI

    monkeypatch.setenv("OPENAI_API_KEY", "sk-from-the-environment")
    assert secrets_of(ChatOpenAI(model="m")) == ("sk-from-the-environment",)
    assert secrets_of(ChatOpenAI(model="m", api_key=SecretStr("short"))) == ()


SOURCE = '''
from langchain_core.tools import tool

def add(left: int, right: int) -> int:
    """Add two numbers."""
    return left + right

@tool
async def look(place: str) -> str:
    """Look at a place."""
    return place

def silent(x: int) -> int:
    return x

tools = [add, look]
pair = (add, {"type": "web_search"})
mute = [silent]
odd = [3]
'''


@pytest.fixture(autouse=True)
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "llamon_tools_sample.py").write_text(SOURCE)
    yield
    sys.modules.pop("llamon_tools_sample", None)


def test_functions_and_tools_become_tools() -> None:
    tools = load_tools("./llamon_tools_sample.py:tools")
    assert names_of(tools) == {"add", "look"}


def test_what_a_provider_runs_itself_is_handed_on_as_it_is() -> None:
    tools = load_tools("llamon_tools_sample:pair")
    assert tools[1] == {"type": "web_search"}
    assert names_of(tools) == {"add"}


@pytest.mark.parametrize(
    ("attribute", "told"),
    [
        ("add", "are no list"),
        ("odd", "3 is neither a function nor a LangChain tool"),
        ("mute", "silent cannot be a tool; give it a docstring"),
        ("absent", "no attribute 'absent'"),
    ],
)
def test_what_are_no_tools_is_refused_with_its_remedy(attribute: str, told: str) -> None:
    with pytest.raises(ConfigError, match=told) as raised:
        load_tools(f"llamon_tools_sample:{attribute}")
    assert "llamon_tools_sample" in raised.value.public
