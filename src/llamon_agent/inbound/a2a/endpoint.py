"""One call: a body goes in, an answer comes out. Knows no framework, so that every rim can stand in front of it.

One of the two homes of `except Exception` (the other is the run's loop): whatever goes wrong in here is answered, in
the caller's dialect, and what is our own fault is logged with its traceback.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping
from functools import partial
from typing import TypeVar

import msgspec

from llamon_agent.domain.errors import (
    CallerError,
    ExtendedCardNotConfigured,
    PushNotSupported,
    UnsupportedOperation,
)
from llamon_agent.domain.principal import Principal
from llamon_agent.inbound.a2a.dialects import dialect_for_fault, negotiate
from llamon_agent.inbound.a2a.executor import run_request
from llamon_agent.inbound.a2a.faults import INTERNAL, fault_of, write_fault
from llamon_agent.inbound.a2a.jsonrpc import NULL, Call, read_call, read_id, write_result
from llamon_agent.inbound.a2a.modes import Modes
from llamon_agent.inbound.a2a.operations import (
    CancelTask,
    Dialect,
    ExtendedCard,
    GetTask,
    ListTasks,
    Operation,
    PushConfigCall,
    SendMessage,
    Subscribe,
)
from llamon_agent.inbound.a2a.paging import read_token, write_token
from llamon_agent.inbound.a2a.presentation import Artifacts, decide_mode, trim_history
from llamon_agent.inbound.a2a.routing import Routing
from llamon_agent.inbound.a2a.streaming import Frames, Telling
from llamon_agent.runs.ports import TaskQuery
from llamon_agent.runs.service import RunService

logger = logging.getLogger(__name__)

A = TypeVar("A")
B = TypeVar("B")

_MAX_SEQ_DIGITS = 18

_LARGE_BYTES = 128 * 1024
"""From which size on a call is worth a thread: a smaller one takes a few milliseconds at worst, mostly far less."""

_NO_EXTENDED_CARD: Mapping[str, type[CallerError]] = {"1.0": UnsupportedOperation}
"""1.0 has a capability for it, which our cards do not claim (§3.1.11); other versions just lack the card (0.3 §7.10).
"""


class Caller(msgspec.Struct, frozen=True, kw_only=True):
    """Who calls, and what the transport says beside the body.

    Shape: version is the A2A-Version header or query parameter, last_event_id the Last-Event-ID header; both as sent.
    """

    principal: Principal = Principal()
    version: str | None = None
    last_event_id: str | None = None


class Answer(msgspec.Struct, frozen=True):
    """One JSON-RPC response."""

    body: bytes


class Nothing(msgspec.Struct, frozen=True):
    """The call was a notification: it is done and not answered. Source: JSON-RPC 2.0 §4.1."""


Reply = Answer | Nothing | Frames


class Endpoint:
    """The A2A endpoint of one agent, or with a routing of several: then `others` are the endpoints of the rest by name.

    Units: wait_s is how long a blocking send waits before it answers with the task as it is; ping_s how long a stream
           may be quiet.
    """

    def __init__(
        self,
        runs: RunService,
        *,
        agent: str,
        artifacts: Artifacts = Artifacts.AUTO,
        modes: Modes = Modes(),
        wait_s: float = 300.0,
        ping_s: float = 15.0,
        routing: Routing | None = None,
        others: Mapping[str, "Endpoint"] | None = None,
    ) -> None:
        self._runs = runs
        self._agent = agent
        self._artifacts = artifacts
        self._modes = modes
        self._wait_s = wait_s
        self._ping_s = ping_s
        self._routing = routing
        self._others = others or {}

    async def answer(self, body: bytes, caller: Caller) -> Reply:
        """Carry out one call. Raises nothing: an error before a stream's first event is an Answer too."""
        call: Call | None = None
        try:
            call = await _apart(len(body), read_call, body)
            dialect = negotiate(call.method, caller.version)
            operation = await _apart(len(body), dialect.methods[call.method], call.params)
            meant = await self._endpoint_for(operation, caller)
            reply = await meant._perform(operation, call, dialect, caller)
        except Exception as exc:
            if fault_of(exc) is INTERNAL:
                logger.exception("a call of agent %s failed: %s", self._agent, call.method if call else "no request")
            call_id, method = (call.id, call.method) if call else (await _apart(len(body), read_id, body), None)
            return Answer(write_fault(call_id, exc, dialect_for_fault(method, caller.version)))
        if not call.is_notification:
            return reply
        if isinstance(reply, Frames):
            reply.close()
        return Nothing()

    def refuse(self, error: CallerError, caller: Caller) -> Answer:
        """The answer to a request whose body is not read."""
        return Answer(write_fault(NULL, error, dialect_for_fault(None, caller.version)))

    async def _endpoint_for(self, operation: Operation, caller: Caller) -> "Endpoint":
        if self._routing is None:
            return self
        return self._others.get(await self._routing.agent_for(operation, caller.principal.id), self)

    async def _perform(self, operation: Operation, call: Call, dialect: Dialect, caller: Caller) -> Reply:
        owner = caller.principal.id
        match operation:
            case SendMessage():
                return await self._send(operation, call, dialect, owner)
            case GetTask():
                task = await self._runs.get(owner, self._agent, operation.task_id)
                result = dialect.write_task(trim_history(task, operation.history_length))
            case ListTasks():
                result = await self._list(operation, dialect, owner)
            case CancelTask(task_id=task_id, again_ok=again_ok):
                task = await self._runs.cancel_run(owner, self._agent, task_id, again_ok=again_ok)
                result = dialect.write_task(task)
            case Subscribe():
                return await self._subscribe(operation, call, dialect, caller)
            case PushConfigCall():
                raise PushNotSupported
            case ExtendedCard():
                raise _NO_EXTENDED_CARD.get(dialect.version, ExtendedCardNotConfigured)
        return Answer(write_result(call.id, result))

    async def _send(self, operation: SendMessage, call: Call, dialect: Dialect, owner: str) -> Reply:
        to_request = partial(run_request, owner=owner, agent=self._agent, modes=self._modes)
        request = await _apart(len(call.params), to_request, operation)
        run = await self._runs.submit_run(request)
        if operation.stream:
            telling = Telling(
                call_id=call.id,
                dialect=dialect,
                artifacts=decide_mode(self._artifacts, [operation.message]),
                history_length=operation.history_length,
            )
            return Frames(run.follow(), telling, ping_s=self._ping_s)
        waits = operation.blocking and not call.is_notification
        task = await run.settled(self._wait_s) if waits else run.task
        return Answer(write_result(call.id, dialect.write_sent(trim_history(task, operation.history_length))))

    async def _subscribe(self, operation: Subscribe, call: Call, dialect: Dialect, caller: Caller) -> Frames:
        subscription = await self._runs.subscribe(
            caller.principal.id,
            self._agent,
            operation.task_id,
            after_seq=_read_seq(caller.last_event_id),
            ended_ok=operation.ended_ok,
        )
        mode = decide_mode(self._artifacts, subscription.task.history)
        return Frames(subscription, Telling(call_id=call.id, dialect=dialect, artifacts=mode), ping_s=self._ping_s)

    async def _list(self, operation: ListTasks, dialect: Dialect, owner: str) -> bytes:
        query = TaskQuery(
            owner=owner,
            agent=self._agent,
            context_id=operation.context_id,
            states=(operation.state,) if operation.state else (),
            changed_since_ms=operation.changed_since_ms,
            after=read_token(operation.page_token) if operation.page_token else None,
            limit=operation.page_size,
        )
        page = await self._runs.list(query)
        tasks = tuple(trim_history(task, operation.history_length) for task in page.tasks)
        return dialect.write_page(
            msgspec.structs.replace(page, tasks=tasks),
            next_token=write_token(tasks[-1]) if page.more else "",
            page_size=operation.page_size,
            include_artifacts=operation.include_artifacts,
        )


async def _apart(size_bytes: int, work: Callable[[A], B], given: A) -> B:
    """Do pure work on a call; that on a large one in a thread, so that other calls and streams go on meanwhile."""
    return await asyncio.to_thread(work, given) if size_bytes > _LARGE_BYTES else work(given)


def _read_seq(last_event_id: str | None) -> int | None:
    """The seq that a client read last; None where it names none of ours."""
    is_seq = last_event_id is not None and last_event_id.isascii() and last_event_id.isdecimal()
    return int(last_event_id[:_MAX_SEQ_DIGITS]) if last_event_id and is_seq else None
