"""Tasks that ask, and tasks that are canceled."""

import pytest
from tests.e2e.clients.catalogue import NOT_CANCELABLE
from tests.e2e.clients.running import Refused, Remote, unique
from tests.e2e.clients.shapes import Task, answer_of, ending, rebuilt, text_of


def test_a_question_is_asked_and_answered_by_the_tasks_id(remote: Remote) -> None:
    context = unique("c")
    asked = remote.task("ask colour", context=context)
    assert (asked.state, text_of(asked.said)) == ("input-required", "Which colour?")
    assert remote.get(asked.id) == asked
    done = remote.task("blue", task=asked.id)
    assert (done.id, done.context, done.state) == (asked.id, context, "completed")
    assert answer_of(done) == "You answered: blue"


def test_a_question_is_answered_by_its_context_too(remote: Remote) -> None:
    asked = remote.task("ask colour", context=unique("c"))
    done = remote.task("blue", context=asked.context)
    assert (done.id, done.state, answer_of(done)) == (asked.id, "completed", "You answered: blue")


def test_a_stream_ends_at_a_question_and_its_answer_streams_on(remote: Remote) -> None:
    asked = rebuilt(list(remote.stream("ask colour")))
    assert (asked.state, text_of(asked.said)) == ("input-required", "Which colour?")
    done = rebuilt(list(remote.stream("blue", task=asked.id)))
    assert (done.id, done.state) == (asked.id, "completed")
    assert answer_of(remote.get(asked.id)) == "You answered: blue"


def test_a_sign_in_is_asked_for_and_goes_on(remote: Remote) -> None:
    asked = remote.task("login bank")
    assert (asked.state, text_of(asked.said)) == ("auth-required", "Sign in to bank.")
    assert remote.get(asked.id).state == "auth-required"
    done = remote.task("signed in", task=asked.id)
    assert (done.id, done.state, answer_of(done)) == (asked.id, "completed", "You answered: signed in")


def test_a_cancel_stops_the_work(remote: Remote) -> None:
    task = remote.task(f"wait {unique('gate')}", waits=False)
    canceled = remote.cancel(task.id)
    assert (canceled.id, canceled.state) == (task.id, "canceled")
    assert remote.get(task.id).state == "canceled"
    assert remote.task("hello", context=task.context).state == "completed"


def test_a_second_cancel_is_an_error_in_0_x_and_fine_in_1_0(remote: Remote) -> None:
    task = remote.task(f"wait {unique('gate')}", waits=False)
    remote.cancel(task.id)
    if not remote.client.is_old:
        assert remote.cancel(task.id).state == "canceled"
        return
    with pytest.raises(Refused, match=remote.client.named(NOT_CANCELABLE)):
        remote.cancel(task.id)


def test_a_cancel_ends_the_stream_of_the_task(remote: Remote) -> None:
    events = remote.stream(f"wait {unique('gate')}")
    task = next(events)
    assert isinstance(task, Task)
    remote.cancel(task.id)
    assert ending(events).state == "canceled"


def test_a_question_can_be_canceled(remote: Remote) -> None:
    asked = remote.task("ask colour")
    assert remote.cancel(asked.id).state == "canceled"


def test_a_finished_task_cannot_be_canceled(remote: Remote) -> None:
    task = remote.task("hello")
    with pytest.raises(Refused, match=remote.client.named(NOT_CANCELABLE)):
        remote.cancel(task.id)
