import pytest
from tests.contract.task_store import a_full_task, a_task, a_turn

from llamon_agent.domain.errors import BackendError
from llamon_agent.domain.task import Task, TaskState
from llamon_agent.runs.ports.store import Abandoned
from llamon_agent.store.postgres.rows import created_row
from llamon_agent.store.records import abandoned_in, readable, task_in


def kept(task: Task) -> tuple[bytes, bytes]:
    """A task and its turn as a store keeps them."""
    row = created_row(task, a_turn(), None)
    return row["body"], row["turn"]


def test_a_task_and_its_turn_come_back_as_they_went_in() -> None:
    full = a_full_task()
    assert task_in(created_row(full, None, None)["body"]) == full
    assert abandoned_in([(*kept(a_task()), 2)]) == (Abandoned(task=a_task(), turn=a_turn(), attempt=2),)


def test_a_task_that_cannot_be_read_is_a_backend_error(caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(BackendError):
        task_in(b"nonsense")
    assert "cannot be read" in caplog.text


def test_of_many_tasks_those_that_cannot_be_read_are_left_out(caplog: pytest.LogCaptureFixture) -> None:
    body, turn = kept(a_task())
    assert readable([b"nonsense", body, b""]) == (a_task(),)
    assert [each.task for each in abandoned_in([(b"nonsense", turn, 1), (body, turn, 1)])] == [a_task()]
    assert caplog.text.count("cannot be read") == 3


def test_a_turn_that_cannot_be_read_counts_as_none(caplog: pytest.LogCaptureFixture) -> None:
    body, _ = kept(a_task(state=TaskState.WORKING))
    assert [each.turn for each in abandoned_in([(body, b"nonsense", 2), (body, None, 2)])] == [None, None]
    assert caplog.text.count("cannot be read") == 1
