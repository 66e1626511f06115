"""Tasks, live tasks and runs for the tests of the run service's parts."""

from collections.abc import Callable

from llamon_agent.domain.message import Message, Role, Text
from llamon_agent.domain.task import Task, TaskState, TaskStatus
from llamon_agent.runs.live_task import LiveTask
from llamon_agent.runs.ports.agent import Turn
from llamon_agent.runs.run import Execution, Run
from llamon_agent.testing.scripted import HandClock, counting_ids


def task_of(
    task_id: str = "t1", state: TaskState = TaskState.WORKING, *, context: str = "c1", seq: int = 1, owner: str = "ann"
) -> Task:
    status = TaskStatus(state=state, at_ms=1)
    return Task(id=task_id, context_id=context, owner=owner, agent="demo", status=status, seq=seq, created_ms=1)


def live_of(task: Task, *, window_bytes: int = 10_000) -> LiveTask:
    return LiveTask(task, window_bytes=window_bytes, clock=HandClock(), new_id=counting_ids())


def run_of(task: Task, on_close: Callable[[LiveTask], None] = lambda _live: None) -> Run:
    return Run(live_of(task), task, on_close)


def execution_of(task: Task) -> Execution:
    return Execution(run_of(task), None, None)


def turn_of() -> Turn:
    message = Message(message_id="m", role=Role.USER, parts=(Text.of("hi"),))
    return Turn(task_id="t1", context_id="c1", thread_id="c1", session_id="c1", message=message, prompt="hi")
