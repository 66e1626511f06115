"""Drives runs: how each is started, stopped and taken to its end, whatever its agent does meanwhile."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from typing import Protocol

from llamon_agent.domain.caller import thread_id
from llamon_agent.domain.error_location import with_cause, worth_a_trace
from llamon_agent.domain.errors import AgentError, BackendError, CannotBeKept, Conflict, LlamonError
from llamon_agent.domain.events import Cancelled, Complete, Error, Outcome, Reply, Started
from llamon_agent.domain.task import Task, TaskState
from llamon_agent.runs.ports.agent import Turn
from llamon_agent.runs.ports.run import Limits, Runtime
from llamon_agent.runs.run import Execution, HandOver, Phase, Stop
from llamon_agent.runs.task_recorder import TaskRecorder, finish_write

logger = logging.getLogger(__name__)

AGENT_BROKE = "The agent failed unexpectedly."
CANNOT_BE_KEPT = "The agent said something that cannot be kept."

_EVENTS_PER_BREATH = 64
"""After how many events of an agent other tasks get the event loop."""

_LAST_MOMENT_S = 0.5
"""How long an ending service waits for runs that did not stop earlier."""

Ending = Outcome | HandOver

Work = Callable[[Execution], Awaitable[Ending]]
"""What a run does, and how it ends."""


class Supervisor(Protocol):
    """What owns the runs: the registry. Shape: while `closing`, an end that cannot be recorded is not tried again."""

    closing: bool

    def release(self, execution: Execution) -> None:
        """The run is over."""
        ...

    async def prune(self, execution: Execution, *, is_complete: bool) -> None:
        """The run was released, and its thread may be pruned. Shape: is_complete: the agent came to its end."""
        ...

    def mark_lost(self, task: Task) -> None:
        """The end of the task could not be recorded."""
        ...


async def consume(
    execution: Execution, turn: Turn, runtime: Runtime, recorder: TaskRecorder, *, snapshot_every_s: float
) -> Outcome | Stop:
    """Apply what the agent says to the task; how the run ends.

    A run that is opening becomes a task with the first event other than its start and its end.

    Raises: what the agent raises. Cancelling closes the agent's generator first.
    """
    loop = asyncio.get_running_loop()
    next_record_s = loop.time() + snapshot_every_s
    count = 0
    events = runtime.agent.run(turn)
    try:
        async for event in events:
            if execution.stopping is not None:
                return execution.stopping
            if isinstance(event, Outcome):
                return event
            if execution.opening is not None and not isinstance(event, Started):
                await finish_write(recorder.open(execution))
            execution.live.apply(event)
            count += 1
            if count % _EVENTS_PER_BREATH == 0:
                await asyncio.sleep(0)
            if loop.time() >= next_record_s:
                await finish_write(recorder.snapshot(execution.live))
                next_record_s = loop.time() + snapshot_every_s
    finally:
        await events.aclose()
    return Complete()


class RunDriver:
    """Every run of a service, from its start to its end.

    It owns the asyncio tasks of the runs. A TaskGroup would wait for a run that does not stop, perhaps for ever.
    """

    def __init__(self, recorder: TaskRecorder, limits: Limits, supervisor: Supervisor) -> None:
        self._workers: set[asyncio.Task[None]] = set()
        self._recorder = recorder
        self._limits = limits
        self._supervisor = supervisor

    def start(self, execution: Execution) -> None:
        """Let the agent have the turn, within its limit of time."""
        self._start(execution, self._execute)

    def start_closing(self, execution: Execution, how: Cancelled | Error) -> None:
        """Let the run end a paused task as `how` says: the thread must drop its question."""
        self._start(execution, partial(self._close_turn, how=how))

    def stop(self, execution: Execution, how: Stop, *, within_s: float | None = None) -> None:
        """End the run as `how` says. One that waits never starts; one that does not stop in time is abandoned.

        Units: within_s is how long it has, even if it ends or is being stopped already; None: as for a cancel.
        """
        if execution.stopping is None and execution.phase is not Phase.ENDING:
            execution.stopping = how
            if execution.worker is None:
                self._start(execution, self._execute)
            elif execution.phase is Phase.EXECUTING:
                execution.worker.cancel()
        elif within_s is None:
            return
        grace_s = self._limits.cancel_grace_s if within_s is None else within_s
        execution.timers.append(asyncio.get_running_loop().call_later(grace_s, self._abandon, execution, how))

    async def leave(self) -> None:
        """The service ends without the runs that did not stop: they are cancelled once more, and have a moment."""
        for task in self._workers:
            task.cancel()
        if self._workers:
            await asyncio.wait(self._workers, timeout=_LAST_MOMENT_S)

    def _start(self, execution: Execution, work: Work) -> None:
        if execution.worker is not None:
            return
        if execution.runtime is not None:
            limit_s = execution.runtime.target.timeout_s
            limit = "1 second" if limit_s == 1 else f"{limit_s:g} seconds"
            overrun = Error(public=f"The agent did not finish within {limit}.")
            execution.timers.append(asyncio.get_running_loop().call_later(limit_s, self.stop, execution, overrun))
        execution.worker = self._spawn(self._drive(execution, work))

    def _spawn(self, what: Coroutine[None, None, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(what)
        self._workers.add(task)
        task.add_done_callback(self._workers.discard)
        return task

    async def _drive(self, execution: Execution, work: Work) -> None:
        """Take a run to its end. Nothing may be raised out of here, as no caller would see it."""
        execution.phase = Phase.EXECUTING
        outcome = execution.stopping or await self._outcome(execution, work)
        execution.phase = Phase.ENDING
        outcome = execution.stopping or outcome
        if self._needs_repair(execution, outcome):
            await self._outcome(execution, self._close_turn)
        await self._end_run(execution, outcome)
        await self._supervisor.prune(execution, is_complete=isinstance(outcome, Complete))

    def _needs_repair(self, execution: Execution, outcome: Ending) -> bool:
        """Whether the thread must be repaired: no other run continues what the agent was in the middle of, or the
        question whose answer it has perhaps not taken. A run that was abandoned does not touch its thread any more.
        """
        answers = execution.stopping is not None and execution.turn is not None and execution.turn.answers
        return (execution.was_cut_off or answers) and not isinstance(outcome, HandOver) and not execution.run.has_ended

    async def _outcome(self, execution: Execution, work: Work) -> Ending:
        """How the work ends, whatever is raised in it."""
        task_id, ids = execution.live.task.id, execution.live.task.log_ids
        try:
            outcome = await work(execution)
            execution.was_cut_off |= execution.stopping is not None
            return outcome
        except (AgentError, BackendError) as exc:
            logger.warning(
                "task %s: the run failed: %s", task_id, with_cause(exc), exc_info=worth_a_trace(exc), extra=ids
            )
            # An agent that raises has finished with its thread; an error of ours has interrupted it.
            execution.was_cut_off |= isinstance(exc, BackendError) or execution.stopping is not None
            return Error(public=exc.public)
        except CannotBeKept:
            execution.was_cut_off = True
            logger.warning("task %s: the run failed: %s", task_id, CANNOT_BE_KEPT, exc_info=True, extra=ids)
            return Error(public=CANNOT_BE_KEPT)
        except asyncio.CancelledError:
            execution.was_cut_off = True
            current = asyncio.current_task()
            if current is None or (current.cancelling() and execution.stopping is None):
                raise  # the edge ends, not this run
            if execution.stopping is not None:
                current.uncancel()
                return execution.stopping
            logger.exception("task %s: the agent cancelled itself", task_id, extra=ids)
            return Error(public=AGENT_BROKE)
        except BaseException:  # an agent may raise even a BaseException, and must not end other runs with it
            execution.was_cut_off = True
            logger.exception("task %s: the agent broke", task_id, extra=ids)
            return Error(public=AGENT_BROKE)

    async def _execute(self, execution: Execution) -> Ending:
        live, turn, runtime = execution.live, execution.turn, execution.runtime
        assert turn is not None  # only an execution that ends a pause may have none, nor a runtime
        assert runtime is not None
        if live.task.status.state is TaskState.SUBMITTED:
            await finish_write(self._recorder.working(live))
        live.open_answer(turn.answer_id)
        every_s = self._limits.snapshot_every_s
        return await consume(execution, turn, runtime, self._recorder, snapshot_every_s=every_s)

    async def _close_turn(self, execution: Execution, how: Cancelled | Error = Cancelled()) -> Outcome:
        task = execution.live.task
        try:
            if execution.runtime is not None:
                await execution.runtime.agent.close_turn(thread_id(task.owner, task.context_id))
        except (AgentError, BackendError) as exc:
            trace = worth_a_trace(exc)
            logger.warning("task %s: its thread could not be repaired", task.id, exc_info=trace, extra=task.log_ids)
        return how

    def _abandon(self, execution: Execution, how: Stop) -> None:
        """The run does not stop. Its task ends all the same, and what its agent still does no longer counts."""
        task = execution.live.task
        logger.warning("task %s: the run did not stop in time and is abandoned", task.id, extra=task.log_ids)
        self._spawn(self._end_run(execution, execution.stopping or how))

    async def _end_run(self, execution: Execution, outcome: Ending) -> None:
        """Record and publish the end; then let the next run of the context start."""
        try:
            if isinstance(outcome, HandOver):
                return await self._hand_over(execution)
            if execution.opening is not None:
                if isinstance(outcome, Reply) and not execution.opening.done():
                    execution.open(execution.live.message_of(outcome))
                    return execution.end(None)
                await self._recorder.open(execution)  # also for a reply that no caller waits for: it must not be lost
            await self._record_end(execution, outcome)
        except BackendError as exc:
            self._lose(execution, exc)
        except Exception as exc:
            task = execution.live.task
            logger.exception("task %s: the run broke at its end", task.id, extra=task.log_ids)
            await self._fail_at_end(execution, exc if isinstance(exc, LlamonError) else BackendError())
        finally:
            self._supervisor.release(execution)

    async def _fail_at_end(self, execution: Execution, error: LlamonError) -> None:
        """Fail a run whose end cannot be written: most often it holds a value that has no form, or is too large.

        First what has no form is left out, then all that the run has made.
        """
        live = execution.live
        if not live.saved_seq:  # there is no task that could end
            return self._lose(execution, error)
        for leave_out in (live.drop_unsendable, live.drop_artifacts):
            try:
                leave_out()
                return await self._record_end(execution, Error(public=CANNOT_BE_KEPT))
            except BackendError as exc:
                return self._lose(execution, exc)
            except Exception:  # perhaps it takes more memory than there is
                logger.exception("task %s: its failure cannot be recorded", live.task.id, extra=live.task.log_ids)
        return self._lose(execution, BackendError())

    async def _hand_over(self, execution: Execution) -> None:
        """Leave the task as it is for the process that continues it. Its streams end here, and its callers get it."""
        if execution.run.has_ended:
            return
        if execution.opening is not None:
            execution.refuse(BackendError())
        else:
            await self._recorder.snapshot(execution.live)
        execution.live.event_log.close()
        execution.end(None if execution.live.lost else execution.live.snapshot())

    async def _record_end(self, execution: Execution, outcome: Outcome) -> None:
        """Record and publish the end, trying again while the store is away. Raises: BackendError."""
        if execution.live.lost is not None:  # its task was never recorded, and the submission was refused
            execution.end(None)
            return
        for tries, pause_s in enumerate((*self._limits.record_again_s, None)):
            try:
                await self._recorder.end(execution, outcome)
                return
            except BackendError as exc:
                if pause_s is None or self._supervisor.closing or isinstance(exc, Conflict):
                    raise
            if not tries:  # the store itself says what is wrong
                task = execution.live.task
                logger.warning("task %s: the store is away; its end is tried again", task.id, extra=task.log_ids)
            await asyncio.sleep(pause_s)

    def _lose(self, execution: Execution, exc: LlamonError) -> None:
        """The end could not be recorded, so it is not published; the next reader ends the task, if the store allows it.

        Most conflicts come from another process, and then the store refuses. But a store may also have lost a newer
        record, and this process may still hold the task.
        """
        task = execution.live.task
        logger.error("task %s: its end could not be recorded", task.id, extra=task.log_ids)
        execution.refuse(exc)
        if execution.live.saved_seq:
            self._supervisor.mark_lost(task)
        execution.live.event_log.close()
        execution.end(None)
