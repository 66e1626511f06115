"""The import path of agents' modules: after all installed modules, so that no file of an agent hides one of these.

Otherwise every library that imports `queue` or `openai` would get a project's file of that name. LangGraph's
development server and editable installations order the path in the same way.
"""

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

_appended: set[str] = set()
"""The folders that were added to the path here."""

_of_agents: set[str] = set()
"""Every folder of agents' modules, also if the path had it already. It stays one when it leaves the path, as some of
its modules may be loaded."""

_project: ContextVar[tuple[Path, ...]] = ContextVar("_project", default=())
"""The folders of the project whose agents are being opened."""


@contextmanager
def importable(*folders: Path) -> Iterator[None]:
    """Make the modules in these folders importable, for good unless the block raises.

    They are found after installed modules, and before those of other agents.
    """
    paths = [str(folder) for folder in folders]
    new = [path for path in dict.fromkeys(paths) if path not in sys.path]
    first = next((index for index, path in enumerate(sys.path) if path in _appended), len(sys.path))
    sys.path[first:first] = new
    _appended.update(new)
    _of_agents.update(paths)
    importlib.invalidate_caches()
    try:
        yield
    except BaseException:
        sys.path[:] = [path for path in sys.path if path not in new]
        _appended.difference_update(new)
        raise


@contextmanager
def in_project(folders: tuple[Path, ...]) -> Iterator[None]:
    """As `importable`; and agents that are opened in the block belong to the project with these folders."""
    token = _project.set(folders)
    try:
        with importable(*folders):
            yield
    finally:
        _project.reset(token)


def project_folders() -> tuple[Path, ...]:
    """The folders of the project whose agents are being opened; none outside of a project."""
    return _project.get()


def is_of_agents(folder: Path) -> bool:
    """Whether the modules in this folder belong to an agent, and are not installed."""
    return str(folder) in _of_agents
