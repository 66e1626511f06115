"""What should happen, as pure functions over values; the service makes it happen."""

from collections.abc import Callable, Sequence

import msgspec

from llamon_agent.domain.caller import thread_id
from llamon_agent.domain.errors import (
    BadParams,
    Conflict,
    ContentTypeNotSupported,
    TaskHasEnded,
    TaskIsBusy,
    TaskNotCancelable,
)
from llamon_agent.domain.events import (
    QUESTIONS,
    Cancelled,
    Complete,
    Error,
    Interrupt,
    NodeLost,
    Outcome,
    Question,
    Rejected,
    Reply,
)
from llamon_agent.domain.lifecycle import may_follow
from llamon_agent.domain.message import Data, Message, Metadata, Role, Text, sound
from llamon_agent.domain.task import Task, TaskState, TaskStatus, answer_text
from llamon_agent.runs.ports.agent import Agent, ChecksMessages, Turn
from llamon_agent.runs.ports.run import RunRequest, Target

NODE_LOST = "The node that was working on this task is gone."

_REASONED = frozenset({TaskState.FAILED, TaskState.REJECTED})
"""The ends that carry a reason."""


class Begin(msgspec.Struct, frozen=True):
    """Start a new task in the context."""


class Continue(msgspec.Struct, frozen=True):
    """The message answers what this paused task asks."""

    task: Task


def decide_submit(
    named: Task | None, pending: Task | None, context_id: str | None, *, objection: str | None = None
) -> Begin | Continue:
    """What a message does, given the task that it names and the paused task of its context.

    A message that names only the context of a paused task is the answer to it: clients often answer so, and a second
    run over a pending question would lose it.

    Raises: BadParams: the pair does not match; TaskHasEnded; TaskIsBusy; ContentTypeNotSupported: it would begin a
            task, and there is an objection to that.
    Source: A2A 1.0 §3.4.1 (context and task identifiers).
    """
    if named is None and pending is None and objection is not None:
        raise ContentTypeNotSupported(objection)
    if named is None:
        return Begin() if pending is None else Continue(pending)
    if context_id is not None and context_id != named.context_id:
        raise BadParams("contextId is not the context of that task; leave it out or send the task's own.")
    if named.is_terminal:
        raise TaskHasEnded
    if not named.is_paused:
        raise TaskIsBusy
    return Continue(named)


_MAX_TASK_ID_CHARS = 128
"""How long an id may be that a caller chooses. It becomes part of URLs and of every event."""


def may_name(task_id: str, target: Target) -> bool:
    """Whether a message may begin a task by an id of the caller's choice. Source: A2A 0.2 §6.1.1 (Task.id)."""
    return target.task_ids == "client" and task_id.isprintable() and len(task_id) <= _MAX_TASK_ID_CHARS


def check_beginning(agent: Agent, message: Message) -> None:
    """A message that begins a task is one that its agent can take. Raises: BadParams, in the agent's words."""
    if isinstance(agent, ChecksMessages) and (problem := agent.objection(message)) is not None:
        raise BadParams(problem, field="message.parts")


def check_answer(task: Task, message: Message) -> None:
    """An answer by ids answers what was asked. Raises: BadParams: it names a question that this task does not ask."""
    asked = _asked(task)
    for part in message.parts:
        match part:
            case Data(data={"answers": {**answers}}) if asked and not answers.keys() <= asked:
                raise BadParams(f"answers: a question is not asked by this task; it asks {', '.join(sorted(asked))}.")


def _asked(task: Task) -> set[str]:
    """The ids of the questions that a paused task asks."""
    return {question["id"] for question in _questions(task)}


def _questions(task: Task) -> list[Metadata]:
    """The questions of a paused task, as they were sent; a task of an earlier version has them only as data."""
    message = task.status.message
    if message is None:
        return []
    held = [message.metadata, *(part.data for part in message.parts if isinstance(part, Data))]
    return next((each[QUESTIONS] for each in held if each and QUESTIONS in each), [])


def decide_cancel(task: Task, *, again_ok: bool) -> bool:
    """Whether there is anything to stop. Raises: TaskNotCancelable. Source: A2A 1.0 §3.1.5; 0.3 §7.4."""
    if may_follow(task.status.state, TaskState.CANCELED):
        return True
    if task.status.state is TaskState.CANCELED and again_ok:
        return False
    raise TaskNotCancelable


def new_task(request: RunRequest, context_id: str, state: TaskState, *, task_id: str, now_ms: int) -> Task:
    """The task that a message begins."""
    message = msgspec.structs.replace(request.message, context_id=context_id, task_id=task_id)
    return Task(
        id=task_id,
        context_id=context_id,
        owner=request.owner,
        agent=request.agent,
        status=TaskStatus(state=state, at_ms=now_ms),
        seq=1,
        created_ms=now_ms,
        history=(message,),
    )


def turn_of(task: Task, request: RunRequest, target: Target, *, answers: bool) -> Turn:
    """The turn that the agent is given for a message.

    The session is made of the thread (which is the context for the default principal), because two principals that name
    the same context must not share a session either.
    """
    thread = thread_id(task.owner, task.context_id)
    return Turn(
        task_id=task.id,
        context_id=task.context_id,
        thread_id=thread,
        session_id=(target.session_id or "{context_id}").replace("{context_id}", thread),
        message=request.message,
        prompt=request.prompt,
        prefill=request.prefill,
        history_received=request.history_received,
        answers=answers,
        asked=tuple(_questions(task)) if answers else (),
        metadata=request.metadata,
        answer_id=_new_answer_id(task),
        caller=request.caller,
    )


def _new_answer_id(task: Task) -> str:
    """The artifact id of the next run's text: one that no earlier run of the task has used."""
    taken = {artifact.artifact_id for artifact in task.artifacts}
    number = len(taken) + 1
    while f"answer-{number}" in taken:
        number += 1
    return f"answer-{number}"


def begun(task: Task, answer: Message, now_ms: int) -> Task:
    """The paused task, continued with an answer: its question and the answer are history now."""
    answer = msgspec.structs.replace(answer, context_id=task.context_id, task_id=task.id)
    said = (answer,) if task.status.message is None else (task.status.message, answer)
    return msgspec.structs.replace(
        task,
        status=TaskStatus(state=TaskState.WORKING, at_ms=now_ms),
        history=(*task.history, *said),
        seq=task.seq + 1,
    )


def ended(
    task: Task, outcome: Outcome, now_ms: int, new_id: Callable[[], str], *, answer_in_status: bool = False
) -> Task:
    """The task after its run. The reason of a failure or a refusal is in its status, and is also the last message of
    its history, as some clients read only `history[-1]` of a failed task.

    Shape:  answer_in_status: the message of a completed status is the text of the last artifact that has any.
    Raises: Conflict: the task is in a state that this end may not follow.
    """
    state, message = _status_of(task, outcome, new_id)
    if not may_follow(task.status.state, state):
        raise Conflict
    if answer_in_status and state is TaskState.COMPLETED and (text := _last_text(task)):
        message = agent_message(task, text, new_id)
    history = task.history
    if state in _REASONED and message is not None:
        history = (*history, message)
    return msgspec.structs.replace(
        task,
        status=TaskStatus(state=state, at_ms=now_ms, message=message),
        history=history,
        seq=task.seq + 1,
    )


def _last_text(task: Task) -> str:
    written = (answer_text([artifact]) for artifact in reversed(task.artifacts))
    return next((text for text in written if text), "")


def _status_of(task: Task, outcome: Outcome, new_id: Callable[[], str]) -> tuple[TaskState, Message | None]:
    match outcome:
        case Complete() | Reply():
            return TaskState.COMPLETED, None
        case Cancelled():
            return TaskState.CANCELED, None
        case Error(public=public):
            return TaskState.FAILED, agent_message(task, public, new_id)
        case NodeLost():
            return TaskState.FAILED, agent_message(task, NODE_LOST, new_id)
        case Rejected(public=public):
            return TaskState.REJECTED, agent_message(task, public, new_id)
        case Interrupt(text=text, questions=questions, auth=auth):
            state = TaskState.AUTH_REQUIRED if auth else TaskState.INPUT_REQUIRED
            return state, agent_message(task, text, new_id, questions)


def direct_message(task: Task, reply: Reply, message_id: str) -> Message:
    """A reply without a task. Its metadata says what became of the history, as a task's would."""
    return Message(
        message_id=message_id,
        role=Role.AGENT,
        parts=reply.parts,
        context_id=task.context_id,
        metadata={**(task.metadata or {}), **(reply.metadata or {})} or None,
    )


def agent_message(task: Task, text: str, new_id: Callable[[], str], questions: Sequence[Question] = ()) -> Message:
    """A message of the agent about the task: text, and its questions in the metadata, for programs.

    Questions that the text does not say in full are a data part, too. One that it does say is not, since many hosts
    show a data part to people.
    """
    parts: tuple[Text | Data, ...] = (Text.of(sound(text)),)
    asked: Metadata | None = {QUESTIONS: [question_out(each) for each in questions]} if questions else None
    if asked and not _is_text(questions):
        parts = (*parts, Data(data=asked))
    return Message(
        message_id=new_id(),
        role=Role.AGENT,
        parts=parts,
        context_id=task.context_id,
        task_id=task.id,
        metadata=asked,
    )


def question_out(question: Question) -> Metadata:
    """A question as the task carries it: JSON, and equal to itself after it was kept."""
    out: Metadata = msgspec.to_builtins(question)
    return {key: list(value) if isinstance(value, tuple) else value for key, value in out.items()}


def _is_text(questions: Sequence[Question]) -> bool:
    """Whether a text says all: one question, which is text, and which any text answers."""
    return len(questions) == 1 and isinstance(questions[0].value, str) and questions[0].schema is None
