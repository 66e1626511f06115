"""Foreign projects: the langgraph.json files below a folder of checkouts, and an environment for each.

Nothing of them is kept here. An environment has the project's dependencies, as LangGraph's own command installs them,
and our wheel; where their pins and ours have no common solution, ours win, and the table says so.
"""

import json
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.conformance.environments import MissingPython, interpreter
from tests.e2e.conftest import ROOT

INSTALL_S = 600
_UV = str(Path(sys.executable).parent / "uv")
_SKIPPED = {"node_modules", ".venv", "site-packages", ".git"}


@dataclass(frozen=True)
class Project:
    """Shape: name is the path below the folder of checkouts, root the checkout's folder; commit may be empty."""

    name: str
    root: Path
    file: Path
    commit: str

    @property
    def key(self) -> str:
        """A name for files."""
        return self.name.replace("/", "+")

    @property
    def graphs(self) -> list[str]:
        return list(json.loads(self.file.read_text())["graphs"])


@dataclass(frozen=True)
class Installed:
    """Shape: problem is empty if all went well; python is None if nothing can be served."""

    python: Path | None
    problem: str = ""


def projects(folder: Path) -> Iterator[Project]:
    """Every langgraph.json below the folder, in the order of their paths."""
    for file in sorted(folder.rglob("langgraph.json")):
        if _SKIPPED.isdisjoint(file.parts):
            name = str(file.parent.relative_to(folder))
            root = folder / name.split("/")[0]
            yield Project(name, root, file, _commit(root))


def _commit(checkout: Path) -> str:
    """Of a checkout's own git, or of a file `.commit` where it has none."""
    if (checkout / ".commit").exists():
        return (checkout / ".commit").read_text().strip()
    if not (checkout / ".git").exists():
        return ""
    done = subprocess.run(("git", "-C", checkout, "rev-parse", "HEAD"), capture_output=True, text=True, check=False)
    return done.stdout.strip()


def templates(folder: Path) -> Mapping[str, Mapping[str, Any]]:
    """What graphs take that need more than a text, by project and graph. Shape: `inputs.json`, which may be absent."""
    file = folder / "inputs.json"
    return json.loads(file.read_text()) if file.exists() else {}


def install(project: Project, folder: Path, wheel: Path) -> Installed:
    """The project's environment, made in this folder unless it is there."""
    python = folder / "bin" / "python"
    if (made := folder / "made.txt").exists():
        problem = uv_install(python, "--no-deps", "--reinstall-package", "llamon-agent", str(wheel))
        return Installed(python, problem or made.read_text())
    try:
        problem = _ran(_UV, "venv", "--quiet", "--clear", "--python", interpreter(_least_python(project)), str(folder))
    except MissingPython as exc:
        problem = str(exc)
    if problem:
        return Installed(None, problem)
    arguments = [str(wheel), *dependencies(project)]
    problem = uv_install(python, *arguments)
    if "build" in problem:  # a project that is no package is run in place, with its requirements
        arguments = [str(wheel), *dependencies(project, built=False)]
        problem = uv_install(python, *arguments)
    if problem:
        overrides = folder / "overrides.txt"
        overrides.write_text("\n".join(_our_pins()))
        if uv_install(python, *arguments, "--override", str(overrides)):
            return Installed(None, problem)
        problem = f"pins overridden: {problem}"
    made.write_text(problem)
    return Installed(python, problem)


def our_wheel(work: Path) -> Path:
    """Our own, made anew."""
    pip = (sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation")
    shutil.rmtree(work / "wheel", ignore_errors=True)
    subprocess.run((*pip, "--wheel-dir", work / "wheel", ROOT), check=True)
    return next((work / "wheel").glob("*.whl"))


def _least_python(project: Project) -> tuple[int, int]:
    declared = re.search(r'python *= *"[^"]*?3\.(\d+)', _pyproject(project.file.parent))
    return 3, max(11, int(declared[1]) if declared else 0)


def _pyproject(folder: Path) -> str:
    file = folder / "pyproject.toml"
    return file.read_text() if file.exists() else ""


def dependencies(project: Project, *, built: bool = True) -> list[str]:
    """The arguments of an install of a langgraph.json's dependencies. Shape: built: packages are, in place."""
    folder, arguments = project.file.parent, list[str]()
    for each in json.loads(project.file.read_text()).get("dependencies", ()):
        local = each.startswith(".")
        arguments += _of_place((folder / each).resolve(), project.root, built=built) if local else [each]
    return arguments


def _of_place(place: Path, root: Path, *, built: bool) -> list[str]:
    """What a file lists, or a folder declares; else what the folders above it declare, up to the checkout's."""
    if place.is_file() and place.suffix == ".txt":
        return ["--requirement", str(place)]
    if built and ((place / "pyproject.toml").exists() or (place / "setup.py").exists()):
        return ["--editable", str(place)]
    for name in ("requirements.txt", "pyproject.toml"):
        if (place / name).exists():
            return ["--requirement", str(place / name)]
    return _of_place(place.parent, root, built=built) if place != root and place.is_relative_to(root) else []


def _our_pins() -> list[str]:
    """What we demand ourselves, as overrides."""
    demanded: list[str] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    return demanded


def uv_install(python: Path, *arguments: str) -> str:
    """Install packages. Shape: why that failed, or an empty text."""
    return _ran(_UV, "pip", "install", "--quiet", "--python", str(python), *arguments)


def _ran(*command: str) -> str:
    """What a command says that fails: its first line that tells a cause."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=INSTALL_S, check=False)
    except subprocess.TimeoutExpired:
        return f"not installed within {INSTALL_S} s"
    lines = [line.strip() for line in done.stderr.splitlines() if line.strip()]
    told = [line for line in lines if "ecause" in line or "cause:" in line] or lines
    return "" if done.returncode == 0 else " ".join(told[:2])[:400] or f"exit code {done.returncode}"


def version_of(python: Path, package: str) -> str:
    command = (_UV, "pip", "show", "--python", str(python), package)
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    found = re.search(r"^Version: (.+)$", done.stdout, re.MULTILINE)
    return found[1] if found else ""
