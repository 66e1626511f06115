"""Folders of agents come after all that is installed, the newest of them first."""

import sys
from pathlib import Path

import pytest

from llamon_agent.adapters.imports.path import importable, in_project, is_of_agents, project_folders


@pytest.fixture(autouse=True)
def _path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", ["installed"])


def test_the_newest_folders_come_after_what_is_installed_and_before_the_others(tmp_path: Path) -> None:
    one, two, three = (tmp_path / name for name in ("one", "two", "three"))
    with importable(one):
        pass
    with importable(two, three, Path("installed")):
        pass
    assert sys.path == ["installed", *map(str, (two, three, one))]
    assert is_of_agents(Path("installed"))
    assert not is_of_agents(tmp_path)


def test_new_folders_leave_the_path_if_the_agents_cannot_be_opened(tmp_path: Path) -> None:
    def fail() -> None:
        with importable(tmp_path, Path("installed")):
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert sys.path == ["installed"]
    assert is_of_agents(tmp_path)  # some of its modules may be loaded


def test_a_projects_folders_are_known_while_its_agents_are_opened(tmp_path: Path) -> None:
    with in_project((tmp_path,)):
        assert project_folders() == (tmp_path,)
    assert project_folders() == ()
    assert sys.path == ["installed", str(tmp_path)]
