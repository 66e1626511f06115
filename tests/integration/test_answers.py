"""The message that answers, over the wire: the same on a stream and in the task; see `answering`."""

from pathlib import Path

import pytest
from a2a.types import a2a_pb2 as pb
from tests.integration.test_withdrawn_text import rebuilt, task_id_of, texts
from tests.integration.wires import sending, wires

GRAPHS = Path(__file__).with_name("answering.py")


def target(graph: str) -> dict[str, str]:
    return {"adapter": "langgraph", "target": f"{GRAPHS}:{graph}"}


@pytest.mark.parametrize("graph", ["handed_back", "returns_string"])
async def test_the_answer_is_the_same_on_a_stream_and_in_the_task(graph: str) -> None:
    answer = "The bill is paid."
    async with wires(target(graph), direct_messages=False) as all_of_them:
        for wire in all_of_them.values():
            events = [event async for event in wire.send_message_streaming(sending("answers", text="go"))]
            assert "Transferring" not in str(events)
            assert list(rebuilt(events).values()) == [answer]
            task = await wire.get_task(pb.GetTaskRequest(id=task_id_of(events)))
            assert (task.status.state, texts(task.artifacts)) == (pb.TASK_STATE_COMPLETED, [answer])


async def test_a_task_without_a_text_has_one_line_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    async with wires(target("returns_system"), direct_messages=False) as all_of_them:
        sent = await all_of_them["jsonrpc-1.0"].send_message(sending("answers", text="go"))
    assert (sent.task.status.state, list(sent.task.artifacts)) == (pb.TASK_STATE_COMPLETED, [])
    assert [line for line in caplog.messages if "no text" in line] == [
        "the task has no text: none of the messages that its run added is an answer (the last ones: system)"
    ]
