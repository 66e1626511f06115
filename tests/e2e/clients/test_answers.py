"""Sending, streaming and reading back: what every host does first."""

from collections.abc import Iterator
from contextlib import closing

import pytest
from tests.e2e.clients.catalogue import CLIENTS, INVALID_PARAMS, TASK_NOT_FOUND, UNSUPPORTED, that_can
from tests.e2e.clients.running import Refused, Remote, unique
from tests.e2e.clients.shapes import (
    ArtifactEvent,
    Event,
    StatusEvent,
    Task,
    answer_of,
    coalesced,
    ending,
    rebuilt,
    text_of,
)


def on(*calls: str) -> pytest.MarkDecorator:
    """Only the clients that have a method for each of these."""
    return pytest.mark.parametrize("remote", that_can(*calls), indirect=True, ids=str)


def test_a_send_waits_for_the_finished_task(remote: Remote) -> None:
    context = unique("c")
    task = remote.task("hello there", context=context)
    assert (task.state, task.context, task.said) == ("completed", context, ())
    [artifact] = task.artifacts
    [part] = artifact.parts
    assert part.value == "You said: hello there "
    assert [(turn.role, text_of(turn.parts)) for turn in task.history] == [("user", "hello there")]


def test_a_task_is_read_back_as_it_was_answered(remote: Remote) -> None:
    task = remote.task("hello there")
    assert remote.get(task.id) == task


def test_a_stream_rebuilds_the_stored_task(remote: Remote) -> None:
    events = list(remote.stream("hello there, all of you"))
    task, stored = rebuilt(events), remote.get(rebuilt(events).id)
    told = [event for event in events if isinstance(event, ArtifactEvent)]
    assert len(told) > 2
    assert answer_of(stored) == "You said: hello there, all of you "
    assert (task.state, answer_of(task)) == (stored.state, answer_of(stored)) == ("completed", answer_of(stored))
    assert all(text_of(event.artifact.parts) for event in told)
    ends_whole = remote.client.speaks_proto_of_03
    assert [event.last for event in told] == [False] * (len(told) - 1) + [ends_whole]
    if "append" not in remote.client.bugs:
        assert [event.append for event in told] == [False] + [True] * (len(told) - 2) + [not ends_whole]


@pytest.mark.parametrize("remote", [each for each in CLIENTS if each.sdk == "py03"], indirect=True, ids=str)
def test_a_stream_is_built_up_by_the_client_itself_as_it_is_stored(remote: Remote) -> None:
    events = list(remote.stream("hello there, all of you"))
    kept, stored = remote.kept(rebuilt(events).id), remote.get(rebuilt(events).id)
    assert kept.state == stored.state
    assert [coalesced(each.parts) for each in kept.artifacts] == [each.parts for each in stored.artifacts]


def test_a_stream_has_the_task_first_and_one_end(remote: Remote) -> None:
    first, *rest = remote.stream("hello")
    assert isinstance(first, Task)
    assert first.state in ("submitted", "working")
    ends = [event for event in rest if isinstance(event, StatusEvent) and event.state == "completed"]
    assert ends == [rest[-1]]
    assert {event.task for event in rest if not isinstance(event, Task)} == {first.id}
    finals = [event.final for event in rest if isinstance(event, StatusEvent) and event.final is not None]
    assert finals in ([], [False] * (len(finals) - 1) + [True])


def test_a_context_remembers(remote: Remote) -> None:
    context = unique("c")
    remote.task("the first", context=context)
    remote.task("the second", context=context)
    assert answer_of(remote.task("find_key", context=context)) == "the first | the second"
    assert answer_of(remote.task("find_key", context=unique("c"))) == ""


@pytest.mark.parametrize("place", ["metadata", "call_metadata"])
def test_history_is_seeded_once_from_both_places(remote: Remote, place: str) -> None:
    context, wire = unique("c"), remote.client.wire
    past = [wire.turn("user", "long ago", "h1"), wire.turn("agent", "I find_key", "h2")]
    first = remote.task("find_key", context=context, **{place: {"history": past}})
    assert answer_of(first) == "long ago | I find_key"
    assert first.metadata["history"]["seeded"] == 2
    other = [wire.turn("user", "never was", "h3")]
    assert (
        answer_of(remote.task("find_key", context=context, **{place: {"history": other}}))
        == "long ago | I find_key | find_key"
    )


def test_the_messages_history_wins_over_the_calls(remote: Remote) -> None:
    turn = remote.client.wire.turn
    task = remote.task(
        "find_key",
        metadata={"history": [turn("user", "the message's", "h1")]},
        call_metadata={"history": [turn("user", "the call's", "h1")]},
    )
    assert answer_of(task) == "the message's"


def test_a_failed_task_says_so_and_not_why(remote: Remote) -> None:
    task = remote.task("fail by the secret reason")
    assert task.state == "failed"
    assert text_of(task.said)
    assert "secret" not in text_of(task.said)
    assert task.history[-1].role == "agent"
    assert task.history[-1].parts == task.said
    assert remote.get(task.id) == task


def test_a_failed_stream_ends_as_failed(remote: Remote) -> None:
    last = ending(remote.stream("fail by the secret reason"))
    assert last.state == "failed"
    assert last.said == remote.get(last.task).said != ()


def test_a_rejected_task_says_why(remote: Remote) -> None:
    task = remote.task("reject nonsense")
    assert (task.state, text_of(task.said)) == ("rejected", "No nonsense here.")
    assert remote.get(task.id) == task
    assert ending(remote.stream("reject nonsense")).state == "rejected"


def test_an_unknown_task_is_not_found_by_any_call(remote: Remote) -> None:
    with pytest.raises(Refused, match=remote.client.named(TASK_NOT_FOUND)):
        remote.get("nope")
    with pytest.raises(Refused, match=remote.client.named(TASK_NOT_FOUND)):
        remote.cancel("nope")
    with pytest.raises(Refused, match=remote.client.named(TASK_NOT_FOUND)):
        remote.send("hi", task="nope")


@on("subscribe")
def test_an_unknown_task_has_no_stream(remote: Remote) -> None:
    is_unread = "refused streams" in remote.client.bugs
    with pytest.raises(Refused, match="text/event-stream" if is_unread else remote.client.named(TASK_NOT_FOUND)):
        list(remote.subscribe("nope"))


def test_a_task_of_another_context_is_refused(remote: Remote) -> None:
    asked = remote.task("ask one", context=unique("c"))
    with pytest.raises(Refused, match=remote.client.named(INVALID_PARAMS)):
        remote.send("yes", task=asked.id, context=unique("c"))
    assert remote.get(asked.id).state == "input-required"


def test_a_finished_task_takes_no_message(remote: Remote) -> None:
    task = remote.task("hello")
    with pytest.raises(Refused, match=remote.client.named(UNSUPPORTED)):
        remote.send("more", task=task.id)


def test_history_is_cut_to_the_length_that_is_asked_for(remote: Remote) -> None:
    asked = remote.task("ask one")
    remote.task("this one", task=asked.id)
    assert len(remote.get(asked.id).history) > 2
    assert remote.get(asked.id, history_length=1).history == remote.get(asked.id).history[-1:]


@on("list_tasks")
def test_tasks_are_listed_newest_first_and_page_by_page(remote: Remote) -> None:
    context = unique("c")
    sent = [remote.task(f"hello {number}", context=context).id for number in range(3)]
    assert list(_listed(remote, context)) == sent[::-1]


def _listed(remote: Remote, context: str) -> Iterator[str]:
    token = ""
    while True:
        page = remote.list_tasks(context, size=2, token=token)
        assert page.total == 3
        assert not any(task.artifacts for task in page.tasks)
        yield from (task.id for task in page.tasks)
        if not (token := page.next_token):
            return


def test_a_send_that_does_not_wait_answers_at_once(remote: Remote) -> None:
    gate = unique("gate")
    task = remote.task(f"wait {gate}", waits=False)
    assert task.state in ("submitted", "working")
    remote.task(f"open {gate}")
    done = remote.task("find_key", context=task.context)  # waits for its turn behind the other
    assert done.state == "completed"
    assert answer_of(remote.get(task.id)) == f"Let go: {gate}"


def test_events_are_sent_at_once(remote: Remote) -> None:
    gate = unique("gate")
    events = remote.stream(f"wait {gate}")
    seen: list[Event] = [next(events)]
    while f"Waiting for {gate}" not in str(seen[-1]):
        seen.append(next(events))
    remote.task(f"open {gate}")
    seen += events
    assert remote.get(rebuilt(seen).id).state == "completed"
    assert answer_of(rebuilt(seen)) == f"Let go: {gate}"


@on("subscribe")
def test_a_run_outlives_its_stream_and_is_followed_again(remote: Remote) -> None:
    gate = unique("gate")
    with closing(remote.stream(f"wait {gate}")) as events:
        task = next(events)
        assert isinstance(task, Task)
    followed = remote.subscribe(task.id)
    seen: list[Event] = [next(followed)]
    assert isinstance(seen[0], Task)
    remote.task(f"open {gate}")
    seen += followed
    stored = remote.get(task.id)
    assert (rebuilt(seen).state, answer_of(rebuilt(seen))) == (stored.state, answer_of(stored))
    assert (stored.state, answer_of(stored)) == ("completed", f"Let go: {gate}")
