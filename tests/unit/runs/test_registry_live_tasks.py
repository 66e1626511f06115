import pytest
from tests.unit.runs.living import live_of, task_of

from llamon_agent.domain.task import TaskState
from llamon_agent.runs.registry import LiveTasks


def test_a_task_is_loaded_once() -> None:
    tasks = LiveTasks(live_of)
    live = tasks.load(task_of())
    assert tasks.load(task_of(seq=9)) is live
    assert (tasks.get("t1"), list(tasks), len(tasks)) == (live, [live], 1)


def test_a_task_that_has_ended_is_not_kept() -> None:
    tasks = LiveTasks(live_of)
    tasks.load(task_of(state=TaskState.COMPLETED))
    assert (tasks.get("t1"), len(tasks)) == (None, 0)


@pytest.mark.parametrize(("seq", "is_current"), [(4, False), (5, True), (6, True)])
def test_a_record_that_is_older_than_what_was_known_is_not_current(seq: int, is_current: bool) -> None:
    tasks = LiveTasks(live_of)
    live = tasks.load(task_of(seq=5))
    assert not tasks.is_current(task_of(seq=9))
    tasks.drop(live)
    assert tasks.is_current(task_of(seq=seq)) is is_current


def test_the_seqs_of_a_limited_number_of_dropped_tasks_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("llamon_agent.runs.registry._REMEMBERED_SEQS", 2)
    tasks = LiveTasks(live_of)
    for name in ("t1", "t2", "t3"):
        tasks.drop(tasks.load(task_of(name, seq=5)))
    assert [tasks.is_current(task_of(name, seq=1)) for name in ("t1", "t2", "t3")] == [True, False, False]


def test_the_task_that_was_dropped_first_is_the_first_to_be_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("llamon_agent.runs.registry._REMEMBERED_SEQS", 2)
    tasks = LiveTasks(live_of)
    for name in ("t1", "t2", "t1", "t3"):
        tasks.drop(tasks.load(task_of(name, seq=5)))
    assert [tasks.last_seq(name) for name in ("t1", "t2", "t3")] == [5, 0, 5]


def test_older_records_that_were_accepted_are_bounded_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("llamon_agent.runs.registry._REMEMBERED_SEQS", 2)
    tasks = LiveTasks(live_of)
    for name in ("t1", "t2", "t3"):
        tasks.accept_older(task_of(name, seq=5))
    assert [tasks.last_seq(name) for name in ("t1", "t2", "t3")] == [0, 5, 5]


def test_an_older_record_counts_once_the_store_has_lost_the_newer() -> None:
    tasks = LiveTasks(live_of)
    tasks.drop(tasks.load(task_of(seq=5)))
    assert (tasks.last_seq("t1"), tasks.last_seq("t2")) == (5, 0)
    tasks.accept_older(task_of(seq=3))
    assert tasks.is_current(task_of(seq=3))


def test_a_task_that_was_never_recorded_is_not_remembered() -> None:
    tasks = LiveTasks(live_of)
    live = tasks.load(task_of(seq=5))
    live.saved_seq = 0
    tasks.drop(live)
    assert (tasks.get("t1"), tasks.last_seq("t1")) == (None, 0)


def test_tasks_may_be_dropped_while_they_are_iterated() -> None:
    tasks = LiveTasks(live_of)
    for name in ("t1", "t2"):
        tasks.load(task_of(name))
    for live in tasks:
        tasks.drop(live)
    assert len(tasks) == 0
