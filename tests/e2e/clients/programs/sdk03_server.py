"""An agent on the server of a2a-sdk 0.3, over the binding that is asked for: ours calls it.

    python sdk03_server.py BINDING SITE_PACKAGES

That server stands on Starlette and uvicorn, which the environment of its client has not: they are taken from
SITE_PACKAGES, after all that the environment has itself. It prints where it listens.
"""

import asyncio
import socket
import sys

sys.path.append(sys.argv[2])

import uvicorn
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.apps import A2AStarletteApplication
from a2a.server.apps.rest.rest_adapter import RESTAdapter
from a2a.server.events import EventQueue
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types import AgentCapabilities, AgentCard, DataPart, FilePart, FileWithBytes, Part, TextPart
from a2a.utils import new_agent_text_message, new_task
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route

FILE = FilePart(file=FileWithBytes(bytes="AAH/", mime_type="application/pdf", name="a.pdf"))


class Agent(AgentExecutor):
    """Does what the text says: echoes it in two pieces, asks, fails, makes a file, replies without a task, or holds."""

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        text = context.get_user_input()
        if text == "reply":
            await event_queue.enqueue_event(new_agent_text_message("Just this"))
            return
        task = context.current_task
        if task is None:
            task = new_task(context.message)
            await event_queue.enqueue_event(task)
        updater = TaskUpdater(event_queue, task.id, task.context_id)
        await updater.start_work(new_agent_text_message("Reading", task.context_id, task.id))
        if text == "ask":
            await updater.requires_input(new_agent_text_message("Which one?", task.context_id, task.id), final=True)
        elif text == "fail":
            await updater.failed(new_agent_text_message("out of paper", task.context_id, task.id))
        elif text == "hold":
            while True:  # whoever follows from now on is told only what comes from now on
                await asyncio.sleep(0.05)
                await updater.start_work(new_agent_text_message("Still reading", task.context_id, task.id))
        elif text == "file":
            await updater.add_artifact([Part(root=FILE), Part(root=DataPart(data={"n": 1}))], name="made")
            await updater.complete()
        else:
            await updater.add_artifact([Part(root=TextPart(text="You said "))], artifact_id="a", last_chunk=False)
            await updater.add_artifact([Part(root=TextPart(text=text))], artifact_id="a", append=True, last_chunk=True)
            await updater.complete()

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        await TaskUpdater(event_queue, context.task_id, context.context_id).cancel()


def application(binding: str, url: str) -> Starlette:
    card = AgentCard(
        name="Old",
        description="An agent of a2a-sdk 0.3.",
        version="1",
        url=url,
        preferred_transport=binding,
        capabilities=AgentCapabilities(streaming=True),
        default_input_modes=["text/plain"],
        default_output_modes=["text/plain"],
        skills=[],
    )
    handler = DefaultRequestHandler(agent_executor=Agent(), task_store=InMemoryTaskStore())
    if binding == "JSONRPC":
        return A2AStarletteApplication(agent_card=card, http_handler=handler).build()

    async def show(_request: object) -> JSONResponse:
        return JSONResponse(card.model_dump(mode="json", by_alias=True, exclude_none=True))

    routes = RESTAdapter(agent_card=card, http_handler=handler).routes()
    served = [Route(path, call, methods=[method]) for (path, method), call in routes.items()]
    return Starlette(routes=[Route("/.well-known/agent-card.json", show), *served])


def main() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        config = uvicorn.Config(application(sys.argv[1], url), log_config=None, loop="asyncio", http="h11", ws="none")
        print(url, flush=True)
        uvicorn.Server(config).run(sockets=[listener])


main()
