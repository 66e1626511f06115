"""The message that answers, over the wire: the same on a stream and in the task; see `answering`."""

from pathlib import Path

import pytest
from a2a.types import a2a_pb2 as pb
from tests.integration.test_withdrawn_text import rebuilt, task_id_of, texts
from tests.integration.wires import sending, wires

GRAPHS = Path(__file__).with_name("answering.py")


@pytest.mark.parametrize(("graph", "answer"), [("handed_back", "The bill is paid.")])
async def test_the_answer_is_the_same_on_a_stream_and_in_the_task(graph: str, answer: str) -> None:
    target = {"adapter": "langgraph", "target": f"{GRAPHS}:{graph}"}
    async with wires(target, direct_messages=False) as all_of_them:
        for wire in all_of_them.values():
            events = [event async for event in wire.send_message_streaming(sending("answers", text="go"))]
            assert "Transferring" not in str(events)
            assert list(rebuilt(events).values()) == [answer]
            task = await wire.get_task(pb.GetTaskRequest(id=task_id_of(events)))
            assert (task.status.state, texts(task.artifacts)) == (pb.TASK_STATE_COMPLETED, [answer])
