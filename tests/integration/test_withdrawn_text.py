"""Text that was streamed and is no answer: withdrawn on every stream, and nowhere in the task; see `wires`."""

import asyncio
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from a2a.client.transports.base import ClientTransport
from a2a.types import a2a_pb2 as pb
from google.protobuf.json_format import MessageToDict
from tests.integration.wires import bare, same, sending, wires

GRAPH = {"adapter": "langgraph", "target": f"{Path(__file__).with_name('inner_words.py')}:graph"}


def texts(artifacts: Iterable[pb.Artifact]) -> list[str]:
    return ["".join(part.text for part in artifact.parts) for artifact in artifacts]


def rebuilt(events: list[pb.StreamResponse]) -> dict[str, str]:
    """The artifacts as a host keeps them that does as `append` says."""
    kept: dict[str, str] = {}
    for event in events:
        if event.HasField("artifact_update"):
            update = event.artifact_update
            before = kept.get(update.artifact.artifact_id, "") if update.append else ""
            kept[update.artifact.artifact_id] = before + "".join(texts([update.artifact]))
    return kept


def task_id_of(events: list[pb.StreamResponse]) -> str:
    return events[0].task.id


async def streamed(wire: ClientTransport, prompt: str) -> list[pb.StreamResponse]:
    """The events of a stream to its end. A run that hangs is canceled once it hangs."""
    events: list[pb.StreamResponse] = []
    hangs = prompt.startswith("hang")
    async for event in wire.send_message_streaming(sending("withdrawn", text=prompt)):
        events.append(event)
        if hangs and is_hanging(event):
            hangs = False
            await wire.cancel_task(pb.CancelTaskRequest(id=task_id_of(events)))
    return events


def is_hanging(event: pb.StreamResponse) -> bool:
    note = [part.text for part in event.status_update.status.message.parts]
    return note == ["hanging"] or texts([event.artifact_update.artifact]) == ["Half an "]


ENDS = {
    "go": pb.TASK_STATE_COMPLETED,
    "ask": pb.TASK_STATE_INPUT_REQUIRED,
    "fail": pb.TASK_STATE_FAILED,
    "hang": pb.TASK_STATE_CANCELED,
}


@pytest.mark.parametrize(("prompt", "state"), ENDS.items(), ids=["end", "pause", "failure", "cancel"])
async def test_what_is_no_answer_is_withdrawn_on_every_wire(prompt: str, state: Any) -> None:
    async with wires(GRAPH, direct_messages=False) as all_of_them:
        told: dict[str, Any] = {}
        for name, wire in all_of_them.items():
            events = await streamed(wire, prompt)
            *before, withdrawal, last = events
            assert [text.split()[0] for text in rebuilt(before).values()] == ["secret"]
            assert last.status_update.status.state == state
            assert rebuilt(events) == {withdrawal.artifact_update.artifact.artifact_id: ""}
            told[name] = bare(MessageToDict(withdrawal))
            task = await wire.get_task(pb.GetTaskRequest(id=task_id_of(events)))
            assert (task.status.state, list(task.artifacts)) == (state, [])
    withdrawn = same(told)["artifactUpdate"]
    assert withdrawn["artifact"] == {"parts": [{"text": ""}], "metadata": {"withdrawn": True}}
    assert (withdrawn.get("append", False), withdrawn["lastChunk"]) == (False, True)


@pytest.mark.parametrize(
    ("prompt", "state"), [("break off", pb.TASK_STATE_FAILED), ("hang halfway", pb.TASK_STATE_CANCELED)]
)
async def test_an_answer_that_breaks_off_in_the_middle_stays_and_is_marked(prompt: str, state: Any) -> None:
    async with wires(GRAPH, direct_messages=False) as all_of_them:
        for wire in all_of_them.values():
            events = await streamed(wire, prompt)
            assert events[-1].status_update.status.state == state
            assert [text.split()[0] for text in rebuilt(events).values()] == ["Half"]
            task = await wire.get_task(pb.GetTaskRequest(id=task_id_of(events)))
            assert texts(task.artifacts) == ["Half an "]
            assert MessageToDict(task.artifacts[0].metadata) == {"incomplete": True}


async def test_no_answer_that_waits_and_no_list_has_what_was_withdrawn() -> None:
    async with wires(GRAPH, direct_messages=False) as all_of_them:
        for wire in all_of_them.values():
            for prompt in ("go", "ask", "fail"):
                sent = await wire.send_message(sending("withdrawn", text=prompt))
                assert list(sent.task.artifacts) == []
        listed = await all_of_them["jsonrpc-1.0"].list_tasks(pb.ListTasksRequest(include_artifacts=True))
    assert len(listed.tasks) == 3 * len(all_of_them)
    assert not any(task.artifacts for task in listed.tasks)


async def test_the_answer_after_a_question_is_the_tasks_only_text() -> None:
    async with wires(GRAPH, direct_messages=False) as all_of_them:
        for wire in all_of_them.values():
            events = [event async for event in wire.send_message_streaming(sending("withdrawn", text="ask"))]
            answer = sending("withdrawn", text="yes", taskId=task_id_of(events))
            events = [event async for event in wire.send_message_streaming(answer)]
            task = await wire.get_task(pb.GetTaskRequest(id=task_id_of(events)))
            assert texts(task.artifacts) == ["You said yes."]


async def test_who_follows_a_paused_task_sees_nothing_of_it() -> None:
    async with wires(GRAPH, direct_messages=False) as all_of_them, asyncio.timeout(20):
        for wire in all_of_them.values():
            sent = await wire.send_message(sending("withdrawn", text="ask"))
            stream = wire.subscribe(pb.SubscribeToTaskRequest(id=sent.task.id))
            first = await anext(stream)
            assert list(first.task.artifacts) == []
            await wire.cancel_task(pb.CancelTaskRequest(id=sent.task.id))
            assert not any([event.HasField("artifact_update") async for event in stream])
