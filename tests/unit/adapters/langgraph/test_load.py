import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from llamon_agent.adapters.langgraph.agent import LangGraphAgent
from llamon_agent.adapters.langgraph.load import load_graph
from llamon_agent.adapters.langgraph.state import StateMapping
from llamon_agent.domain.errors import ConfigError

SOURCE = """
import sqlite3
from collections import defaultdict
from contextlib import asynccontextmanager, contextmanager
from typing import TypedDict
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, MessagesState, StateGraph

log = []

def build(state=MessagesState):
    builder = StateGraph(state)
    builder.add_node("node", lambda state: {"messages": [AIMessage("hello")]})
    builder.add_edge(START, "node")
    return builder

builder = build()
compiled = builder.compile()
own = builder.compile(checkpointer=InMemorySaver())
stateless = builder.compile(checkpointer=False)
inherits = builder.compile(checkpointer=True)
sync_only = builder.compile(checkpointer=SqliteSaver(sqlite3.connect(":memory:", check_same_thread=False)))
other_state = build(TypedDict("Other", {"question": str})).compile()
rooted = build(dict).compile()
loose = StateGraph(MessagesState)

class OwnSaver(InMemorySaver):
    pass

class OnDisk(defaultdict):
    def __enter__(self):
        return self

    def __exit__(self, *error):
        pass

derived = builder.compile(checkpointer=OwnSaver())
on_disk = builder.compile(checkpointer=InMemorySaver(factory=OnDisk))

async def calls(state):
    return await own.ainvoke(state, {"configurable": {"thread_id": "inner"}})

def around(node):
    outer = StateGraph(MessagesState)
    outer.add_node("inner", node)
    outer.add_edge(START, "inner")
    return outer.compile()

calling = around(calls)
containing = around(own)

def factory():
    return builder.compile()

async def async_factory(config):
    assert not config["configurable"]["__is_for_execution__"]
    return builder

def optional(config=None, *rest, **more):
    return builder

def needy(config, secret, other):
    return builder

def keyword(*, config, other, more):
    return builder

@asynccontextmanager
async def managed(config):
    log.append("opened")
    yield builder.compile()
    log.append("closed")

@contextmanager
def managed_plainly():
    log.append("opened")
    yield builder
    log.append("closed")

def failing():
    raise RuntimeError("no such model")

def exiting():
    raise SystemExit(1)

def wrong():
    return 3

def talks(text):
    return str(text)

class holder:
    graph = compiled

number = 3
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    before = set(sys.modules)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "llamon_sample.py").write_text(SOURCE)
    (tmp_path / "llamon_needs.py").write_text("import llamon_nowhere\n")
    (tmp_path / "llamon_broken.py").write_text("1/0\n")
    yield tmp_path
    for name in set(sys.modules) - before:
        if name.startswith("llamon_sample"):
            sys.modules.pop(name).sync_only.checkpointer.conn.close()


@pytest.mark.parametrize(
    "attribute", ["compiled", "builder", "factory", "async_factory", "optional", "holder.graph", "inherits"]
)
@pytest.mark.parametrize("place", ["llamon_sample", "./llamon_sample.py"])
async def test_graphs_builders_and_factories_are_loaded_with_our_checkpointer(
    project: Path, place: str, attribute: str
) -> None:
    saver = InMemorySaver()
    graph = (await load_graph(f"{place}:{attribute}", checkpointer=saver)).graph
    assert graph.checkpointer is saver
    given: Any = {"messages": [("user", "hi")]}
    state = await graph.ainvoke(given, {"configurable": {"thread_id": "1"}})
    assert state["messages"][-1].content == "hello"


async def test_a_file_is_found_by_its_whole_path_and_loaded_once(project: Path) -> None:
    targets = (f"{project / 'llamon_sample.py'}:own", "./llamon_sample.py:own", "llamon_sample:own")
    one, two, three = [(await load_graph(target, checkpointer=None)).graph for target in targets]
    assert one is two is three


async def test_a_graph_keeps_its_own_checkpointer_or_stays_without(project: Path) -> None:
    own = (await load_graph("llamon_sample:own", checkpointer=(ours := InMemorySaver()))).graph
    assert isinstance(own.checkpointer, InMemorySaver)
    assert own.checkpointer is not ours
    assert (await load_graph("llamon_sample:stateless", checkpointer=ours)).graph.checkpointer is False


@pytest.fixture
async def lasting() -> AsyncIterator[AsyncSqliteSaver]:
    """A checkpointer of a kind that outlives the process."""
    async with AsyncSqliteSaver.from_conn_string(":memory:") as saver:
        yield saver


async def test_a_saver_in_memory_gives_way_to_ours_in_a_copy_and_the_log_says_so(
    project: Path, lasting: AsyncSqliteSaver, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    graph = (await load_graph("llamon_sample:own", checkpointer=lasting)).graph
    assert graph.checkpointer is lasting
    assert LangGraphAgent(graph).survives_restart
    assert isinstance(sys.modules["llamon_sample"].own.checkpointer, InMemorySaver)
    said = "the target 'llamon_sample:own': its threads are kept by this edge, not in the memory of its InMemorySaver"
    assert [record.getMessage() for record in caplog.records if record.name.endswith("load")] == [said]


@pytest.mark.parametrize("attribute", ["derived", "on_disk", "stateless"])
async def test_every_other_saver_of_a_graph_stays(
    project: Path, lasting: AsyncSqliteSaver, caplog: pytest.LogCaptureFixture, attribute: str
) -> None:
    caplog.set_level("INFO")
    graph = (await load_graph(f"llamon_sample:{attribute}", checkpointer=lasting)).graph
    assert graph is getattr(sys.modules["llamon_sample"], attribute)
    assert caplog.text == ""


@pytest.mark.parametrize(("attribute", "warnings"), [("calling", 1), ("containing", 0), ("compiled", 0)])
async def test_a_saver_in_memory_that_a_node_uses_by_itself_is_a_warning(
    project: Path, lasting: AsyncSqliteSaver, caplog: pytest.LogCaptureFixture, attribute: str, warnings: int
) -> None:
    graph = (await load_graph(f"llamon_sample:{attribute}", checkpointer=lasting)).graph
    assert caplog.text.count("the node 'inner' calls a graph that has an InMemorySaver of its own") == warnings
    given: Any = {"messages": [("user", "hi")]}
    await graph.ainvoke(given, {"configurable": {"thread_id": "outer"}})
    kept_in_memory = sys.modules["llamon_sample"].own.checkpointer.storage
    assert list(kept_in_memory) == ["inner"] * warnings


async def test_the_loaded_graph_is_a_copy_and_the_module_keeps_its_own(project: Path) -> None:
    await load_graph("llamon_sample:compiled", checkpointer=InMemorySaver())
    assert sys.modules["llamon_sample"].compiled.checkpointer is None


@pytest.mark.parametrize(
    ("target", "told"),
    [
        ("llamon_sample", "not of the form"),
        (":graph", "not of the form"),
        ("llamon_absent:graph", "there is no 'llamon_absent'"),
        ("llamon_sample.deeper:graph", "llamon_sample"),
        ("llamon_needs:graph", "needs the module 'llamon_nowhere'"),
        ("llamon_broken:graph", "ZeroDivisionError"),
        ("./absent.py:graph", "names no file"),
        ("llamon_sample:absent", "has no attribute 'absent'"),
        ("llamon_sample:number", "is no graph"),
        ("llamon_sample:wrong", "called as a factory, and what it returned, of type int, is no graph"),
        ("llamon_sample:failing", r"failed: RuntimeError at .*llamon_sample.py:\d+: no such model\. Any"),
        ("llamon_sample:exiting", r"failed: SystemExit at .*llamon_sample.py:\d+: 1\."),
        ("llamon_sample:talks", "called as a factory, and what it returned, of type str, .* --adapter custom"),
        ("llamon_sample:number", "--adapter custom"),
        ("llamon_sample:needy", "takes nothing, a config, a ServerRuntime or both, and this needs more"),
        ("llamon_sample:keyword", "takes nothing, a config, a ServerRuntime or both, and this needs more"),
        ("llamon_sample:loose", "cannot be compiled; the line above says why"),
        ("llamon_sample:sync_only", "AsyncSqliteSaver"),
        ("llamon_sample:rooted", "does not take and give 'messages'"),
        ("builtins:dict", "is no graph"),
    ],
)
async def test_a_target_that_is_no_graph_is_refused_with_its_remedy(project: Path, target: str, told: str) -> None:
    with pytest.raises(ConfigError, match=told) as raised:
        await load_graph(target, checkpointer=None)
    assert raised.value.public.startswith(f"The target {target!r}")


async def test_a_graph_with_fields_needs_no_mapping(project: Path, caplog: pytest.LogCaptureFixture) -> None:
    await load_graph("llamon_sample:other_state", checkpointer=None)
    assert "text belongs" not in caplog.text


async def test_why_a_graph_cannot_be_compiled_is_in_the_log(project: Path, caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(ConfigError):
        await load_graph("llamon_sample:loose", checkpointer=None)
    assert "'llamon_sample:loose' cannot be compiled: Graph must have an entrypoint" in caplog.text


async def test_a_file_with_the_name_of_another_module_is_still_the_one_that_is_meant(project: Path) -> None:
    (project / "json.py").write_text("graph = 1")
    with pytest.raises(ConfigError, match="is no graph"):
        await load_graph("./json.py:graph", checkpointer=None)


async def test_a_mapping_and_a_window_are_checked(project: Path) -> None:
    with pytest.raises(ConfigError, match="input_key is 'nope'"):
        await load_graph("llamon_sample:compiled", checkpointer=None, mapping=StateMapping(input_key="nope"))
    with pytest.raises(ConfigError, match="window_size"):
        await load_graph("llamon_sample:compiled", checkpointer=None, window_size=0)


@pytest.mark.parametrize("name", ["managed", "managed_plainly"])
async def test_a_factory_that_is_a_context_manager_is_open_as_long_as_the_agent(project: Path, name: str) -> None:
    async with AsyncExitStack() as stack:
        graph = (await load_graph(f"llamon_sample:{name}", checkpointer=None, stack=stack)).graph
        log = sys.modules["llamon_sample"].log
        assert (await graph.ainvoke({"messages": []}))["messages"][-1].content == "hello"
        assert log == ["opened"]
    assert log == ["opened", "closed"]
