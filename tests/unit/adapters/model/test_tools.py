import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from llamon_agent.adapters.model.tools import load_tools, names_of
from llamon_agent.domain.errors import ConfigError

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
