import pytest
from tests.unit.runs.living import live_of, task_of

from llamon_agent.domain.task import TaskState
from llamon_agent.runs.registry import LiveTasks


def test_a_task_is_brought_to_life_once() -> None:
    tasks = LiveTasks(live_of)
    live = tasks.alive(task_of())
    assert tasks.alive(task_of(seq=9)) is live
    assert (tasks.get("t1"), list(tasks), len(tasks)) == (live, [live], 1)


def test_a_task_that_has_ended_is_not_kept() -> None:
    tasks = LiveTasks(live_of)
    tasks.alive(task_of(state=TaskState.COMPLETED))
    assert (tasks.get("t1"), len(tasks)) == (None, 0)


@pytest.mark.parametrize(("seq", "is_current"), [(4, False), (5, True), (6, True)])
def test_a_record_that_is_older_than_what_was_known_is_not_current(seq: int, is_current: bool) -> None:
    tasks = LiveTasks(live_of)
    live = tasks.alive(task_of(seq=5))
    assert not tasks.is_current(task_of(seq=9))
    tasks.forget(live)
    assert tasks.is_current(task_of(seq=seq)) is is_current


def test_only_so_many_that_left_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("llamon_agent.runs.registry._REMEMBERED_SEQS", 2)
    tasks = LiveTasks(live_of)
    for name in ("t1", "t2", "t3"):
        tasks.forget(tasks.alive(task_of(name, seq=5)))
    assert [tasks.is_current(task_of(name, seq=1)) for name in ("t1", "t2", "t3")] == [True, False, False]


def test_the_one_that_left_longest_ago_is_the_first_to_be_no_longer_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("llamon_agent.runs.registry._REMEMBERED_SEQS", 2)
    tasks = LiveTasks(live_of)
    for name in ("t1", "t2", "t1", "t3"):
        tasks.forget(tasks.alive(task_of(name, seq=5)))
    assert [tasks.last_seq(name) for name in ("t1", "t2", "t3")] == [5, 0, 5]


def test_stores_that_have_gone_back_are_bounded_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("llamon_agent.runs.registry._REMEMBERED_SEQS", 2)
    tasks = LiveTasks(live_of)
    for name in ("t1", "t2", "t3"):
        tasks.gone_back(task_of(name, seq=5))
    assert [tasks.last_seq(name) for name in ("t1", "t2", "t3")] == [0, 5, 5]


def test_a_store_that_has_gone_back_is_believed_from_then_on() -> None:
    tasks = LiveTasks(live_of)
    tasks.forget(tasks.alive(task_of(seq=5)))
    assert (tasks.last_seq("t1"), tasks.last_seq("t2")) == (5, 0)
    tasks.gone_back(task_of(seq=3))
    assert tasks.is_current(task_of(seq=3))


def test_a_task_that_was_never_recorded_is_not_remembered() -> None:
    tasks = LiveTasks(live_of)
    live = tasks.alive(task_of(seq=5))
    live.saved_seq = 0
    tasks.forget(live)
    assert (tasks.get("t1"), tasks._last_seqs) == (None, {})


def test_forgetting_may_happen_while_they_are_gone_through() -> None:
    tasks = LiveTasks(live_of)
    for name in ("t1", "t2"):
        tasks.alive(task_of(name))
    for live in tasks:
        tasks.forget(live)
    assert len(tasks) == 0
