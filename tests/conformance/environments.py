"""The environments that the kits run in: one each, made of locked versions, kept between runs."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]

_FOLDER = ROOT / ".venv" / "kits"
_NEWER = ("python3.12", "python3.13", "python3.14")


class MissingPython(RuntimeError):
    """No Python on this machine is new enough for a kit."""

    def __init__(self, least: tuple[int, int]) -> None:
        version = ".".join(map(str, least))
        super().__init__(
            f"NO CONFORMANCE RUN: the kit needs Python {version} or newer, and this machine has none in PATH or in "
            "pyenv. Install one or name it in KIT_PYTHON; KIT_OPTIONAL=1 goes on without."
        )


def python_of(name: str, *, least: tuple[int, int]) -> Path:
    """The interpreter of a kit's environment, made of locks/NAME.txt where there is none of that lock yet.

    Raises: MissingPython.
    """
    lock, folder = ROOT / "locks" / f"{name}.txt", _FOLDER / name
    python, made_of = folder / "bin" / "python", folder / "lock.txt"
    if not made_of.exists() or made_of.read_bytes() != lock.read_bytes():
        shutil.rmtree(folder, ignore_errors=True)
        subprocess.run((interpreter(least), "-m", "venv", "--without-pip", folder), check=True)
        pip = (sys.executable, "-m", "pip", "--python", folder, "--disable-pip-version-check")
        subprocess.run((*pip, "install", "-qq", "--no-compile", "--require-hashes", "-r", lock), check=True)
        shutil.copy(lock, made_of)
    return python


def interpreter(least: tuple[int, int]) -> str:
    for candidate in _candidates():
        if _is_at_least(candidate, least):
            return candidate
    raise MissingPython(least)


def _candidates() -> Iterator[str]:
    if named := os.environ.get("KIT_PYTHON"):
        yield named
    yield sys.executable
    yield from filter(None, map(shutil.which, _NEWER))
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    yield from map(str, sorted(pyenv.glob("versions/3.*/bin/python")))


def _is_at_least(python: str, least: tuple[int, int]) -> bool:
    """A name in PATH may be only a shim for a version that is not switched on, so it is asked."""
    check = f"import sys; sys.exit(sys.version_info < {least})"
    return subprocess.run([python, "-c", check], capture_output=True, check=False).returncode == 0
