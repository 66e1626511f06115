"""An edge in memory for the bindings' tests: a scripted agent behind the real run service."""

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from llamon_agent.inbound.a2a.bindings.jsonrpc.binding import NoResponse, RpcResponse, RpcStream, answer_call
from llamon_agent.inbound.a2a.bindings.streaming import Artifacts, Frames
from llamon_agent.inbound.a2a.endpoint import AgentPolicy, Endpoint, RequestHead, Webhooks
from llamon_agent.inbound.a2a.media_types import Modes
from llamon_agent.runs.ports.run import Limits, Runtime, Target
from llamon_agent.runs.service import RunService
from llamon_agent.store.memory import MemoryTaskStore
from llamon_agent.testing.scripted import HandClock, ScriptedAgent, Step, counting_ids
from llamon_agent.wire.sse import Reader

AGENT = "echo"


class Edge(msgspec.Struct):
    """What a test holds in its hands."""

    agent: ScriptedAgent
    clock: HandClock
    runs: RunService
    endpoint: Endpoint
    ping_s: float

    async def ask(self, method: str, params: object = None, head: RequestHead | None = None) -> Any:
        """The response to a call that is answered with one; its `result` where it has one."""
        response = await only_response(await answer_call(self.endpoint, call(method, params), head or RequestHead()))
        return response.get("result", response)

    async def begin(self, head: RequestHead | None = None, **more: object) -> str:
        """The id of a new task that is worked on."""
        params = message_03(**more) | {"configuration": {"blocking": False}}
        task_id: str = (await self.ask("message/send", params, head))["id"]
        return task_id

    async def only_task(self) -> str:
        """The id of the one task that there is."""
        [task] = (await self.ask("ListTasks", {}))["tasks"]
        task_id: str = task["id"]
        return task_id

    async def open(self, method: str, params: object = None, head: RequestHead | None = None) -> Frames:
        """The stream that a call is answered with."""
        return frames_of(
            await answer_call(self.endpoint, call(method, params), head or RequestHead()), ping_s=self.ping_s
        )


@asynccontextmanager
async def edge(
    *scripts: Sequence[Step],
    artifacts: Artifacts = Artifacts.AUTO,
    modes: Modes = Modes(),
    policy: AgentPolicy | None = None,
    webhooks: Webhooks | None = None,
    wait_s: float = 5.0,
    ping_s: float = 15.0,
    limits: Limits | None = None,
) -> AsyncIterator[Edge]:
    agent, clock = ScriptedAgent(*scripts), HandClock()
    runtimes = {AGENT: Runtime(Target(name=AGENT, adapter="scripted", target="script"), agent)}
    async with RunService(MemoryTaskStore(), runtimes, clock=clock, new_id=counting_ids(), limits=limits) as runs:
        policy = policy or AgentPolicy(artifacts=artifacts, modes=modes)
        endpoint = Endpoint(runs, agent=AGENT, policy=policy, wait_s=wait_s, webhooks=webhooks)
        yield Edge(agent, clock, runs, endpoint, ping_s)


def call(method: str, params: object = None, call_id: object = 1) -> bytes:
    """A request; without params where they are None."""
    body = {"jsonrpc": "2.0", "id": call_id, "method": method}
    return json.dumps(body if params is None else {**body, "params": params}).encode()


def message_03(text: str = "hi", /, **more: object) -> dict[str, Any]:
    """Params of message/send and message/stream."""
    message = {"kind": "message", "messageId": "m-1", "role": "user", "parts": [{"kind": "text", "text": text}]}
    return {"message": {**message, **more}}


def message_10(text: str = "hi", /, **more: object) -> dict[str, Any]:
    """Params of SendMessage and SendStreamingMessage."""
    return {"message": {"messageId": "m-1", "role": "ROLE_USER", "parts": [{"text": text}], **more}}


async def only_response(reply: RpcResponse | NoResponse | RpcStream) -> Any:
    """The one response to a call, which in 0.x may be a stream's only event."""
    if not isinstance(reply, RpcStream):
        return response_of(reply)
    [(_, response)] = events_in(b"".join(await chunks_of(frames_of(reply))))
    return response


def response_of(reply: RpcResponse | NoResponse | RpcStream) -> Any:
    assert isinstance(reply, RpcResponse), reply
    return json.loads(reply.body)


def frames_of(reply: RpcResponse | NoResponse | RpcStream, *, ping_s: float = 15.0) -> Frames:
    """The stream that a call was answered with."""
    assert isinstance(reply, RpcStream), reply
    return Frames(reply.stream, reply.envelope, ping_s=ping_s)


async def chunks_of(frames: Frames) -> list[bytes]:
    """The stream to its end, as it was written."""
    chunks: list[bytes] = []

    async def write(chunk: bytes) -> None:
        chunks.append(chunk)

    await frames.deliver(write)
    return chunks


def events_in(stream: bytes) -> list[tuple[str, Any]]:
    """The frames of a stream: each one's id, and the response in it."""
    return [(event.id, json.loads(event.data)) for event in Reader().feed(stream)]


async def results_of(frames: Frames) -> list[Any]:
    """The results of a stream's events."""
    return [response["result"] for _, response in events_in(b"".join(await chunks_of(frames)))]
