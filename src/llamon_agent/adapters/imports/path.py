"""Where the modules of agents are looked for: after all that is installed, so that no file of theirs shadows any of it.

A project's `queue.py` or `openai.py` would otherwise be what every library gets that imports such a name. This is also
how LangGraph's development server and an editable installation order the path.
"""

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

_appended: set[str] = set()
"""What was put onto the path here."""

_of_agents: set[str] = set()
"""Every folder that an agent's modules were imported from, also where the path had it already. It stays one when it is
taken off the path: some of its modules may be loaded."""

_project: ContextVar[tuple[Path, ...]] = ContextVar("_project", default=())
"""The folders of the project whose agents are being opened."""


@contextmanager
def importable(*folders: Path) -> Iterator[None]:
    """Make the modules in these folders importable, for good unless the context raises.

    They are found after what is installed, and before what other agents have brought.
    """
    places = [str(folder) for folder in folders]
    new = [place for place in dict.fromkeys(places) if place not in sys.path]
    first = next((index for index, place in enumerate(sys.path) if place in _appended), len(sys.path))
    sys.path[first:first] = new
    _appended.update(new)
    _of_agents.update(places)
    importlib.invalidate_caches()
    try:
        yield
    except BaseException:
        sys.path[:] = [place for place in sys.path if place not in new]
        _appended.difference_update(new)
        raise


@contextmanager
def in_project(folders: tuple[Path, ...]) -> Iterator[None]:
    """As `importable`; and what is opened in the context is of the project that these folders belong to."""
    token = _project.set(folders)
    try:
        with importable(*folders):
            yield
    finally:
        _project.reset(token)


def project_folders() -> tuple[Path, ...]:
    """The folders of the project whose agents are being opened, if they are of one."""
    return _project.get()


def is_of_agents(folder: Path) -> bool:
    """Whether modules in this folder are some agent's, and not installed."""
    return str(folder) in _of_agents
