"""Factories of graphs over HTTP: each run has a graph of its own, made for its caller and its thread."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.conformance.sites import JsonRpc, Site, message, site_of

from llamon_agent.config.edge import EdgeConfig

GRAPH = """
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from typing import TypedDict

from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import interrupt
from langgraph_sdk.runtime import ServerRuntime

log = []
fails = []


def saying(word):
    def node(state):
        said = ", ".join(each.text for each in state["messages"] if each.type == "human")
        if said.endswith("ask"):
            said = interrupt("which?")
        if said.endswith("break"):
            raise ValueError("secret of a node")
        return {"messages": [AIMessage(f"{word}: {said}")]}

    return StateGraph(MessagesState).add_node("node", node).add_edge(START, "node")


def user_in(config):
    values = config["configurable"]
    if not values["__is_for_execution__"]:
        assert "thread_id" not in values
        return "placeholder"
    if fails:
        raise ConnectionError("secret of a factory")
    assert values["thread_id"]
    return values["langgraph_auth_user"].identity


def of_config(config: RunnableConfig):
    return saying(user_in(config))


async def of_async(config):
    return saying(user_in(config)).compile(checkpointer=InMemorySaver())


class Context(TypedDict):
    user_id: str


def of_runtime(runtime: ServerRuntime[Context]):
    run = runtime.execution_runtime
    if run is None:
        return StateGraph(MessagesState, context_schema=Context).add_node("node", print).add_edge(START, "node")
    assert run.context["user_id"] == run.user.identity
    return saying(runtime.ensure_user().identity)


async def of_both(*, runtime: ServerRuntime, config: RunnableConfig):
    if runtime.access_context == "threads.create_run":
        await runtime.store.aput(("calls",), config["configurable"]["thread_id"], {"n": 1})
        assert len(await runtime.store.asearch(("calls",))) == 1, "another caller's items"
    return saying(user_in(config))


@asynccontextmanager
async def managed(config: RunnableConfig):
    user = user_in(config)
    log.append(f"enter {user}")
    try:
        yield saying(user)
    except ValueError:
        log.append(f"failed {user}")
        raise
    finally:
        log.append(f"leave {user}")


@contextmanager
def plainly_managed(config: RunnableConfig):
    yield saying(user_in(config))
    if user_in(config) != "placeholder":
        raise RuntimeError("secret of the end")


def tuned(model, config: RunnableConfig):
    return saying(user_in(config))


class Maker:
    def __call__(self, config: RunnableConfig):
        return saying(user_in(config))


partly, made = partial(tuned, "gpt"), Maker()
"""

FORMS = ("of_config", "of_async", "of_runtime", "of_both", "managed", "plainly_managed", "partly", "made")


@pytest.fixture(params=["memory", "sqlite"])
def data(request: pytest.FixtureRequest, tmp_path: Path) -> Mapping[str, Any]:
    return {"ephemeral": True} if request.param == "memory" else {"folder": str(tmp_path / "data")}


def config_of(folder: Path, data: Mapping[str, Any], name: str) -> EdgeConfig:
    module = folder / f"factories_{folder.name}.py"
    module.write_text(GRAPH)
    a2a = {"bearer_token": {"ann": "of-ann", "bob": "of-bob"}}
    return EdgeConfig.model_validate({"a2a": a2a, "agents": {"demo": {"target": f"{module}:{name}"}}, "data": data})


def loaded(folder: Path) -> Any:
    [module] = [each for name, each in sys.modules.items() if f"factories_{folder.name}" in name]
    return module


async def task_of(at: Site, text: str, caller: str = "ann", **more: Any) -> Any:
    more = {"contextId": caller} | more if "taskId" not in more else more
    return (await JsonRpc(at, token=f"of-{caller}").value("SendMessage", **message("", text, **more)))["task"]


def said(task: Any) -> str:
    parts = task["status"]["message"]["parts"] if "artifacts" not in task else task["artifacts"][0]["parts"]
    return str(parts[0]["text"])


@pytest.mark.parametrize("name", FORMS)
async def test_each_run_has_the_graph_of_its_caller_and_goes_on_in_its_thread(
    tmp_path: Path, data: Mapping[str, Any], name: str
) -> None:
    async with site_of(config_of(tmp_path, data, name)) as at:
        assert said(await task_of(at, "one")) == "ann: one"
        assert said(await task_of(at, "two", "bob")) == "bob: two"
        assert said(await task_of(at, "three")) == "ann: one, three"


@pytest.mark.parametrize("name", FORMS)
async def test_a_question_is_answered_in_a_graph_that_is_made_anew_after_a_restart(tmp_path: Path, name: str) -> None:
    config = config_of(tmp_path, {"folder": str(tmp_path / "data")}, name)
    async with site_of(config) as at:
        asked = await task_of(at, "ask")
        assert said(asked) == "which?"
    async with site_of(config) as at:
        assert said(await task_of(at, "Rome", taskId=asked["id"])) == "ann: Rome"


async def test_what_a_factory_opens_is_closed_when_its_run_ends(tmp_path: Path, data: Mapping[str, Any]) -> None:
    async with site_of(config_of(tmp_path, data, "managed")) as at:
        log = loaded(tmp_path).log
        await task_of(at, "one")
        assert log == ["enter placeholder", "enter ann", "leave ann"]
        assert (await task_of(at, "break"))["status"]["state"] == "TASK_STATE_FAILED"
        assert log[3:] == ["enter ann", "failed ann", "leave ann"]
        await task_of(at, "ask")
        assert log[6:] == ["enter ann", "leave ann"]
    assert log[8:] == ["leave placeholder"]


async def test_an_error_on_leaving_is_in_the_log_only(
    tmp_path: Path, data: Mapping[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    async with site_of(config_of(tmp_path, data, "plainly_managed")) as at:
        assert said(await task_of(at, "one")) == "ann: one"
    assert "could not be closed" in caplog.text


@pytest.mark.parametrize("name", ["of_config", "of_async", "of_both", "managed"])
async def test_a_factory_that_fails_fails_its_task_and_the_next_one_starts_clean(
    tmp_path: Path, data: Mapping[str, Any], name: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with site_of(config_of(tmp_path, data, name)) as at:
        asked = await task_of(at, "ask")
        fails = loaded(tmp_path).fails
        fails.append(True)
        failed = await task_of(at, "Rome", taskId=asked["id"])
        assert failed["status"]["state"] == "TASK_STATE_FAILED"
        assert said(failed) == "The agent could not be made ready for this message."
        assert "ConnectionError" in caplog.text
        assert "secret" not in str(failed)
        fails.clear()
        assert said(await task_of(at, "next")) == "ann: ask, next"
