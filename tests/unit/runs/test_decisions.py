import itertools

import msgspec
import pytest

from llamon_agent.adapters.echo import EchoAgent
from llamon_agent.domain.caller import Caller
from llamon_agent.domain.errors import (
    BadParams,
    CallerError,
    Conflict,
    ContentTypeNotSupported,
    TaskHasEnded,
    TaskIsBusy,
    TaskNotCancelable,
)
from llamon_agent.domain.events import (
    Cancelled,
    Choice,
    Complete,
    Error,
    Interrupt,
    NodeLost,
    Outcome,
    Question,
    Rejected,
    Reply,
)
from llamon_agent.domain.message import Data, Message, Metadata, Role, Text
from llamon_agent.domain.task import PAUSED, TERMINAL, Artifact, Task, TaskState, TaskStatus
from llamon_agent.runs.decisions import (
    NODE_LOST,
    Begin,
    Continue,
    begun,
    check_answer,
    check_beginning,
    decide_cancel,
    decide_submit,
    direct_message,
    ended,
    new_task,
    question_out,
    turn_of,
)
from llamon_agent.runs.ports.run import RunRequest, Target


def message(text: str = "hi") -> Message:
    return Message(message_id="m1", role=Role.USER, parts=(Text.of(text),))


def task(state: TaskState = TaskState.WORKING) -> Task:
    return Task(
        id="t1",
        context_id="c1",
        owner="default",
        agent="demo",
        status=TaskStatus(state=state, at_ms=1),
        seq=3,
        created_ms=1,
        history=(message(),),
    )


TARGET = Target(name="demo", adapter="echo", target="", session_id="s-{context_id}")


def ids() -> str:
    return "new"


def request(**changes: object) -> RunRequest:
    asked = RunRequest(caller=Caller(), agent="demo", message=message(), prompt="hi", metadata={"source": "a2a"})
    return msgspec.structs.replace(asked, **changes)


@pytest.mark.parametrize("state", list(TaskState))
def test_a_named_task_takes_a_message_only_while_it_is_paused(state: TaskState) -> None:
    named = task(state)
    if state in PAUSED:
        assert decide_submit(named, None, None) == Continue(named)
        return
    expected: type[CallerError] = TaskHasEnded if state in TERMINAL else TaskIsBusy
    with pytest.raises(expected):
        decide_submit(named, None, None)


def test_a_message_without_a_task_begins_one() -> None:
    assert decide_submit(None, None, "c1") == Begin()


def test_a_message_that_names_only_the_context_answers_its_pending_task() -> None:
    pending = task(TaskState.INPUT_REQUIRED)
    assert decide_submit(None, pending, "c1") == Continue(pending)


def test_an_objection_keeps_a_message_from_beginning_a_task_and_not_from_answering() -> None:
    with pytest.raises(ContentTypeNotSupported, match="no data"):
        decide_submit(None, None, "c1", objection="no data")
    pending = task(TaskState.INPUT_REQUIRED)
    assert decide_submit(None, pending, "c1", objection="no data") == Continue(pending)
    assert decide_submit(pending, None, None, objection="no data") == Continue(pending)


def test_a_context_that_is_not_the_tasks_is_refused_whatever_its_state() -> None:
    for state in TaskState:
        with pytest.raises(BadParams):
            decide_submit(task(state), None, "other")


def test_the_tasks_own_context_may_be_named_too() -> None:
    named = task(TaskState.INPUT_REQUIRED)
    assert decide_submit(named, None, "c1") == Continue(named)


@pytest.mark.parametrize(("state", "again_ok"), list(itertools.product(TaskState, [True, False])))
def test_what_can_be_canceled(state: TaskState, again_ok: bool) -> None:
    if state not in TERMINAL:
        assert decide_cancel(task(state), again_ok=again_ok)
    elif state is TaskState.CANCELED and again_ok:
        assert not decide_cancel(task(state), again_ok=again_ok)
    else:
        with pytest.raises(TaskNotCancelable):
            decide_cancel(task(state), again_ok=again_ok)


def test_a_new_task_keeps_the_message_with_its_ids() -> None:
    new = new_task(request(), "c9", TaskState.SUBMITTED, task_id="t9", now_ms=5)
    assert (new.id, new.context_id, new.status, new.seq) == (
        "t9",
        "c9",
        TaskStatus(state=TaskState.SUBMITTED, at_ms=5),
        1,
    )
    assert new.history == (msgspec.structs.replace(message(), context_id="c9", task_id="t9"),)


def test_a_turn_of_another_principal_has_its_own_thread() -> None:
    asked = request(caller=Caller(principal="alice"), prefill=(message(),), history_received=4)
    turn = turn_of(new_task(asked, "c9", TaskState.WORKING, task_id="t9", now_ms=5), asked, TARGET, answers=True)
    assert (turn.task_id, turn.context_id, turn.thread_id) == ("t9", "c9", "principal:5:alice:c9")
    assert (turn.session_id, turn.answers, turn.prefill, turn.history_received) == (
        "s-principal:5:alice:c9",
        True,
        (message(),),
        4,
    )


def test_an_answered_task_has_question_and_answer_in_its_history() -> None:
    paused = ended(task(), Interrupt(text="Sure?", questions=()), 2, ids)
    after = begun(paused, message("yes"), 3)
    assert [part.text for said in after.history for part in said.parts if isinstance(part, Text)] == [
        "hi",
        "Sure?",
        "yes",
    ]
    assert after.history[-1].task_id == "t1"
    assert after.status == TaskStatus(state=TaskState.WORKING, at_ms=3)
    assert after.seq == paused.seq + 1


def test_an_answer_to_a_task_whose_question_was_lost_is_still_kept() -> None:
    assert len(begun(task(TaskState.INPUT_REQUIRED), message("yes"), 3).history) == 2


@pytest.mark.parametrize(
    ("outcome", "state"),
    [
        (Complete(text="done"), TaskState.COMPLETED),
        (Cancelled(), TaskState.CANCELED),
        (Error(public="No luck."), TaskState.FAILED),
        (NodeLost(), TaskState.FAILED),
        (Reply(parts=(Text.of("done"),)), TaskState.COMPLETED),
        (Rejected(public="Not me."), TaskState.REJECTED),
        (Interrupt(text="Sure?", questions=()), TaskState.INPUT_REQUIRED),
        (Interrupt(text="Log in.", questions=(), auth=True), TaskState.AUTH_REQUIRED),
    ],
)
def test_each_end_of_a_run_has_its_state(outcome: Outcome, state: TaskState) -> None:
    after = ended(task(), outcome, 9, ids)
    assert (after.status.state, after.status.at_ms, after.seq) == (state, 9, 4)


@pytest.mark.parametrize("outcome", [Complete(text="done"), Reply(parts=(Text.of("done"),))])
def test_completed_carries_no_status_message(outcome: Outcome) -> None:
    assert ended(task(), outcome, 9, ids).status.message is None


@pytest.mark.parametrize(
    ("outcome", "text"),
    [(Error(public="No luck."), "No luck."), (NodeLost(), NODE_LOST), (Rejected(public="Not me."), "Not me.")],
)
def test_a_failure_or_refusal_says_why_in_its_status_and_at_the_end_of_history(outcome: Outcome, text: str) -> None:
    after = ended(task(), outcome, 9, ids)
    assert after.status.message is not None
    assert after.status.message.parts == (Text.of(text),)
    assert after.history[-1] == after.status.message
    assert after.history[-1].role is Role.AGENT


def test_a_question_is_told_in_words_and_as_data_with_ids_and_schema() -> None:
    asked = (Question(id="i1", value="Sure?", schema={"type": "string"}), Question(id="i2", value={"a": 1}))
    after = ended(task(), Interrupt(text="Sure?", questions=asked), 9, ids)
    assert after.status.message is not None
    told = {
        "questions": [
            {"id": "i1", "value": "Sure?", "schema": {"type": "string"}},
            {"id": "i2", "value": {"a": 1}},
        ]
    }
    assert after.status.message.parts == (Text.of("Sure?"), Data(data=told))
    assert after.status.message.metadata == told
    assert len(after.history) == 1


def test_a_question_that_is_its_text_is_text_only_and_its_id_is_in_the_metadata() -> None:
    """Microsoft's client, ADK for JavaScript and BeeAI show a data part to people."""
    again = Interrupt(text="Not that.\nWhich city?", questions=(Question(id="i1", value="Which city?"),))
    message = ended(task(), again, 9, ids).status.message
    assert message is not None
    assert message.parts == (Text.of("Not that.\nWhich city?"),)
    assert message.metadata == {"questions": [{"id": "i1", "value": "Which city?"}]}


STRUCTURED = [
    (Question(id="a", value={"question": "Which city?"}),),
    (Question(id="a", value="How many?", schema={"type": "integer"}),),
    (Question(id="a", value="Which?"), Question(id="b", value="When?")),
]


@pytest.mark.parametrize("asked", STRUCTURED)
def test_what_a_text_does_not_say_in_full_is_a_data_part_too(asked: tuple[Question, ...]) -> None:
    message = ended(task(), Interrupt(text="?", questions=asked), 9, ids).status.message
    assert message is not None
    assert message.parts[1:] == (Data(data=message.metadata),)


def test_choices_go_along_and_a_kept_question_equals_the_one_that_is_asked() -> None:
    question = Question(id="a", value={"options": ["x"]}, choices=(Choice("x", "x"),))
    paused = ended(task(), Interrupt(text="?", questions=(question,)), 9, ids)
    kept = msgspec.json.decode(msgspec.json.encode(paused), type=Task)
    told = turn_of(kept, request(), TARGET, answers=True).asked
    assert told == (question_out(question),) == ({"id": "a", "value": {"options": ["x"]}, "choices": CHOICES},)


CHOICES = [{"label": "x", "value": "x"}]


def test_a_task_of_an_earlier_version_has_its_questions_as_data() -> None:
    paused = asking("a", "b")
    assert paused.status.message is not None
    old = msgspec.structs.replace(paused.status.message, metadata=None)
    check_answer(
        msgspec.structs.replace(paused, status=msgspec.structs.replace(paused.status, message=old)),
        answering({"answers": {"a": 1}}),
    )


def test_a_completed_status_has_the_answers_text_where_that_is_wanted() -> None:
    texts = {"answer-1": "Earlier.", "answer-2": "Now."}
    made = [Artifact(artifact_id=name, parts=(Text.of(text),)) for name, text in texts.items()]
    chart = Artifact(artifact_id="chart", parts=(Data(data={}),))
    worked = msgspec.structs.replace(task(), artifacts=(*made, chart))
    told = ended(worked, Complete(), 9, ids, answer_in_status=True).status
    assert told.message is not None
    assert told.message.parts == (Text.of("Now."),)
    assert ended(worked, Complete(), 9, ids).status.message is None
    assert ended(task(), Complete(), 9, ids, answer_in_status=True).status.message is None
    failed = ended(worked, Error(public="It broke."), 9, ids, answer_in_status=True).status
    assert failed.message is not None
    assert failed.message.parts == (Text.of("It broke."),)


@pytest.mark.parametrize("state", sorted(TERMINAL))
def test_nothing_ends_a_task_twice(state: TaskState) -> None:
    with pytest.raises(Conflict):
        ended(task(state), Complete(), 9, ids)


def asking(*ids: str) -> Task:
    questions = tuple(Question(id=name, value="Sure?") for name in ids)
    return ended(task(), Interrupt(text="Sure?", questions=questions), 9, lambda: "new")


def answering(data: object) -> Message:
    return Message(message_id="m2", role=Role.USER, parts=(Data(data=data),))


@pytest.mark.parametrize("data", [{"answers": {"a": 1}}, {"answers": {}}, {"answers": "a"}, {"x": 1}, None, "yes"])
def test_an_answer_by_the_ids_that_were_asked_is_taken(data: object) -> None:
    check_answer(asking("a", "b"), answering(data))
    check_answer(task(TaskState.INPUT_REQUIRED), answering(data))


def test_an_answer_to_a_question_that_nobody_asked_is_refused() -> None:
    """Parallel questions are answered by their ids, so a wrong id must not be ignored."""
    with pytest.raises(BadParams, match="it asks a, b"):
        check_answer(asking("b", "a"), answering({"answers": {"a": 1, "nope": 2}}))


def test_whatever_an_agent_says_about_its_task_can_be_written() -> None:
    for outcome in (Error(public="half \ud83d"), Interrupt(text="half \ud83d", questions=())):
        message = ended(task(), outcome, 9, ids).status.message
        assert message is not None
        assert message.parts == (Text.of("half \ufffd"),)


@pytest.mark.parametrize(
    ("of_task", "of_reply", "told"),
    [
        (None, None, None),
        ({"history": {"seeded": 1}}, None, {"history": {"seeded": 1}}),
        ({"history": {"seeded": 1}}, {"model": "m"}, {"history": {"seeded": 1}, "model": "m"}),
    ],
)
def test_a_direct_message_is_of_the_context_and_of_no_task(
    of_task: Metadata | None, of_reply: Metadata | None, told: Metadata | None
) -> None:
    reply = Reply(parts=(Text.of("hi"), Data(data=1)), metadata=of_reply)
    said = direct_message(msgspec.structs.replace(task(), metadata=of_task), reply, "r1")
    assert said == Message(
        message_id="r1", role=Role.AGENT, parts=reply.parts, context_id="c1", task_id=None, metadata=told
    )


class Choosy(EchoAgent):
    def objection(self, message: Message) -> str | None:
        return "no" if message.parts[0] == Text.of("hi") else None


def test_an_agent_may_object_to_a_message_that_would_begin_a_task() -> None:
    check_beginning(EchoAgent(), message())
    check_beginning(Choosy(), message("other"))
    with pytest.raises(BadParams, match="no") as raised:
        check_beginning(Choosy(), message())
    assert raised.value.field == "message.parts"
