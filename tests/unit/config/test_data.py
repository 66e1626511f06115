"""Where tasks and threads are kept, as it is written down."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from tests.unit.config.loading import ECHO, URL

from llamon_agent.config.edge import EdgeConfig
from llamon_agent.config.load import load_config, write_schema
from llamon_agent.domain.errors import ConfigError
from llamon_agent.domain.task import Retention

Load = Callable[[str], EdgeConfig]


@pytest.fixture
def load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Load:
    monkeypatch.chdir(tmp_path)

    def loaded(text: str) -> EdgeConfig:
        Path("edge.yaml").write_text(ECHO + text, encoding="utf-8")
        return load_config(Path("edge.yaml"), {})

    return loaded


def refused(load: Load, text: str) -> str:
    with pytest.raises(ConfigError) as raised:
        load(text)
    return raised.value.public


def test_without_a_database_the_folder_keeps_everything(load: Load) -> None:
    config = load("agents: {a: {}}")
    assert config.data.postgres is None
    assert [spec.langgraph.checkpointer for spec in config.agent_specs()] == ["sqlite"]


def test_a_database_keeps_the_threads_too(load: Load) -> None:
    config = load(
        f"data: {{postgres: {{url: '{URL}'}}}}\nagents: {{a: {{}}, b: {{langgraph: {{checkpointer: memory}}}}}}"
    )
    postgres = config.data.postgres
    assert postgres is not None
    assert (postgres.pool_min, postgres.pool_max, postgres.prepare, postgres.pipeline) == (2, 10, True, True)
    assert postgres.url.get_secret_value() == URL
    assert [spec.langgraph.checkpointer for spec in config.agent_specs()] == ["postgres", "memory"]


def test_ephemeral_wins_over_the_database(load: Load) -> None:
    config = load(f"data: {{ephemeral: true, postgres: {{url: '{URL}'}}}}\nagents: {{a: {{}}}}")
    assert [spec.langgraph.checkpointer for spec in config.agent_specs()] == ["memory"]


def test_the_address_is_a_secret(load: Load) -> None:
    assert "secret" not in repr(load(f"data: {{postgres: {{url: '{URL}'}}}}"))


def test_the_environment_can_give_the_address(load: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LLAMON_DATA__POSTGRES__URL", URL)
    postgres = load("").data.postgres
    assert postgres is not None
    assert postgres.url.get_secret_value() == URL


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("data: {postgres: {url: 'mysql://secret@h/x'}}", "data.postgres.url must be the address of a database"),
        ("data: {postgres: {url: 'postgresql://[secret'}}", "data.postgres.url is not valid"),
        ("data: {postgres: {pool_max: 3}}", "data.postgres.url is required"),
        (f"data: {{postgres: {{url: '{URL}', pool_max: 1}}}}", "data.postgres.pool_max must be at least 2"),
        (f"data: {{postgres: {{url: '{URL}', pool_min: 11}}}}", "data.postgres has a pool_min above its pool_max"),
    ],
)
def test_a_problem_of_the_database_is_reported_without_its_secret(load: Load, text: str, told: str) -> None:
    problem = refused(load, text)
    assert told in problem
    assert "secret" not in problem


@pytest.mark.parametrize(
    ("checkpointer", "data", "told"),
    [
        ("postgres", "{}", "is postgres, but data.postgres gives no database"),
        ("sqlite", f"{{postgres: {{url: '{URL}'}}}}", "is sqlite, but data.postgres keeps tasks and threads"),
    ],
)
def test_threads_are_nowhere_else_than_tasks(load: Load, checkpointer: str, data: str, told: str) -> None:
    text = f"data: {data}\nagents: {{a: {{langgraph: {{checkpointer: {checkpointer}}}}}}}"
    assert f"agents.a.langgraph.checkpointer {told}" in refused(load, text)


def test_an_edge_that_forgets_needs_no_database(load: Load) -> None:
    text = "data: {ephemeral: true}\nagents: {a: {langgraph: {checkpointer: postgres}}}"
    kept: list[Any] = [spec.langgraph.checkpointer for spec in load(text).agent_specs()]
    assert kept == ["memory"]


def test_finished_tasks_are_kept_forever_by_default(load: Load) -> None:
    assert load("").data.retained == Retention(keys_s=86_400)


def test_the_configuration_says_how_long_things_are_kept(load: Load) -> None:
    text = "data: {retention: {tasks: 30d, paused: 2w, idempotency: 90m}}"
    assert load(text).data.retained == Retention(tasks_s=30 * 86_400, paused_s=14 * 86_400, keys_s=5_400)


def test_in_memory_nothing_is_kept_forever(load: Load) -> None:
    assert load("data: {ephemeral: true}").data.retained == Retention(tasks_s=3_600, paused_s=86_400, keys_s=86_400)
    text = "data: {ephemeral: true, retention: {tasks: 5m}}"
    assert load(text).data.retained == Retention(tasks_s=300, paused_s=86_400, keys_s=86_400)


@pytest.mark.parametrize("wrong", ["30", "0d", "-1h", "soon", "1 d", "1y", "9999999999d"])
def test_a_length_of_time_has_a_unit(load: Load, wrong: str) -> None:
    problem = refused(load, f"data: {{retention: {{tasks: '{wrong}'}}}}")
    assert "data.retention.tasks must be a number above 0 followed by a unit, such as 30d, 24h, 10m or 90s" in problem


def test_the_schema_knows_lengths_of_time() -> None:
    schema = jsonschema.Draft202012Validator(json.loads(write_schema()))
    assert schema.is_valid({"data": {"retention": {"tasks": "1.5d"}}})
    assert not schema.is_valid({"data": {"retention": {"tasks": "30"}}})
    assert not schema.is_valid({"data": {"retention": {"tasks": 30}}})
