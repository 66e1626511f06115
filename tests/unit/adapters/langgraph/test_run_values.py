"""What a graph's code learns of its caller and of the host, and what is saved of it."""

import copy
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypedDict

import msgspec
import pytest
from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.config import get_config
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.runtime import Runtime, get_runtime
from pydantic import BaseModel
from tests.unit.adapters.langgraph.scripted import agent_of, config_of, events_of, node_graph, turn, whole

from llamon_agent.adapters.langgraph.checkpoints.sqlite import open_checkpoints
from llamon_agent.adapters.langgraph.context import USER_IDS
from llamon_agent.adapters.langgraph.run_values import AuthUser, RunValues
from llamon_agent.adapters.langgraph.thread import Graph
from llamon_agent.domain.caller import Caller, Private
from llamon_agent.domain.errors import AgentError
from llamon_agent.runs.ports.agent import Turn

Saver = BaseCheckpointSaver[Any]

ANN = Caller(
    principal="ann",
    is_authenticated=True,
    scopes=("read", "send"),
    claims=Private({"team": "blue"}),
    headers=Private({"x-user-id": "7"}),
)


def turn_of(caller: Caller = ANN, **metadata: Any) -> Turn:
    taken = turn("hi")
    message = msgspec.structs.replace(taken.message, metadata={"place": "message"})
    return msgspec.structs.replace(taken, caller=caller, message=message, metadata={"source": "a2a", **metadata})


async def seen(look: Any, values: RunValues = RunValues(), taken: Turn | None = None) -> Any:
    """What a node finds."""
    found: list[Any] = []

    def node(_state: MessagesState, config: RunnableConfig) -> dict[str, Any]:
        found.append(look(config))
        return {"messages": [AIMessage("done")]}

    assert whole(await events_of(agent_of(node_graph(node), values=values), taken or turn_of())) == "done"
    return found[0]


async def test_a_node_finds_the_callers_id_under_every_name() -> None:
    configurable = await seen(lambda config: config["configurable"])
    assert {name: configurable[name] for name in USER_IDS} == dict.fromkeys(USER_IDS, "ann")
    assert configurable["langgraph_auth_permissions"] == ["read", "send"]


async def test_a_node_finds_the_caller_as_on_langgraphs_server() -> None:
    user = await seen(lambda config: config["configurable"]["langgraph_auth_user"])
    assert (user.identity, user["identity"], user.is_authenticated, user.display_name) == ("ann", "ann", True, "ann")
    assert (user.permissions, user.team, user["team"], "team" in user) == (["read", "send"], "blue", "blue", True)
    assert not hasattr(user, "nothing")
    assert "blue" not in repr(user)


async def test_the_caller_can_be_dumped_as_on_langgraphs_server() -> None:
    user = await seen(lambda config: config["configurable"]["langgraph_auth_user"])
    assert user.dict() == user.model_dump() == dict(user)
    assert user.dict()["team"] == "blue"
    with pytest.raises(TypeError):
        msgspec.json.encode(user.dict())


async def test_who_has_not_been_authenticated_is_no_user() -> None:
    taken = turn_of(Caller())
    configurable = await seen(lambda config: config["configurable"], taken=taken)
    assert (configurable["langgraph_auth_user"], configurable["langgraph_auth_permissions"]) == (None, [])
    assert {name: configurable[name] for name in USER_IDS} == dict.fromkeys(USER_IDS, "default")
    runtime = await seen(lambda _config: get_runtime(), taken=taken)
    assert getattr(runtime.server_info, "user", None) is None


async def test_langgraphs_runtime_has_the_caller() -> None:
    runtime = await seen(lambda _config: get_runtime())
    assert runtime.server_info.user.identity == "ann"


async def test_two_tenants_of_one_caller_are_two_users() -> None:
    taken = turn_of(ANN.of_tenant("blue"))
    assert (await seen(lambda config: config["configurable"]["user_id"], taken=taken)) == taken.caller.owner != "ann"


async def test_a_node_finds_what_the_host_sent() -> None:
    host = await seen(lambda config: config["configurable"]["a2a"], taken=turn_of(place="params"))
    assert host["metadata"] == {"source": "a2a", "place": "params"}
    assert host["message_metadata"] == {"place": "message"}
    assert (host["headers"]["x-user-id"], host["context_id"], host["task_id"]) == ("7", "thread", "task")


async def test_configured_values_are_there_and_a_caller_sets_those_that_it_may() -> None:
    values = RunValues(configurable={"model": "small", "limit": 3}, caller_sets=("model", "tone", "list"))
    taken = turn_of(model="large", limit=99, list=["no"], other="x")
    configurable = await seen(lambda config: config["configurable"], values, taken)
    assert (configurable["model"], configurable["limit"]) == ("large", 3)
    assert not {"tone", "list", "other"} & configurable.keys()


@dataclass(kw_only=True)
class Typed:
    model: str
    user_id: str
    tone: str = "calm"


class Checked(BaseModel):
    model: str
    user_id: str
    tone: str = "calm"


class Keys(TypedDict):
    model: str
    user_id: str
    tone: str


def with_context(schema: Any, saver: Saver | None = None) -> Graph:
    def node(_state: MessagesState, runtime: Runtime[Any]) -> dict[str, Any]:
        context = runtime.context
        read = context.get if isinstance(context, dict) else lambda name: getattr(context, name)
        return {"messages": [AIMessage(" ".join(str(read(name)) for name in ("model", "user_id", "tone")))]}

    builder: Any = StateGraph(MessagesState, context_schema=schema)
    builder.add_node("node", node)
    builder.add_edge(START, "node")
    compiled: Graph = builder.compile(checkpointer=saver)
    return compiled


@pytest.mark.parametrize("schema", [Typed, Checked, Keys])
async def test_a_context_has_configured_values_the_callers_id_and_what_it_may_set(schema: Any, saver: Saver) -> None:
    values = RunValues(context={"model": "small"}, caller_sets=("tone",))
    agent = agent_of(with_context(schema, saver), values=values)
    assert whole(await events_of(agent, turn_of(tone="loud", model="large"))) == "small ann loud"
    assert await agent.invoke("hi", thread_id="other") in ("small default calm", "small default None")
    await agent.close_turn("thread")


async def test_a_configured_user_id_of_a_context_stays() -> None:
    values = RunValues(context={"model": "small", "user_id": "everyone"})
    agent = agent_of(with_context(Typed), values=values)
    assert whole(await events_of(agent, turn_of())) == "small everyone calm"


async def test_a_checkpoint_has_the_callers_id_and_nothing_that_it_brought(saver: Saver) -> None:
    taken = turn_of(canary="sent")

    def node(_state: MessagesState) -> dict[str, Any]:
        assert "blue" in get_config()["configurable"]["langgraph_auth_user"].values()
        return {"messages": [AIMessage("done")]}

    await events_of(agent_of(node_graph(node, saver)), taken)
    kept = [each async for each in saver.alist(config_of())]
    assert kept
    for each in kept:
        assert dict(each.metadata)["user_id"] == "ann"
        assert not any(canary in repr(each) for canary in ("blue", "x-user-id", "sent"))


def holds(folder: Path, canary: bytes) -> bool:
    return any(canary in file.read_bytes() for file in folder.iterdir())


class KeepsUser(MessagesState):
    user: Any


async def test_a_state_never_keeps_the_caller_itself(tmp_path: Path) -> None:
    """Not even by pickle, which keeps almost anything."""

    def node(_state: KeepsUser) -> dict[str, Any]:
        return {"user": get_config()["configurable"]["langgraph_auth_user"]}

    async with open_checkpoints("sqlite", tmp_path) as saver:
        builder: Any = StateGraph(KeepsUser)
        builder.add_node("node", node)
        builder.add_edge(START, "node")
        with pytest.raises(AgentError, match="cannot be saved"):
            await events_of(agent_of(builder.compile(checkpointer=saver)), turn_of())
        assert not holds(tmp_path, b"blue")


def test_a_caller_is_copied_as_itself() -> None:
    user = AuthUser(Caller())
    assert copy.deepcopy({"user": user})["user"] is user


def test_a_caller_without_claims_is_a_user_too() -> None:
    user = AuthUser(Caller())
    assert (dict(user)["identity"], user.display_name, len(user)) == ("default", "default", 4)
