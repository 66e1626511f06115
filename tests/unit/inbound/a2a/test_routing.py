"""One path, several agents: a message may name one, and what follows finds its way."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest
from tests.unit.inbound.a2a.edges import call, events_in, message_03, message_10, only_response, response_of

from llamon_agent.domain.events import Complete, Interrupt
from llamon_agent.inbound.a2a.bindings.jsonrpc.binding import RpcStream, answer_call
from llamon_agent.inbound.a2a.bindings.streaming import Frames
from llamon_agent.inbound.a2a.endpoint import Endpoint, RequestHead
from llamon_agent.inbound.a2a.routing import Router
from llamon_agent.runs.ports.run import Runtime, Target
from llamon_agent.runs.service import RunService
from llamon_agent.store.memory import MemoryTaskStore
from llamon_agent.testing.scripted import Gate, HandClock, ScriptedAgent, Step, counting_ids

ASK = Interrupt(text="Sure?", questions=())


class Path:
    """The default path of an edge with agents one, two and three, of which only two may be chosen."""

    def __init__(self, agents: dict[str, ScriptedAgent], endpoint: Router) -> None:
        self.agents = agents
        self.endpoint = endpoint

    async def ask(self, method: str, params: object) -> Any:
        response = await only_response(await answer_call(self.endpoint, call(method, params), RequestHead()))
        return response.get("result", response)

    async def send(self, agent: str | None = None, **more: object) -> Any:
        """The task of a 0.3 message that names this agent."""
        return await self.ask("message/send", message_03(**_naming(agent), **more))

    def turns(self) -> dict[str, int]:
        return {name: len(agent.turns) for name, agent in self.agents.items()}


def _naming(agent: str | None) -> dict[str, object]:
    return {} if agent is None else {"metadata": {"agent": agent}}


@asynccontextmanager
async def path(
    one: Sequence[Sequence[Step]] = (),
    two: Sequence[Sequence[Step]] = (),
    *,
    key: str | None = "agent",
    also: Sequence[str] = (),
    gone: Sequence[str] = (),
) -> AsyncIterator[Path]:
    agents = {"one": ScriptedAgent(*one), "two": ScriptedAgent(*two), "three": ScriptedAgent()}
    runtimes = {
        name: Runtime(Target(name=name, adapter="scripted", target=""), agent) for name, agent in agents.items()
    }
    async with (
        asyncio.timeout(10),
        RunService(MemoryTaskStore(), runtimes, clock=HandClock(), new_id=counting_ids()) as runs,
    ):
        endpoints = {name: Endpoint(runs, agent=name) for name in agents}
        allow = ("two",) if key else ()
        router = Router(runs, main=endpoints["one"], endpoints=endpoints, key=key, allow=allow, also=also, gone=gone)
        yield Path(agents, router)


DONE: list[Step] = [Complete(text="done")]


async def test_a_message_goes_to_the_agent_that_it_names_or_to_the_default_one() -> None:
    async with path([DONE, DONE], [DONE]) as it:
        for agent in (None, "one", "two"):
            assert (await it.send(agent))["status"]["state"] == "completed"
        assert it.turns() == {"one": 2, "two": 1, "three": 0}


async def test_the_call_may_name_the_agent_and_the_message_wins() -> None:
    async with path([DONE], [DONE]) as it:
        await it.ask("message/send", message_03() | {"metadata": {"agent": "two"}})
        await it.ask("SendMessage", message_10(metadata={"agent": "one"}) | {"metadata": {"agent": "two"}})
        assert it.turns() == {"one": 1, "two": 1, "three": 0}


@pytest.mark.parametrize("name", ["three", "nobody", "", 2, None, ["two"]])
async def test_an_agent_that_may_not_be_chosen_is_refused_and_the_choice_is_named(name: object) -> None:
    async with path() as it:
        refusal = await it.ask("message/send", message_03(metadata={"agent": name}))
    assert refusal["error"] == {
        "code": -32602,
        "message": "metadata.agent must name one of one, two; leave it out otherwise.",
    }


async def test_where_nothing_may_be_chosen_the_key_is_metadata_like_any_other() -> None:
    async with path([DONE], key=None, also=["two"]) as it:
        await it.send("two")
        assert it.agents["one"].turns[0].metadata["agent"] == "two"


async def test_calls_by_a_tasks_id_reach_the_agent_that_has_it() -> None:
    gate = Gate()
    async with path([], [[ASK], [gate]]) as it:
        task = await it.send("two")
        assert (await it.ask("tasks/get", {"id": task["id"]}))["id"] == task["id"]
        background = message_03(taskId=task["id"]) | {"configuration": {"blocking": False}}
        assert (await it.ask("message/send", background))["status"]["state"] == "working"
        await gate.reached()
        following = await answer_call(it.endpoint, call("tasks/resubscribe", {"id": task["id"]}), RequestHead())
        assert isinstance(following, RpcStream)
        frames = Frames(following.stream, following.envelope, ping_s=15)
        assert (await it.ask("tasks/cancel", {"id": task["id"]}))["status"]["state"] == "canceled"
        chunks: list[bytes] = []

        async def write(chunk: bytes) -> None:
            chunks.append(chunk)

        await frames.deliver(write)
    assert events_in(b"".join(chunks))[-1][1]["result"]["status"]["state"] == "canceled"
    assert it.agents["two"].turns[1].answers


async def test_an_answer_by_the_context_alone_reaches_the_agent_that_asked() -> None:
    async with path([DONE], [[ASK], DONE]) as it:
        task = await it.send("two", contextId="c1")
        assert (await it.send(contextId="c2"))["id"] != task["id"]
        assert (await it.send(contextId="c1"))["id"] == task["id"]
        assert it.turns() == {"one": 1, "two": 2, "three": 0}


async def test_an_agent_that_is_gone_holds_its_tasks_and_answers_no_caller() -> None:
    async with path([DONE], [[ASK]], gone=["two"]) as it:
        task = await it.send("two", contextId="c1")
        assert (await it.send(contextId="c1"))["id"] != task["id"]
        assert (await it.ask("tasks/get", {"id": task["id"]}))["id"] == task["id"]
        assert it.turns() == {"one": 1, "two": 1, "three": 0}


async def test_an_answer_that_names_another_agent_than_the_tasks_is_refused() -> None:
    async with path([], [[ASK], DONE]) as it:
        task = await it.send("two")
        refusal = await it.send("one", taskId=task["id"])
        assert refusal["error"]["code"] == -32602
        assert (await it.send("two", taskId=task["id"]))["status"]["state"] == "completed"


@pytest.mark.parametrize("method", ["tasks/get", "tasks/cancel", "tasks/resubscribe", "GetTask"])
async def test_a_task_that_no_reachable_agent_has_is_not_found(method: str) -> None:
    async with path() as it:
        assert (await it.ask(method, {"id": "nowhere"}))["error"]["code"] == -32001
        assert (await it.send(taskId="nowhere"))["error"]["code"] == -32001


async def test_the_tasks_of_an_agent_that_may_not_be_chosen_are_not_found() -> None:
    async with path() as it:
        it.agents["three"] = agent = ScriptedAgent(DONE)
        runs = it.endpoint._runs
        runs.replace_runtimes({"three": Runtime(Target(name="three", adapter="scripted", target=""), agent)})
        sent = response_of(
            await answer_call(Endpoint(runs, agent="three"), call("message/send", message_03()), RequestHead())
        )
        task_id = sent["result"]["id"]
        assert (await it.ask("tasks/get", {"id": task_id}))["error"]["code"] == -32001


async def test_calls_that_belong_to_no_task_are_the_default_agents() -> None:
    async with path([DONE], [DONE]) as it:
        mine, _ = await it.send("one"), await it.send("two")
        assert [task["id"] for task in (await it.ask("ListTasks", {}))["tasks"]] == [mine["id"]]


async def test_a_tenant_that_is_an_agents_name_means_that_agent() -> None:
    async with path([DONE], [DONE], key=None) as it:
        task = (await it.ask("SendMessage", {**message_10(), "tenant": "two"}))["task"]
        assert it.turns() == {"one": 0, "two": 1, "three": 0}
        assert (await it.ask("GetTask", {"id": task["id"], "tenant": "two"}))["id"] == task["id"]
        assert (await it.ask("GetTask", {"id": task["id"]}))["error"]["code"] == -32001


async def test_a_tenant_that_is_neither_an_agent_nor_known_is_refused() -> None:
    async with path([DONE], key=None) as it:
        assert (await it.ask("SendMessage", {**message_10(), "tenant": "ghost"}))["error"]["code"] == -32602
        assert it.turns() == {"one": 0, "two": 0, "three": 0}
