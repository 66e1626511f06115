import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.contract.push_store import a_full_push
from tests.contract.task_store import a_task, a_turn

from llamon_agent.domain.errors import BackendError
from llamon_agent.domain.task import TaskQuery, TaskState
from llamon_agent.store.postgres.rows import kept_text, names, original_text, push_in, push_row, query_row, saved_row

TEXTS = st.text(st.sampled_from("\0\\0a")) | st.text()


@given(TEXTS)
def test_any_text_comes_back_as_it_went_in(text: str) -> None:
    assert "\0" not in kept_text(text)
    assert original_text(kept_text(text)) == text


@given(TEXTS, TEXTS)
def test_no_two_texts_become_one(one: str, other: str) -> None:
    assert (kept_text(one) == kept_text(other)) == (one == other)


def test_an_ordinary_text_is_kept_as_it_is() -> None:
    assert names(owner="ann", agent="한국어") == {"owner": "ann", "agent": "한국어"}


def test_a_settled_task_has_no_turn() -> None:
    assert saved_row(a_task(state=TaskState.INPUT_REQUIRED), 1, a_turn(), None)["turn"] is None


def test_a_webhook_that_cannot_be_read_is_a_backend_error(caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(BackendError):
        push_in(b"nonsense", 1)
    assert "cannot be read" in caplog.text


def test_the_delivered_number_of_a_webhook_is_read_from_its_column() -> None:
    assert push_in(push_row(a_full_push())["body"], 7).told_seq == 7


def test_a_filter_that_is_off_passes_everything() -> None:
    row = query_row(TaskQuery(owner="ann", agent="demo", limit=3))
    assert row["first_state"] <= min(TaskState)
    assert row["last_state"] > max(TaskState)
    assert (row["after_id"], row["rows"]) == ("", 4)
    assert row["changed_since_ms"] < 0 < row["after_ms"]
