import uuid
from pathlib import Path

import pytest

from llamon_agent import app
from llamon_agent.app import new_id, now_ms, open_edge, serve
from llamon_agent.config import A2aConfig, DataConfig, EdgeConfig
from llamon_agent.domain.errors import ConfigError


def test_ids_are_uuids_of_version_7_that_nobody_else_has() -> None:
    ids = [new_id() for _ in range(1000)]
    assert len(set(ids)) == 1000
    assert {(uuid.UUID(one).version, uuid.UUID(one).variant) for one in ids} == {(7, uuid.RFC_4122)}


def test_ids_sort_by_time() -> None:
    before_ms = now_ms()
    made_ms = uuid.UUID(new_id()).int >> 80
    assert before_ms <= made_ms <= now_ms()


def test_an_edge_that_is_off_listens_to_nobody(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def listen(*_address: object) -> None:
        raise AssertionError("it listens")

    monkeypatch.setattr(app, "listening", listen)
    serve(EdgeConfig(a2a=A2aConfig(enabled=False, adapter="echo")))
    assert "nothing listens" in caplog.text


@pytest.mark.parametrize("target", ["many", "-1", "1.5"])
async def test_an_echo_of_no_number_of_pieces_is_refused(target: str) -> None:
    config = EdgeConfig(a2a=A2aConfig(adapter="echo", target=target), data=DataConfig(ephemeral=True))
    with pytest.raises(ConfigError, match="number of pieces"):
        async with open_edge(config):
            pass


async def test_one_folder_is_one_edges(tmp_path: Path) -> None:
    config = EdgeConfig(a2a=A2aConfig(adapter="echo"), data=DataConfig(folder=tmp_path))
    async with open_edge(config):
        with pytest.raises(ConfigError, match="in use by another process"):
            async with open_edge(config):
                pass
    async with open_edge(config):
        pass
