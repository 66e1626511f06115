from pathlib import Path
from typing import Any

import pytest
from tests.unit.config.loading import Load

from llamon_agent.config.edge import EdgeConfig
from llamon_agent.config.load import load_config


@pytest.fixture
def load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Load:
    """Load a file of this text, named edge.yaml, with these flags."""
    monkeypatch.chdir(tmp_path)

    def loaded(text: str = "", **flags: Any) -> EdgeConfig:
        Path("edge.yaml").write_text(text, encoding="utf-8")
        return load_config(Path("edge.yaml"), flags)

    return loaded
