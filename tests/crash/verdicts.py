"""What must hold of every message, whatever died while it was worked on. Pure: from what was told and done, to words.

A step may be done once more if the process died while its node was running: LangGraph runs a node again that has not
been saved. These repeats are counted. One of a node that had finished, so that a later one had begun, is a violation,
as is one in the same process.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from a2a.types.a2a_pb2 import TaskState
from tests.crash.effects import Line
from tests.crash.hosts import Sent
from tests.crash.said import RECOVERING, STAGES, Answer, read_answer, stage_of, words_of
from tests.crash.view import TERMINAL, text_of

MOST_ATTEMPTS = 3
"""How often a run is tried."""


def judge(sent: Sent, lines: Sequence[Line], *, deaths: int, outage: bool = False) -> Iterator[str]:
    """What is wrong with one message.

    Shape: lines are those of its token; deaths is how often the edge has died by now; outage says that its
           database was away for a while, which a run may fail of.
    """
    if not sent.task_id:
        if lines:
            yield "it had effects, and no task was made of it"
        return
    yield from _judge_state(sent, deaths - sent.deaths, outage=outage)
    yield from _judge_told(sent)
    yield from _judge_text(sent)
    yield from _judge_effects(sent, lines)


def judge_thread(completed: Iterable[Sent]) -> Iterator[str]:
    """What is wrong with the memory of a thread, by the answers that were given in it."""
    answers = [(sent, answer) for sent in completed if (answer := _answer_of(sent)) is not None]
    answers.sort(key=lambda each: len(each[1].heard))
    before: tuple[str, ...] = ()
    for sent, (heard, _) in answers:
        if len(set(heard)) < len(heard):
            yield f"{sent.token}: its thread heard a message twice: {heard}"
        if heard[: len(before)] != before:
            yield f"{sent.token}: its thread has forgotten {set(before) - set(heard)}: {heard} after {before}"
        before = heard


def repeats(sent: Sent, lines: Sequence[Line]) -> tuple[int, list[str]]:
    """How many steps of running nodes were done again; and those of finished ones, in words."""
    running, finished = 0, list[str]()
    for number, line in enumerate(lines):
        before = [each for each in lines[:number] if each.phase == line.phase == "intent" and each.step == line.step]
        if not before:
            continue
        later = [each for each in lines[:number] if stage_of(sent.agent, each.step) > stage_of(sent.agent, line.step)]
        if any(each.process == line.process for each in before):
            finished.append(f"{line.step} was done twice by one process")
        elif later:
            finished.append(f"{line.step} was done again after {later[0].step} had begun")
        else:
            running += 1
    return running, finished


def by_token(lines: Iterable[Line]) -> Mapping[str, list[Line]]:
    """The effects of each message."""
    found: defaultdict[str, list[Line]] = defaultdict(list)
    for line in lines:
        found[line.token].append(line)
    return found


def _judge_state(sent: Sent, deaths: int, *, outage: bool) -> Iterator[str]:
    reason = "".join(part.text for part in sent.task.status.message.parts)
    match sent.state:
        case TaskState.TASK_STATE_COMPLETED:
            pass
        case TaskState.TASK_STATE_CANCELED if sent.asked_to_cancel:
            pass
        case TaskState.TASK_STATE_INPUT_REQUIRED if sent.agent == "asking":
            pass
        case TaskState.TASK_STATE_FAILED:
            # One that was being canceled when its process died may have given its work up already.
            goes_on = sent.agent in RECOVERING and not sent.asked_to_cancel
            may_fail = deaths >= (MOST_ATTEMPTS if goes_on else 1) or outage
            if not may_fail:
                yield f"it failed after {deaths} deaths: {reason!r}"
        case other:
            yield f"it is {TaskState.Name(other)}"


def _judge_told(sent: Sent) -> Iterator[str]:
    ends = [told for told in sent.told if told.state in TERMINAL]
    if any((end.state, end.text) != (ends[0].state, ends[0].text) for end in ends[1:]):
        yield "its end was told in several ways: " + ", ".join(
            f"{TaskState.Name(end.state)} {end.text!r}" for end in ends
        )
    if ends and sent.state not in TERMINAL:
        yield "it went on after its end was told"


def _judge_text(sent: Sent) -> Iterator[str]:
    text, answer = text_of(sent.task.artifacts), read_answer(text_of(sent.task.artifacts))
    expected = words_of(sent.agent, sent.token)
    if sent.state != TaskState.TASK_STATE_COMPLETED:
        if not (_begins(text) if answer is None else expected.startswith(answer.words)):
            yield f"what there is of its answer is {text!r}"
        return
    if answer is None or answer.words != expected:
        yield f"its answer is {text!r}"
    elif answer.heard[-1:] != (sent.token,) or (sent.agent == "plain" and len(answer.heard) > 1):
        yield f"its answer belongs to another message: {text!r}"
    if [len(artifact.parts) for artifact in sent.task.artifacts] != [1]:
        yield f"its answer is in {len(sent.task.artifacts)} artifacts"


def _begins(text: str) -> bool:
    """Whether an answer that is cut before its first word may be this."""
    return "heard ".startswith(text) or (text.startswith("heard ") and ";" not in text.rstrip(";"))


def _judge_effects(sent: Sent, lines: Sequence[Line]) -> Iterator[str]:
    done = {line.step for line in lines if line.phase == "done"}
    missing = frozenset().union(*STAGES[sent.agent]) - done
    if sent.state == TaskState.TASK_STATE_COMPLETED and missing:
        yield f"it is completed without {', '.join(sorted(missing))}"
    yield from repeats(sent, lines)[1]
    ends = [told for told in sent.told if told.state in TERMINAL]
    if ends and (late := [line for line in lines if line.at_ns > ends[0].at_ns]):
        yield f"{late[0].step} ({late[0].phase}) happened after it was told {TaskState.Name(ends[0].state)}"


def _answer_of(sent: Sent) -> Answer | None:
    return (
        read_answer(text_of(sent.task.artifacts))
        if sent.state == TaskState.TASK_STATE_COMPLETED and sent.agent != "plain"
        else None
    )
