"""A node runs again from its top after its question; the caller is told everything once, on every wire."""

from pathlib import Path

from a2a.types import a2a_pb2 as pb
from tests.integration.wires import sending, wires

GRAPH = {"adapter": "langgraph", "target": f"{Path(__file__).with_name('mailing.py')}:graph"}


def notes(events: list[pb.StreamResponse]) -> list[str]:
    working = [e.status_update.status for e in events if e.status_update.status.state == pb.TASK_STATE_WORKING]
    return [part.text for status in working for part in status.message.parts]


async def test_what_a_node_did_before_its_question_is_in_the_task_once() -> None:
    async with wires(GRAPH, direct_messages=False) as all_of_them:
        for wire in all_of_them.values():
            first = [event async for event in wire.send_message_streaming(sending("mail", text="go"))]
            task_id = first[0].task.id
            answer = sending("mail", text="yes", taskId=task_id)
            second = [event async for event in wire.send_message_streaming(answer)]
            assert (notes(first), notes(second)) == (["draft written"], ["mail sent"])
            made = [event.artifact_update.artifact.name for event in second if event.HasField("artifact_update")]
            assert "draft" not in made
            task = await wire.get_task(pb.GetTaskRequest(id=task_id))
            assert [artifact.name for artifact in task.artifacts] == ["draft", ""]
