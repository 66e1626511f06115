import pytest

from llamon_agent.domain.errors import BadParams
from llamon_agent.domain.task import Task, TaskState, TaskStatus
from llamon_agent.wire.operations import read_token, write_token


def task(task_id: str, at_ms: int) -> Task:
    status = TaskStatus(state=TaskState.WORKING, at_ms=at_ms)
    return Task(id=task_id, context_id="c", owner="o", agent="a", status=status, seq=1, created_ms=1)


@pytest.mark.parametrize(("task_id", "at_ms"), [("t-1", 1_764_500_000_000), ("작업", 0), ("a/b+c=", 5), ("", 1)])
def test_a_token_leads_back_to_its_place(task_id: str, at_ms: int) -> None:
    token = write_token(task(task_id, at_ms))
    assert token.isascii()
    assert "=" not in token
    assert read_token(token) == (at_ms, task_id)


@pytest.mark.parametrize(
    "token",
    [
        "x",
        "!!!!",
        "e30",
        "WzFd",
        "WzEsMl0",
        "토큰",
        "A" * 1000,
        "WzEsImEiXQ==extra",
        "WzFlMzAsImEiXQ",
        "Wy0xLCJhIl0",
        "\0",
    ],
)
def test_a_token_that_we_did_not_give_is_a_bad_parameter(token: str) -> None:
    with pytest.raises(BadParams) as caught:
        read_token(token)
    assert token not in caught.value.public
