"""The peer: the smallest agent that the official SDK's own server allows. Usage: sdk_server PORT AGENT [DATABASE].

AGENT is `speak`, or how many chunks an echo comes in; DATABASE is an address as SQLAlchemy takes it, and without it
tasks are kept in memory.
"""

import sys

import uvicorn
from a2a.helpers.proto_helpers import new_task_from_user_message
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes
from a2a.server.tasks import DatabaseTaskStore, InMemoryTaskStore, TaskStore, TaskUpdater
from a2a.types.a2a_pb2 import AgentCapabilities, AgentCard, AgentInterface, AgentSkill, Part
from sqlalchemy.ext.asyncio import create_async_engine
from starlette.applications import Starlette

from bench.speaker import speak


class Echo(AgentExecutor):
    """Answers with the prompt, in as many chunks as asked."""

    def __init__(self, chunks: int) -> None:
        self.chunks = chunks

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        updater = await _begin(context, event_queue)
        text = context.get_user_input()
        size = -(-len(text) // self.chunks)
        for number in range(self.chunks):
            await updater.add_artifact(
                [Part(text=text[number * size : (number + 1) * size])],
                artifact_id="answer",
                append=number > 0,
                last_chunk=number == self.chunks - 1,
            )
        await updater.complete()

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        raise NotImplementedError


class Speaker(AgentExecutor):
    """Does what its prompt says."""

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        updater = await _begin(context, event_queue)
        is_first = True
        async for chunk in speak(context.get_user_input()):
            await updater.add_artifact([Part(text=chunk)], artifact_id="answer", append=not is_first)
            is_first = False
        await updater.complete()

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        raise NotImplementedError


async def _begin(context: RequestContext, event_queue: EventQueue) -> TaskUpdater:
    assert context.message is not None
    task = context.current_task or new_task_from_user_message(context.message)
    await event_queue.enqueue_event(task)
    return TaskUpdater(event_queue, task.id, task.context_id)


def main() -> None:
    port, agent, *database = int(sys.argv[1]), *sys.argv[2:]
    card = AgentCard(
        name="echo",
        description="echo",
        version="1",
        supported_interfaces=[
            AgentInterface(url=f"http://127.0.0.1:{port}/a2a", protocol_binding="JSONRPC", protocol_version="1.0")
        ],
        capabilities=AgentCapabilities(streaming=True),
        default_input_modes=["text/plain"],
        default_output_modes=["text/plain"],
        skills=[AgentSkill(id="echo", name="echo", description="echo", tags=["echo"])],
    )
    executor = Speaker() if agent == "speak" else Echo(int(agent))
    store: TaskStore = DatabaseTaskStore(create_async_engine(*database)) if database else InMemoryTaskStore()
    handler = DefaultRequestHandler(agent_executor=executor, task_store=store, agent_card=card)
    app = Starlette(routes=[*create_agent_card_routes(card), *create_jsonrpc_routes(handler, rpc_url="/a2a")])
    uvicorn.run(app, host="127.0.0.1", port=port, log_level="critical", access_log=False)


if __name__ == "__main__":
    main()
