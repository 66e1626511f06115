"""The harness finds what it is there to find."""

import pytest
from a2a.types.a2a_pb2 import Artifact, Message, Part, Task, TaskState, TaskStatus
from tests.crash.effects import Line
from tests.crash.hosts import Sent
from tests.crash.said import answer_to
from tests.crash.verdicts import judge, judge_thread, repeats

COMPLETED = TaskState.TASK_STATE_COMPLETED
FAILED = TaskState.TASK_STATE_FAILED
CANCELED = TaskState.TASK_STATE_CANCELED


def task(state: TaskState, *texts: str, reason: str = "") -> Task:
    artifacts = [Artifact(artifact_id=f"a{n}", parts=[Part(text=text)]) for n, text in enumerate(texts)]
    status = TaskStatus(state=state, message=Message(parts=[Part(text=reason)]) if reason else None)
    return Task(id="task", status=status, artifacts=artifacts)


def told(agent: str, *tasks: Task, asked_to_cancel: bool = False) -> Sent:
    sent = Sent(agent, "t1", "c1", asked_to_cancel=asked_to_cancel)
    for each in tasks:
        sent.tell(each)
    return sent


def lines(*steps: str, process: int = 1, at_ns: int = 0) -> list[Line]:
    """The effects of steps, one after the other; one that ends in `!` was not done."""
    phases = [(step.rstrip("!"), phase) for step in steps for phase in ("intent", "done")[: 1 if "!" in step else 2]]
    return [Line("t1", step, phase, at_ns, process) for step, phase in phases]  # type: ignore[arg-type]


ANSWER = answer_to("steps", ["t1"])
ALL = lines("first", "second", "third")


def test_a_whole_answer_with_every_effect_is_right() -> None:
    assert list(judge(told("steps", task(COMPLETED, ANSWER)), ALL, deaths=0)) == []


@pytest.mark.parametrize(
    ("found", "effects", "wrong"),
    [
        (task(COMPLETED, ANSWER[:-1]), ALL, "its answer is"),
        (task(COMPLETED, ANSWER + ANSWER), ALL, "its answer is"),
        (task(COMPLETED, answer_to("steps", ["t1", "t2"])), ALL, "its answer is"),
        (task(COMPLETED, f"{ANSWER[:20]}", ANSWER[20:]), ALL, "in 2 artifacts"),
        (task(COMPLETED, ANSWER), lines("first", "third"), "without second"),
        (task(COMPLETED, ANSWER), lines("first", "first", "second", "third"), "first was done twice by one process"),
        (task(TaskState.TASK_STATE_WORKING), [], "it is TASK_STATE_WORKING"),
        (task(CANCELED), [], "it is TASK_STATE_CANCELED"),
        (task(FAILED, reason="broke"), [], "it failed after 2 deaths: 'broke'"),
        (task(FAILED, "nonsense"), [], "what there is of its answer is 'nonsense'"),
    ],
)
def test_what_is_wrong_is_found(found: Task, effects: list[Line], wrong: str) -> None:
    assert wrong in "; ".join(judge(told("steps", found), effects, deaths=2))


def test_a_run_that_was_tried_often_enough_may_fail_with_half_an_answer() -> None:
    for half in ("", "hea", "heard t1", ANSWER[:20]):
        assert list(judge(told("steps", task(FAILED, *filter(None, [half]))), [], deaths=3)) == []


def test_what_cannot_go_on_may_fail_at_once() -> None:
    assert list(judge(told("plain", task(FAILED)), [], deaths=1)) == []
    assert list(judge(told("plain", task(FAILED)), [], deaths=0)) != []


def test_an_end_that_was_sent_is_final() -> None:
    sent = told("steps", task(CANCELED), task(COMPLETED, ANSWER), asked_to_cancel=True)
    assert any("several ways" in wrong for wrong in judge(sent, [], deaths=0))
    sent = told("steps", task(COMPLETED, ANSWER), task(TaskState.TASK_STATE_WORKING, ANSWER))
    assert "it went on after its end was told" in list(judge(sent, ALL, deaths=0))


def test_an_effect_after_canceled_is_found() -> None:
    sent = told("steps", task(CANCELED), asked_to_cancel=True)
    assert list(judge(sent, lines("first!"), deaths=0)) == []
    late = lines("first!", at_ns=sent.told[0].at_ns + 1)
    assert list(judge(sent, late, deaths=0)) == ["first (intent) happened after it was told TASK_STATE_CANCELED"]


def test_an_effect_without_a_task_is_found() -> None:
    assert list(judge(Sent("steps", "t1", "c1"), [], deaths=0)) == []
    assert list(judge(Sent("steps", "t1", "c1"), lines("first"), deaths=0)) == [
        "it had effects, and no task was made of it"
    ]


def test_a_running_node_may_do_a_step_again_and_a_finished_one_may_not() -> None:
    sent = told("steps", task(COMPLETED, ANSWER))
    assert repeats(sent, [*lines("first", "second!"), *lines("second", "third", process=2)]) == (1, [])
    assert repeats(sent, [*lines("first", "second!"), *lines("first", "second", "third", process=2)]) == (
        1,
        ["first was done again after second had begun"],
    )


def of_thread(*heard: str) -> Sent:
    sent = Sent("steps", heard[-1], "c1")
    sent.tell(task(COMPLETED, answer_to("steps", heard)))
    return sent


def test_a_thread_that_grows_is_right_also_by_what_was_canceled() -> None:
    assert list(judge_thread([of_thread("t1"), of_thread("t1", "t2", "t3")])) == []


@pytest.mark.parametrize(
    ("second", "wrong"),
    [(("t1", "t1", "t2"), "heard a message twice"), (("t2",), "has forgotten"), (("t3", "t2"), "has forgotten")],
)
def test_a_thread_that_doubles_or_forgets_is_found(second: tuple[str, ...], wrong: str) -> None:
    assert any(wrong in each for each in judge_thread([of_thread("t1"), of_thread(*second)]))
