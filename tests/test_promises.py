"""Names that hosts and their authors rely on: they must stay importable and spelled exactly so."""

import inspect
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from llamon_agent.adapters.langgraph.agent import LangGraphAgent
from llamon_agent.inbound.a2a import executor
from llamon_agent.inbound.a2a.history import convert_a2a_history_to_lc, converter

ROOT = Path(__file__).parents[1]


def test_the_converter_is_where_it_is_promised() -> None:
    assert converter.convert_a2a_history_to_lc is convert_a2a_history_to_lc
    assert converter.__name__ == "llamon_agent.inbound.a2a.history.converter"
    assert converter._MAX_PREFILL_TURNS == 10


def test_the_executor_merges_metadata_and_the_message_wins() -> None:
    assert executor._merge_metadata({"history": [1], "a": 1}, {"history": [2], "b": 2}) == {
        "history": [1],
        "a": 1,
        "b": 2,
    }


@pytest.mark.parametrize("name", ["invoke", "stream", "invoke_with_hitl"])
def test_every_way_to_call_a_graph_takes_the_prefill(name: str) -> None:
    assert "prefill_messages" in inspect.signature(getattr(LangGraphAgent, name)).parameters


def test_the_shipped_configuration_has_an_a2a_section() -> None:
    shipped = yaml.safe_load((ROOT / "configs" / "edge.yaml").read_text(encoding="utf-8"))
    keys = {
        "enabled",
        "listen",
        "path",
        "public_url",
        "bearer_token",
        "node",
        "adapter",
        "target",
        "session_id",
        "timeout",
    }
    text = (ROOT / "configs" / "edge.yaml").read_text(encoding="utf-8")
    assert set(shipped["a2a"]) <= keys | {"artifacts", "trust_proxy", "max_body_bytes"}
    assert all(f"{key}:" in text for key in keys)


def test_reading_history_loads_no_server() -> None:
    """A host's own code imports the converter, too; it must stay light."""
    code = (
        "import sys, llamon_agent.inbound.a2a.history;"
        "print([m for m in ('starlette', 'uvicorn', 'langgraph', 'langchain_core', 'httpx2') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "[]"
