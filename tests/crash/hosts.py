"""A host that goes on: whatever dies in the middle of its calls, it finds out what has become of its messages.

Every call goes through the official client, or (to come back with a Last-Event-ID, which that cannot) by hand. One that
fails while all is well is a finding; one that fails because something died is made again, or its outcome looked up.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

import httpx
from a2a.client import Client, ClientCallContext, ClientConfig, ClientFactory
from a2a.client.card_resolver import A2ACardResolver
from a2a.types.a2a_pb2 import (
    CancelTaskRequest,
    GetTaskRequest,
    ListTasksRequest,
    Message,
    Part,
    Role,
    SendMessageConfiguration,
    SendMessageRequest,
    StreamResponse,
    SubscribeToTaskRequest,
    Task,
    TaskState,
)
from a2a.utils.errors import (
    A2AError,
    InternalError,
    TaskNotCancelableError,
    TaskNotFoundError,
    UnsupportedOperationError,
)
from tests.crash.edge import Edge
from tests.crash.view import SETTLED, View, text_of

TROUBLE_IS_SEEN_WITHIN_S = 15.0
"""A call may fail before it is known that the edge is dead, while it is stopping, or while its store is away."""

_T = TypeVar("_T")


class Told(NamedTuple):
    """A settled state that a host was told.

    Units: at_ns is of the monotonic clock, when the host had it.
    """

    at_ns: int
    state: TaskState
    text: str


@dataclass
class Sent:
    """A message, and everything that its host was told of its task.

    Shape: task_id is empty as long as none was told; was_found says that the answer to the message was lost and the
           task was looked up; asked_to_cancel, that a cancel was sent; deaths is how often the edge had died before it
           was sent.
    """

    agent: str
    token: str
    context: str
    task_id: str = ""
    told: list[Told] = field(default_factory=list)
    task: Task = field(default_factory=Task)
    was_found: bool = False
    asked_to_cancel: bool = False
    deaths: int = 0

    @property
    def state(self) -> TaskState:
        return self.task.status.state

    @property
    def is_settled(self) -> bool:
        return self.state in SETTLED

    def tell(self, task: Task) -> None:
        """The host is told of its task."""
        self.task_id = task.id
        self.task.CopyFrom(task)
        if self.is_settled:
            self.told.append(Told(time.monotonic_ns(), self.state, text_of(task.artifacts)))

    def message(self, text: str = "") -> Message:
        """The message itself, or the answer to its task's question."""
        if text:
            return Message(message_id=f"{self.token}-answer", role=Role.ROLE_USER, parts=[Part(text=text)],
                           task_id=self.task_id)  # fmt: skip
        return Message(message_id=self.token, role=Role.ROLE_USER, parts=[Part(text=self.token)],
                       context_id=self.context)  # fmt: skip


class Clients(NamedTuple):
    """The official client for one agent, streaming and not."""

    streaming: Client
    blocking: Client


class Host:
    """Calls the agents of an edge."""

    def __init__(self, edge: Edge, http: httpx.AsyncClient, clients: Mapping[str, Clients]) -> None:
        self.edge = edge
        self.http = http
        self._clients = clients

    # --- sending ------------------------------------------------------------------------------------------------------

    async def stream(self, sent: Sent, answer: str = "") -> None:
        """Send it, and follow its task until it is settled."""
        events = self._clients[sent.agent].streaming.send_message(SendMessageRequest(message=sent.message(answer)))
        if not await self._sends(sent, lambda: self._hear(sent, events)):
            await self.find(sent)
        await self.follow(sent)

    async def block(self, sent: Sent, *, key: str = "") -> None:
        """Send it and wait for what becomes of it; with an idempotency key, it is sent again if the answer is lost."""
        again = False
        while not await self._sends(sent, lambda: self._send(sent, key=key), again=again):
            again = True
            if not key:
                await self.find(sent)
                break
        await self.follow(sent)

    async def begin(self, sent: Sent) -> None:
        """Send it, and do not wait."""
        if not await self._sends(sent, lambda: self._send(sent, waits=False)):
            await self.find(sent)

    async def answer(self, sent: Sent, text: str) -> None:
        """Answer its question, until it is no longer asked."""
        while sent.state == TaskState.TASK_STATE_INPUT_REQUIRED:
            await self.stream(sent, text)

    async def cancel(self, sent: Sent) -> None:
        """Cancel its task; it may have ended first."""
        sent.asked_to_cancel = True
        try:
            sent.tell(await self._surely(lambda: self._canceled(sent)))
        except TaskNotCancelableError:
            return await self.get(sent)
        if sent.state != TaskState.TASK_STATE_CANCELED:
            raise AssertionError(f"{sent.token}: a cancel was answered by {TaskState.Name(sent.state)}")
        return None

    async def _canceled(self, sent: Sent) -> Task:
        """The canceled task; asked for again while the lease of the process that died is not over."""
        while True:
            try:
                return await self._clients[sent.agent].blocking.cancel_task(CancelTaskRequest(id=sent.task_id))
            except InternalError as exc:
                if "Another process" not in exc.message:
                    raise
            await asyncio.sleep(0.1)

    async def _sends(self, sent: Sent, send: Callable[[], Awaitable[None]], *, again: bool = False) -> bool:
        """Send once; False: the edge died before it was told what has become of it."""
        await self.edge.up.wait()
        troubles = self.edge.troubles
        sent.deaths = sent.deaths if again else self.edge.deaths
        try:
            await send()
        except (A2AError, httpx.HTTPError):
            if not await self.was_trouble(troubles):
                raise
            return False
        return True

    async def _send(self, sent: Sent, *, waits: bool = True, key: str = "") -> None:
        request = SendMessageRequest(
            message=sent.message(), configuration=SendMessageConfiguration(return_immediately=not waits)
        )
        context = ClientCallContext(service_parameters={"Idempotency-Key": key}) if key else None
        async for event in self._clients[sent.agent].blocking.send_message(request, context=context):
            sent.tell(event.task)

    # --- finding out --------------------------------------------------------------------------------------------------

    async def get(self, sent: Sent) -> None:
        """Be told its task as it is."""
        request = GetTaskRequest(id=sent.task_id)
        sent.tell(await self._surely(lambda: self._clients[sent.agent].blocking.get_task(request)))

    async def follow(self, sent: Sent) -> None:
        """Be told of its task until it is settled, however often the edge dies meanwhile; at once if there is none."""
        while sent.task_id and not sent.is_settled:
            troubles = self.edge.troubles
            await self.edge.up.wait()
            events = self._clients[sent.agent].streaming.subscribe(SubscribeToTaskRequest(id=sent.task_id))
            try:
                await self._hear(sent, events)
            except UnsupportedOperationError:
                await self.get(sent)
            except (A2AError, httpx.HTTPError):
                if not await self.was_trouble(troubles):
                    raise

    async def unsettled(self, agent: str) -> list[Task]:
        """Every task of an agent that is neither terminal nor paused, whoever began it."""
        states = (TaskState.TASK_STATE_SUBMITTED, TaskState.TASK_STATE_WORKING)
        return [task for state in states for task in await self._list(agent, ListTasksRequest(status=state))]

    async def until_answered(self) -> None:
        """Wait until calls that need the store are answered."""
        blocking = next(iter(self._clients.values())).blocking
        while True:
            with suppress(A2AError):
                await blocking.list_tasks(ListTasksRequest(page_size=1))
                return
            await asyncio.sleep(0.05)

    async def in_context(self, sent: Sent) -> list[Task]:
        """The tasks that were made of this message: at most one, if all is well."""
        found = await self._list(sent.agent, ListTasksRequest(context_id=sent.context))
        return [task for task in found if any(each.message_id == sent.token for each in task.history)]

    async def find(self, sent: Sent) -> None:
        """Look up what has become of a message whose answer was lost."""
        if sent.task_id:
            await self.get(sent)
            return
        for task in await self.in_context(sent):
            sent.was_found = True
            sent.tell(task)

    async def _list(self, agent: str, request: ListTasksRequest) -> list[Task]:
        request.page_size = 100
        request.include_artifacts = True
        return list((await self._surely(lambda: self._clients[agent].blocking.list_tasks(request))).tasks)

    async def _hear(self, sent: Sent, events: AsyncIterator[StreamResponse]) -> None:
        """Be told by a stream, which begins with a snapshot, until the task is settled or the stream ends."""
        view = View()
        async for event in events:
            view.take(event)
            if not event.HasField("artifact_update"):
                sent.tell(view.task)
            if view.is_settled:
                break

    async def _surely(self, call: Callable[[], Awaitable[_T]]) -> _T:
        """Call, again if the edge dies meanwhile."""
        while True:
            await self.edge.up.wait()
            troubles = self.edge.troubles
            try:
                return await call()
            except (TaskNotCancelableError, TaskNotFoundError):
                raise
            except (A2AError, httpx.HTTPError):
                if not await self.was_trouble(troubles):
                    raise

    async def was_trouble(self, before: int) -> bool:
        """Whether the edge or its store was away since there had been so many troubles, or will be known to be."""
        with suppress(TimeoutError):
            async with asyncio.timeout(TROUBLE_IS_SEEN_WITHIN_S):
                await self.edge.trouble(before + 1)
        return self.edge.troubles > before


@asynccontextmanager
async def calling(edge: Edge, agents: tuple[str, ...]) -> AsyncIterator[Host]:
    """A host of these agents, which must be up: their cards are read once."""
    async with AsyncExitStack() as opened:
        http = await opened.enter_async_context(
            httpx.AsyncClient(timeout=60, limits=httpx.Limits(max_connections=None))
        )
        clients = {agent: await _clients(edge, agent, http, opened) for agent in agents}
        yield Host(edge, http, clients)


async def _clients(edge: Edge, agent: str, http: httpx.AsyncClient, opened: AsyncExitStack) -> Clients:
    card = await A2ACardResolver(http, f"{edge.url}/a2a/{agent}").get_agent_card()
    factories = [ClientFactory(ClientConfig(httpx_client=http, streaming=streams)) for streams in (True, False)]
    streaming, blocking = [await opened.enter_async_context(factory.create(card)) for factory in factories]
    return Clients(streaming, blocking)
