"""Carries out one operation of one agent, whatever the transport: a binding parses a request and calls `perform`.

What goes wrong is raised; the binding's `FaultBoundary` makes a fault of it. That is one of the two homes of `except
Exception`; the other is the loop of a run.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping
from functools import partial
from types import TracebackType
from typing import Protocol, Self, TypeVar

import msgspec

from llamon_agent.domain.caller import Caller
from llamon_agent.domain.errors import (
    BackendError,
    ExtendedCardNotConfigured,
    ExtensionSupportRequired,
    PushNotSupported,
    StreamingNotSupported,
    UnsupportedOperation,
)
from llamon_agent.domain.task import PushConfig, Task, TaskPage, TaskQuery, trim_history, without_bytes
from llamon_agent.inbound.a2a.bindings.streaming import (
    Artifacts,
    OneEventStream,
    SentEvent,
    Stream,
    StreamOptions,
    decide_mode,
)
from llamon_agent.inbound.a2a.executor import check_tenant, run_request
from llamon_agent.inbound.a2a.faults import FaultReply, fault_reply
from llamon_agent.inbound.a2a.media_types import Modes
from llamon_agent.runs.run import Run
from llamon_agent.runs.service import RunService
from llamon_agent.wire.operations import (
    CancelTask,
    DeletePushConfig,
    Dialect,
    GetExtendedCard,
    GetPushConfig,
    GetTask,
    ListPushConfigs,
    ListTasks,
    Operation,
    PushConfigOperation,
    SendMessage,
    SetPushConfig,
    Subscribe,
    page_of,
    read_token,
    write_token,
)

logger = logging.getLogger(__name__)

B = TypeVar("B")

_MAX_SEQ_DIGITS = 18

_LARGE_BYTES = 128 * 1024
"""From which size on a call is worth a thread: a smaller one takes a few milliseconds at worst, mostly far less."""


class RequestHead(msgspec.Struct, frozen=True, kw_only=True):
    """The caller of a request, and what the transport carries besides the request itself.

    Shape: version is the A2A-Version that was asked for, last_event_id the Last-Event-ID header, idempotency_key the
           header of that name, each as sent; extensions are the URIs that the caller supports; base_url gives the
           address at which it knows this server.
    """

    caller: Caller = Caller()
    version: str | None = None
    last_event_id: str | None = None
    idempotency_key: str | None = None
    extensions: frozenset[str] = frozenset()
    base_url: Callable[[], str] = str


class ParsedRequest(msgspec.Struct, frozen=True):
    """A request that a dialect has read. Shape: waits is false for a caller that takes no answer."""

    operation: Operation
    dialect: Dialect
    waits: bool = True


class Result(msgspec.Struct, frozen=True):
    """A reply of one JSON value, in the dialect. Shape: extensions are the URIs that were activated."""

    body: bytes
    extensions: tuple[str, ...] = ()


EndpointReply = Result | Stream | OneEventStream
CallReply = EndpointReply | FaultReply


class Performer(Protocol):
    """Carries out the calls at one address: an agent's endpoint, or a router in front of several.

    Shape: agent is the one that the address is for.
    """

    agent: str

    async def perform(self, request: ParsedRequest, head: RequestHead, *, size_bytes: int) -> EndpointReply:
        """Carry out one request. Raises: CallerError, BackendError. Units: size_bytes is the request's."""
        ...


ExtendedCards = Callable[[str, Dialect], bytes]
"""The card for authenticated callers, for a base URL and in a dialect's shape."""


class Webhooks(Protocol):
    """The webhooks of tasks; see `push.webhooks`. Raises: TaskNotFound, BadParams; BackendError."""

    def check(self, config: PushConfig) -> None:
        """Refuse a webhook that could not be kept, before anything is begun. Raises: BadParams."""
        ...

    async def register(self, task: Task, config: PushConfig) -> PushConfig: ...

    async def get(self, owner: str, agent: str, task_id: str, config_id: str | None) -> PushConfig: ...

    async def list(self, owner: str, agent: str, task_id: str) -> tuple[PushConfig, ...]: ...

    async def delete(self, owner: str, agent: str, task_id: str, config_id: str) -> None: ...


class AgentPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """What an agent's card promises, and its endpoint keeps.

    Shape: extensions are the URIs that the agent supports, and whether each is required; extended_card is None where
           there is none; tenants are those whose tasks it keeps apart, `*` any; by_message_id says that
           messages with one id are one message; history_readers are the shapes of histories that are read.
    """

    artifacts: Artifacts = Artifacts.AUTO
    modes: Modes = Modes()
    streaming: bool = True
    extensions: Mapping[str, bool] = {}
    extended_card: ExtendedCards | None = None
    tenants: frozenset[str] = frozenset()
    by_message_id: bool = False
    history_readers: tuple[str, ...] = ()


class FaultBoundary:
    """A context around one call: an error in it becomes a fault, and one that is ours is logged with its traceback.

    Shape: dialect is in whose shape a fault is written, operation what was asked; set both once they are known.
           `reply` is there after an error.
    """

    reply: FaultReply

    def __init__(self, agent: str, dialect: Dialect) -> None:
        self._agent = agent
        self.dialect = dialect
        self.operation: Operation | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, error: BaseException | None, _trace: TracebackType | None
    ) -> bool:
        if not isinstance(error, Exception):
            return False
        self.reply = fault_reply(error, self.dialect)
        if self.reply.fault.is_ours:
            what = "no request" if self.operation is None else type(self.operation).__name__
            # A backend that is away is logged once, by itself; a line for every call that it fails would fill the log.
            level = logging.DEBUG if isinstance(error, BackendError) else logging.ERROR
            logger.log(level, "a call of agent %s failed: %s", self._agent, what, exc_info=error)
        return True


class Endpoint:
    """The A2A endpoint of one agent, a `Performer`.

    Shape: webhooks None: push notifications are not supported.
    Units: wait_s is how long a blocking send waits before it answers with the task as it is.
    """

    def __init__(
        self,
        runs: RunService,
        *,
        agent: str,
        policy: AgentPolicy = AgentPolicy(),
        wait_s: float = 300.0,
        webhooks: Webhooks | None = None,
    ) -> None:
        self.agent = agent
        self._runs = runs
        self._policy = policy
        self._required = frozenset(uri for uri, required in policy.extensions.items() if required)
        self._wait_s = wait_s
        self._webhooks = webhooks

    async def perform(self, request: ParsedRequest, head: RequestHead, *, size_bytes: int) -> EndpointReply:
        """Carry out one request. Raises: CallerError, BackendError. Units: size_bytes is the request's."""
        operation, dialect = request.operation, request.dialect
        check_tenant(operation.tenant, self._policy.tenants)
        caller = head.caller.of_tenant(operation.tenant)
        owner = caller.owner
        extensions = self._activated(head)
        match operation:
            case SendMessage():
                run = await self._submit(operation, caller, head.idempotency_key, size_bytes)
                if operation.stream:
                    return self._follow_run(run, operation, dialect, extensions)
                body = await self._sent(run, operation, dialect, waits=request.waits)
            case GetTask():
                task = await self._runs.get(owner, self.agent, operation.task_id)
                body = dialect.write_task(trim_history(task, operation.history_length))
            case ListTasks():
                body = await self._list(operation, dialect, owner)
            case CancelTask(task_id=task_id, again_ok=again_ok):
                body = dialect.write_task(await self._runs.cancel_run(owner, self.agent, task_id, again_ok=again_ok))
            case Subscribe():
                return await self._subscribe(operation, dialect, owner, head, extensions)
            case SetPushConfig() | GetPushConfig() | ListPushConfigs() | DeletePushConfig():
                body = await self._push(operation, dialect, owner)
            case GetExtendedCard():
                body = self._extended_card(dialect, head)
        return Result(body, extensions)

    def _activated(self, head: RequestHead) -> tuple[str, ...]:
        """The extensions that both sides support.

        Raises: ExtensionSupportRequired: the agent insists on another. Source: A2A 1.0 §3.3.4, §4.6.
        """
        if missing := self._required - head.extensions:
            raise ExtensionSupportRequired(
                f"This agent requires the extension {', '.join(sorted(missing))}; name it in the A2A-Extensions header."
            )
        return tuple(uri for uri in self._policy.extensions if uri in head.extensions) if head.extensions else ()

    # --- messages and streams ---------------------------------------------------------------------------------------

    async def _submit(self, operation: SendMessage, caller: Caller, key: str | None, size_bytes: int) -> Run:
        if operation.stream and not self._policy.streaming:
            raise StreamingNotSupported
        if operation.push is not None:
            self._hooks().check(operation.push)
        to_request = partial(
            run_request,
            operation,
            caller=caller,
            agent=self.agent,
            modes=self._policy.modes,
            readers=self._policy.history_readers,
            key=key,
            by_message_id=self._policy.by_message_id,
        )
        run = await self._runs.submit_run(await off_loop_if_large(size_bytes, to_request))
        if operation.push is not None and run.reply is None:
            await self._hooks().register(run.task, operation.push)
        return run

    async def _sent(self, run: Run, operation: SendMessage, dialect: Dialect, *, waits: bool) -> bytes:
        if run.reply is not None:
            return dialect.write_message(run.reply)
        task = await run.wait_settled(self._wait_s) if operation.blocking and waits else run.task
        return dialect.write_sent(trim_history(task, operation.history_length))

    def _follow_run(
        self, run: Run, operation: SendMessage, dialect: Dialect, extensions: tuple[str, ...]
    ) -> Stream | OneEventStream:
        if run.reply is not None:
            return OneEventStream(SentEvent(None, dialect.write_message(run.reply)), extensions)
        options = StreamOptions(
            dialect=dialect,
            artifacts=decide_mode(self._policy.artifacts, dialect, run.task.history),
            history_length=operation.history_length,
        )
        return Stream(run.follow(), options, extensions)

    async def _subscribe(
        self, operation: Subscribe, dialect: Dialect, owner: str, head: RequestHead, extensions: tuple[str, ...]
    ) -> Stream:
        if not self._policy.streaming:
            raise StreamingNotSupported
        subscription = await self._runs.subscribe(
            owner,
            self.agent,
            operation.task_id,
            after_seq=_read_seq(head.last_event_id),
            ended_ok=operation.ended_ok,
        )
        mode = decide_mode(self._policy.artifacts, dialect, subscription.task.history)
        return Stream(subscription, StreamOptions(dialect=dialect, artifacts=mode), extensions)

    async def _list(self, operation: ListTasks, dialect: Dialect, owner: str) -> bytes:
        query = TaskQuery(
            owner=owner,
            agent=self.agent,
            context_id=operation.context_id,
            state=operation.state,
            changed_since_ms=operation.changed_since_ms,
            after=read_token(operation.page_token) if operation.page_token else None,
            limit=operation.page_size,
        )
        page = await self._runs.list(query)
        return await off_loop_if_large(page.size_bytes, partial(_write_page, page, operation, dialect))

    # --- webhooks, and the card for authenticated callers -------------------------------------------------------------

    def _hooks(self) -> Webhooks:
        if self._webhooks is None:
            raise PushNotSupported
        return self._webhooks

    async def _push(self, operation: PushConfigOperation, dialect: Dialect, owner: str) -> bytes:
        hooks, task_id = self._hooks(), operation.task_id
        match operation:
            case SetPushConfig(config=config):
                kept: PushConfig = await hooks.register(await self._task(owner, task_id), config)
                return dialect.write_push_config(task_id, kept)
            case GetPushConfig(config_id=config_id):
                return dialect.write_push_config(task_id, await hooks.get(owner, self.agent, task_id, config_id))
            case ListPushConfigs(page_size=page_size, page_token=token):
                configs, next_token = page_of(await hooks.list(owner, self.agent, task_id), page_size, token)
                return dialect.write_push_configs(task_id, configs, next_token=next_token)
            case DeletePushConfig(config_id=config_id):
                await hooks.delete(owner, self.agent, task_id, config_id)
                return dialect.write_deleted()

    async def _task(self, owner: str, task_id: str) -> Task:
        return await self._runs.get(owner, self.agent, task_id)

    def _extended_card(self, dialect: Dialect, head: RequestHead) -> bytes:
        """1.0 has a capability for it: an agent that does not claim it does not support the operation (§3.1.11)."""
        if self._policy.extended_card is None:
            raise UnsupportedOperation if dialect.version == "1.0" else ExtendedCardNotConfigured
        return self._policy.extended_card(head.base_url(), dialect)


async def off_loop_if_large(size_bytes: int, work: Callable[[], B]) -> B:
    """Do pure work on a call; that on a large one in a thread, so that other calls and streams go on meanwhile."""
    return await asyncio.to_thread(work) if size_bytes > _LARGE_BYTES else work()


def _write_page(page: TaskPage, operation: ListTasks, dialect: Dialect) -> bytes:
    """A page of tasks, without the bytes of files that were not asked for: a conversation about pictures has many."""
    tasks = tuple(
        without_bytes(trim_history(task, operation.history_length), but_in_artifacts=operation.bytes_of_files)
        for task in page.tasks
    )
    return dialect.write_page(
        msgspec.structs.replace(page, tasks=tasks),
        next_token=write_token(tasks[-1]) if page.more else "",
        page_size=operation.page_size,
        include_artifacts=operation.include_artifacts,
    )


def _read_seq(last_event_id: str | None) -> int | None:
    """The seq that a client read last; None where it names none of ours."""
    is_seq = last_event_id is not None and last_event_id.isascii() and last_event_id.isdecimal()
    return int(last_event_id[:_MAX_SEQ_DIGITS]) if last_event_id and is_seq else None
