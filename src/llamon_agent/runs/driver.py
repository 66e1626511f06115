"""Conducting runs: how each is started, stopped, and taken to its end, whatever its agent does meanwhile."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from functools import partial

from llamon_agent.domain.error_location import with_cause
from llamon_agent.domain.errors import AgentError, BackendError, Conflict
from llamon_agent.domain.events import Cancelled, Complete, Error, Outcome, Reply, Started
from llamon_agent.domain.principal import thread_id
from llamon_agent.domain.task import Task, TaskState
from llamon_agent.runs.ports.agent import Turn
from llamon_agent.runs.ports.run import Limits, Runtime
from llamon_agent.runs.run import HandOver, Phase, Run, Stop
from llamon_agent.runs.task_recorder import Recorder, to_its_end

# MERGED-DOC: Hearing an agent out: what it says becomes the task's, until it says how the run ends.
_EVENTS_PER_BREATH = 64
"""How many events an agent may say in one go before others get the event loop."""


async def hear_out(
    run: Run, turn: Turn, runtime: Runtime, recorder: Recorder, *, snapshot_every_s: float
) -> Outcome | Stop:
    """Give the agent its turn, and tell the run's task what it says; how it ends.

    A run that is opening is a task as soon as it says anything, beside that it has started and how it ends.

    Raises: what the agent raises. Cancelling closes the agent's generator first.
    """
    loop = asyncio.get_running_loop()
    next_record_s = loop.time() + snapshot_every_s
    count = 0
    events = runtime.agent.run(turn)
    try:
        async for event in events:
            if run.stopping is not None:
                return run.stopping
            if isinstance(event, Outcome):
                return event
            if run.opening is not None and not isinstance(event, Started):
                await to_its_end(recorder.open(run))
            run.live.hear(event)
            count += 1
            if count % _EVENTS_PER_BREATH == 0:
                await asyncio.sleep(0)
            if loop.time() >= next_record_s:
                await to_its_end(recorder.snapshot(run.live))
                next_record_s = loop.time() + snapshot_every_s
    finally:
        await events.aclose()
    return Complete()


logger = logging.getLogger(__name__)

AGENT_BROKE = "The agent failed unexpectedly."
CANNOT_BE_KEPT = "The agent said something that cannot be kept."

_LAST_MOMENT_S = 0.5
"""How long an ending service waits for what did not stop before."""

Ending = Outcome | HandOver

Execution = Callable[[Run], Awaitable[Ending]]
"""What a run does, and how it ends."""


class Conductor:
    """Every run of a service, from its start to its end.

    It owns what the runs do, and no TaskGroup does: that would wait for what was left behind, and so might for ever.

    Shape: release is told of each run that is over; while `closing`, an end that cannot be recorded is not tried again.
           `lost` are the tasks, by id, whose end could not be recorded, or whose record is older than it has been.
    """

    def __init__(self, recorder: Recorder, limits: Limits, release: Callable[[Run], None]) -> None:
        self.closing = False
        self.lost: dict[str, Task] = {}
        self._at_work: set[asyncio.Task[None]] = set()
        self._recorder = recorder
        self._limits = limits
        self._release = release

    def start(self, run: Run) -> Run:
        """Let the agent have the run's turn, within its limit of time."""
        return self._start(run, self._execute)

    def start_abandoning(self, run: Run, how: Cancelled | Error) -> Run:
        """Let the run end a paused task as `how` says: its question is dead, and the thread must not wait for it."""
        return self._start(run, partial(self._abandon, how=how))

    def stop(self, run: Run, how: Stop, *, within_s: float | None = None) -> None:
        """End the run as `how` says: one that waits never starts, one that does not stop in time is left behind.

        Units: within_s is how long it has, also if it is ending or being stopped already; None is as for a cancel.
        """
        if run.stopping is None and run.phase is not Phase.ENDING:
            run.stopping = how
            if run.driver is None:
                self._start(run, self._execute)
            elif run.phase is Phase.EXECUTING:
                run.driver.cancel()
        elif within_s is None:
            return
        grace_s = self._limits.cancel_grace_s if within_s is None else within_s
        run.timers.append(asyncio.get_running_loop().call_later(grace_s, self._leave_behind, run, how))

    async def leave(self) -> None:
        """The service ends, and without what was left behind: that is told to stop once more, and has a moment to."""
        for task in self._at_work:
            task.cancel()
        if self._at_work:
            await asyncio.wait(self._at_work, timeout=_LAST_MOMENT_S)

    def _start(self, run: Run, execution: Execution) -> Run:
        if run.driver is not None:
            return run
        if run.runtime is not None:
            limit_s = run.runtime.target.timeout_s
            limit = "1 second" if limit_s == 1 else f"{limit_s:g} seconds"
            overrun = Error(public=f"The agent did not finish within {limit}.")
            run.timers.append(asyncio.get_running_loop().call_later(limit_s, self.stop, run, overrun))
        run.driver = self._work(self._drive(run, execution))
        return run

    def _work(self, what: Coroutine[None, None, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(what)
        self._at_work.add(task)
        task.add_done_callback(self._at_work.discard)
        return task

    async def _drive(self, run: Run, execution: Execution) -> None:
        """Take a run to its end. Nothing may be raised out of here: nobody would hear of it."""
        run.phase = Phase.EXECUTING
        outcome = run.stopping or await self._outcome(run, execution)
        run.phase = Phase.ENDING
        outcome = run.stopping or outcome
        if self._leaves_a_mess(run, outcome):
            await self._outcome(run, self._abandon)
        await self._end_run(run, outcome)

    def _leaves_a_mess(self, run: Run, outcome: Ending) -> bool:
        """Whether the thread is to be put right: nobody goes on with what the agent was in the middle of, or with the
        question whose answer it has perhaps not taken. A run that was left behind touches its thread no more.
        """
        answers = run.stopping is not None and run.turn is not None and run.turn.answers
        return (run.was_cut_off or answers) and not isinstance(outcome, HandOver) and not run.has_ended

    async def _outcome(self, run: Run, execution: Execution) -> Ending:
        """How an execution ends, whatever is raised in it: one of the two homes of `except Exception`."""
        task_id, ids = run.live.task.id, run.live.task.log_ids
        try:
            outcome = await execution(run)
            run.was_cut_off |= run.stopping is not None
            return outcome
        except (AgentError, BackendError) as exc:
            trace = exc if isinstance(exc, AgentError) else None  # what is away, and why, its place says itself
            logger.warning("task %s: the run failed: %s", task_id, with_cause(exc), exc_info=trace, extra=ids)
            # What the agent raises itself leaves its thread fit; it was only closed for what is ours.
            run.was_cut_off |= isinstance(exc, BackendError) or run.stopping is not None
            return Error(public=exc.public)
        except asyncio.CancelledError:
            run.was_cut_off = True
            current = asyncio.current_task()
            if current is None or (current.cancelling() and run.stopping is None):
                raise  # it is the edge that ends, not this run
            if run.stopping is not None:
                current.uncancel()
                return run.stopping
            logger.exception("task %s: the agent cancelled itself", task_id, extra=ids)
            return Error(public=AGENT_BROKE)
        except BaseException:  # an agent may raise even what is no Exception, and must not take others with it
            run.was_cut_off = True
            logger.exception("task %s: the agent broke", task_id, extra=ids)
            return Error(public=AGENT_BROKE)

    async def _execute(self, run: Run) -> Ending:
        """Run the agent and hear it out."""
        live, turn, runtime = run.live, run.turn, run.runtime
        assert turn is not None  # only the run that abandons a pause may have none, nor a runtime
        assert runtime is not None
        if live.task.status.state is TaskState.SUBMITTED:
            await to_its_end(self._recorder.working(live))
        live.open_answer(turn.answer_id)
        return await hear_out(run, turn, runtime, self._recorder, snapshot_every_s=self._limits.snapshot_every_s)

    async def _abandon(self, run: Run, how: Cancelled | Error = Cancelled()) -> Outcome:
        task = run.live.task
        try:
            if run.runtime is not None:
                await run.runtime.agent.close_turn(thread_id(task.owner, task.context_id))
        except (AgentError, BackendError) as exc:
            trace = exc if isinstance(exc, AgentError) else None
            logger.warning("task %s: its thread could not be put right", task.id, exc_info=trace, extra=task.log_ids)
        return how

    def _leave_behind(self, run: Run, how: Stop) -> None:
        """The run does not stop. Say what is so: the task has ended, and nothing that its agent still does counts."""
        task = run.live.task
        logger.warning("task %s: the run did not stop in time and is left behind", task.id, extra=task.log_ids)
        self._work(self._end_run(run, run.stopping or how))

    async def _end_run(self, run: Run, outcome: Ending) -> None:
        """Record and tell the end; then let the next run of the context go."""
        try:
            if isinstance(outcome, HandOver):
                return await self._hand_over(run)
            if run.opening is not None:
                if isinstance(outcome, Reply) and not run.opening.done():
                    run.open(run.live.message_of(outcome))
                    return run.end(None)
                await self._recorder.open(run)  # also for a reply that nobody waits for: it must not be lost
            await self._record_end(run, outcome)
        except BackendError as exc:
            self._lose(run, exc)
        except Exception:
            logger.exception("task %s: the run broke at its end", run.live.task.id, extra=run.live.task.log_ids)
            await self._end_without(run)
        finally:
            self._release(run)

    async def _end_without(self, run: Run) -> None:
        """End a run, whose end breaks the store, as failed: most often it holds a value that cannot be encoded."""
        if not run.live.saved_seq:  # there is no task that could end
            return self._lose(run, BackendError())
        run.live.drop_what_cannot_be_kept()
        try:
            await self._record_end(run, Error(public=CANNOT_BE_KEPT))
        except BackendError as exc:
            self._lose(run, exc)
        except Exception:  # then it is the store's own code that is broken
            logger.exception("task %s: nor can its failure be recorded", run.live.task.id, extra=run.live.task.log_ids)
            self._lose(run, BackendError())

    async def _hand_over(self, run: Run) -> None:
        """Leave the task as it is, for whoever goes on with it; here its streams end, and its callers are given it."""
        if run.has_ended:
            return
        if run.opening is not None:
            run.refuse(BackendError())
        else:
            await self._recorder.snapshot(run.live)
        run.live.broadcast.close()
        run.end(None if run.live.lost else run.live.snapshot())

    async def _record_end(self, run: Run, outcome: Outcome) -> None:
        """Record and tell the end, trying again while the store is away. Raises: BackendError."""
        if run.live.lost is not None:  # its task never came to be, and the submission was refused
            run.end(None)
            return
        for tries, pause_s in enumerate((*self._limits.record_again_s, None)):
            try:
                await self._recorder.end(run, outcome)
                return
            except BackendError as exc:
                if pause_s is None or self.closing or isinstance(exc, Conflict):
                    raise
            if not tries:  # the store itself says what is wrong
                task = run.live.task
                logger.warning("task %s: the store is away; its end is tried again", task.id, extra=task.log_ids)
            await asyncio.sleep(pause_s)

    def _lose(self, run: Run, exc: BackendError) -> None:
        """The end could not be recorded, so nobody is told one; the next reader ends the task, if the store lets it.

        A conflict is most often another process's doing, and then the store will not. But a store may also have gone
        back behind what it had kept, and the task be held by this process still.
        """
        task = run.live.task
        logger.error("task %s: its end could not be recorded", task.id, extra=task.log_ids)
        run.refuse(exc)
        if run.live.saved_seq:
            self.lost[task.id] = task
        run.live.broadcast.close()
        run.end(None)
