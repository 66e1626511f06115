"""Named statements and numbered migrations are read from files."""

import pytest

from llamon_agent.store.statements import load_migrations, load_statements, read_statements


def test_a_file_is_taken_apart_at_its_names() -> None:
    text = "-- what this file is\n\n-- name: one\nselect 1;\n\n-- name: two\n-- why\nselect\n  2;\n"
    assert read_statements(text) == {"one": "select 1", "two": "-- why\nselect\n  2"}


@pytest.mark.parametrize("text", ["", "select 1;\n", "--name: one\nselect 1\n"])
def test_text_without_a_name_holds_no_statement(text: str) -> None:
    assert read_statements(text) == {}


def test_the_shipped_statements_are_found() -> None:
    assert set(load_statements("sqlite/task.sql")) == {
        *("reached", "create", "save", "save_begun", "save_settled", "get", "paused_in", "total"),
        *("list_all", "list_state", "list_context", "count_all", "count_state", "count_context"),
    }
    assert set(load_statements("sqlite/push.sql")) == {
        *("put_push", "list_push", "delete_push", "mark_delivered", "undelivered")
    }


def test_migrations_come_in_the_order_of_their_numbers() -> None:
    first, second, *_ = load_migrations("sqlite/migrations")
    assert "create table task" in first
    assert "create table push" in second
