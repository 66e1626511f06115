"""A data folder has one owner, and a dead one does not count."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from llamon_agent.domain.errors import ConfigError
from llamon_agent.store.folder import own_folder

SOURCE = Path(__file__).parents[3] / "src"

HOLDS_THE_FOLDER = """
import sys
from llamon_agent.store.folder import own_folder

with own_folder(sys.argv[1]):
    print("held", flush=True)
    sys.stdin.read()
"""


def refused(folder: Path) -> str:
    with pytest.raises(ConfigError) as raised, own_folder(folder):
        pass
    assert str(folder) in raised.value.public
    return raised.value.public


def test_a_missing_folder_is_made_and_is_private(tmp_path: Path) -> None:
    with own_folder(tmp_path / "a" / "b") as folder:
        assert folder == tmp_path / "a" / "b"
        assert folder.is_dir()
        assert folder.stat().st_mode & 0o077 == 0


def test_a_folder_in_use_is_refused_and_free_afterwards(tmp_path: Path) -> None:
    with own_folder(tmp_path):
        assert "in use by another process" in refused(tmp_path)
    with own_folder(tmp_path):
        pass


def test_an_error_inside_frees_the_folder(tmp_path: Path) -> None:
    with pytest.raises(KeyError), own_folder(tmp_path):
        raise KeyError
    with own_folder(tmp_path):
        pass


def test_a_killed_owner_leaves_the_folder_free(tmp_path: Path) -> None:
    command = [sys.executable, "-c", HOLDS_THE_FOLDER, str(tmp_path)]
    environment = os.environ | {"PYTHONPATH": str(SOURCE)}
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment) as owner:
        assert owner.stdout is not None
        assert owner.stdout.readline().strip() == b"held"
        assert "in use by another process" in refused(tmp_path)
        owner.kill()
        owner.wait(timeout=5)
        with own_folder(tmp_path):
            pass


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    assert "cannot be written" in refused(tmp_path / "file" / "data")
