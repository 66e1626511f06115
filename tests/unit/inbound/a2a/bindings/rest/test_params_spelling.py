import json
from typing import Any

import pytest

from llamon_agent.domain.message import Data, Message, Role, Text
from llamon_agent.domain.task import Artifact, Task, TaskState, TaskStatus
from llamon_agent.inbound.a2a.bindings.rest.params import V03_SNAKE, is_snake
from llamon_agent.wire.v03_proto.codec import V03_PROTO

FREE = {"aKey": {"bKey": 1}}
MESSAGE = Message(
    message_id="m", role=Role.AGENT, context_id="c", parts=(Text(text="aB"), Data(data=FREE)), metadata={"cKey": FREE}
)
TASK = Task(
    id="t",
    context_id="c",
    owner="o",
    agent="a",
    status=TaskStatus(state=TaskState.COMPLETED, at_ms=0),
    seq=1,
    created_ms=0,
    history=(MESSAGE,),
    artifacts=(Artifact(artifact_id="x", parts=(Text(text="hi"),)),),
)


def test_the_answer_to_a_message_is_spelled_as_the_proto_file_is() -> None:
    task = json.loads(V03_SNAKE.write_sent(TASK))["task"]
    assert task["context_id"] == "c"
    assert task["artifacts"][0]["artifact_id"] == "x"
    assert task["history"][0]["message_id"] == "m"
    assert (task["id"], task["status"]["state"]) == ("t", "TASK_STATE_COMPLETED")


def test_what_is_the_agents_own_is_spelled_as_the_agent_does() -> None:
    message: Any = json.loads(V03_SNAKE.write_message(MESSAGE))["message"]
    assert message["metadata"] == {"cKey": FREE}
    assert message["content"] == [{"text": "aB"}, {"data": {"data": FREE}}]


def test_all_else_is_as_in_the_other_spelling() -> None:
    assert V03_SNAKE.write_task(TASK) == V03_PROTO.write_task(TASK)
    assert V03_SNAKE.methods is V03_PROTO.methods
    assert V03_SNAKE.version == "0.3"


@pytest.mark.parametrize(
    ("body", "told"),
    [(b'{"request":{"message_id":"m"}}', True), (b'{"message":{"messageId":"m"}}', False), (b"", False)],
)
def test_a_message_shows_its_spelling_by_its_id(body: bytes, told: bool) -> None:
    assert is_snake(body) is told
