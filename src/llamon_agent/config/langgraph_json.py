"""A project of the LangGraph command line, served by its `langgraph.json`: each graph becomes an agent.

`read_project` only reads: it returns what is in the file, or all problems. `Project.importable_project` makes the
project's modules importable and sets its environment, as the LangGraph server does before it imports a graph, and
undoes that when the graphs cannot be opened. Paths are relative to the file's folder.

Source: the configuration file reference of langgraph-cli 0.4.
"""

import codecs
import logging
import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

import msgspec
from dotenv import dotenv_values

from llamon_agent.config.values import TAKEN_NAMES
from llamon_agent.domain.errors import ConfigError

logger = logging.getLogger(__name__)

_BUILDING = frozenset(
    {
        "$schema",
        "_INTERNAL_docker_tag",
        "api_version",
        "base_image",
        "dockerfile_lines",
        "image_distro",
        "keep_pkg_tools",
        "node_version",
        "pip_config_file",
        "pip_installer",
        "python_version",
        "source",
    }
)
"""Keys about building a container, which do not concern us."""

_OURS = "LLAMON_"
"""The prefix of our own variables. They are read before a project sets its own, so these would take effect at a reload.
"""

_ODD = "{!r} cannot be a variable: its name is empty or holds '=', or a NUL is in it or its value"

_USED = frozenset({"auth", "dependencies", "env", "graphs", "store"})
_SCRIPTS = frozenset({".cjs", ".cts", ".js", ".mjs", ".mts", ".ts"})
_TARGET = re.compile(r"[^:]+:[A-Za-z_][\w.]*")
_PACKAGE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_PROJECT_FILES = ("pyproject.toml", "setup.py")


_set_here: dict[str, str] = {}
"""The variables that projects have set in this process. A reload may change these."""


Importable = Callable[[tuple[Path, ...]], AbstractContextManager[None]]


def is_project(target: str) -> bool:
    """Whether a target is a `langgraph.json`, under any name."""
    return target.endswith(".json")


class Project(msgspec.Struct, frozen=True, kw_only=True):
    """The part of a `langgraph.json` that an edge can use.

    Shape: agents are as in the `agents` section of the configuration; env is a file or the variables themselves;
           folders must be importable; packages must be installed, as pip requirements; absent are the local
           dependencies that are not there, unused the keys that only
           LangGraph's own server uses, foreign the graphs in another language; auth is the target of its
           authentication.
    """

    file: Path
    agents: dict[str, dict[str, Any]]
    env: Path | dict[str, str]
    folders: tuple[Path, ...] = ()
    packages: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()
    unused: tuple[str, ...] = ()
    foreign: tuple[str, ...] = ()
    auth: str | None = None

    @contextmanager
    def importable_project(self, importable: Importable) -> Iterator[None]:
        """Make the project's modules importable and set its environment; undone only if the context raises.

        Variables that are set already keep their values, except those that a project has set.

        Shape:  importable is a context that makes the modules of these folders importable, undone only if it raises.
        Raises: ConfigError: the file of the environment cannot be used; nothing has changed then.
        """
        variables = self._variables()
        self._log(variables)
        wanted = {name: value for name, value in variables.items() if not name.startswith(_OURS) and _may_set(name)}
        before = {name: os.environ.get(name) for name in wanted}
        os.environ.update(wanted)
        try:
            with importable(self.folders):
                yield
        except BaseException:
            for name, value in before.items():
                _restore(name, value)
            raise
        _set_here.update(wanted)

    def _variables(self) -> dict[str, str]:
        if isinstance(self.env, dict):
            return self.env
        if not self.env.exists():
            logger.warning("%s: env names %s, which is not there; no variable is set from it", self.file, self.env)
            return {}
        variables = _read_variables(self.file, self.env)
        if odd := [name for name, value in variables.items() if not _is_variable(name, value)]:
            raise ConfigError(f"{self.file}: env names {self.env}, in which {_ODD.format(odd[0])}")
        return variables

    def _log(self, variables: Mapping[str, str]) -> None:
        """Log what a person must know about the project."""
        if ours := [name for name in variables if name.startswith(_OURS)]:
            logger.warning("%s: env cannot configure this edge; ignored: %s", self.file, ", ".join(ours))
        if self.unused:
            logger.warning("%s: not used by this edge: %s", self.file, ", ".join(self.unused))
        if self.foreign:
            logger.warning("%s: graphs that are not Python are not served: %s", self.file, ", ".join(self.foreign))
        if self.absent:
            logger.warning("%s: dependencies that are not there: %s", self.file, ", ".join(self.absent))
        if missing := [package for package in self.packages if not _is_installed(package)]:
            logger.warning("%s: dependencies that are not installed here: %s", self.file, ", ".join(missing))
        elif self.packages:
            logger.info("%s: dependencies that are installed already: %s", self.file, ", ".join(self.packages))


def read_project(file: Path) -> Project:
    """Read a `langgraph.json`. Raises: ConfigError, with every problem, one a line."""
    values = _read_object(file)
    folder = file.resolve().parent
    problems: list[str] = []
    agents, foreign = _agents(values.get("graphs"), folder, problems)
    named, packages = _dependencies(values.get("dependencies", []), problems)
    local = [_folder_of(folder / each) for each in named]
    env = _env(values.get("env", {}), folder, problems)
    auth = _auth(values.get("auth"), folder, problems)
    store = _store(values.get("store") or {}, folder, problems)
    if problems:
        raise ConfigError("\n".join(f"{file}: {problem}" for problem in problems))
    return Project(
        file=file,
        agents={key: {**agent, **store} for key, agent in agents.items()},
        env=env,
        folders=_folders(folder, agents, [each for each in local if each.is_dir()]),
        packages=packages,
        absent=tuple(name for name, each in zip(named, local, strict=True) if not each.exists()),
        unused=tuple(key for key, value in values.items() if key not in _USED | _BUILDING and value),
        foreign=foreign,
        auth=auth,
    )


def _folders(folder: Path, agents: Mapping[str, Mapping[str, str]], local: list[Path]) -> tuple[Path, ...]:
    """The folders in which modules are found: the file's own last, but first if it names a graph by its module."""
    by_module = any(not agent["target"].partition(":")[0].endswith(".py") for agent in agents.values())
    own = [folder] if by_module else []
    return tuple(dict.fromkeys([*own, *(place for each in local for place in _importable(each)), folder]))


def _read_object(file: Path) -> Mapping[str, Any]:
    try:
        return msgspec.json.decode(file.read_bytes().removeprefix(codecs.BOM_UTF8), type=dict[str, Any])
    except FileNotFoundError as exc:
        raise ConfigError(f"{file}: there is no such file") from exc
    except OSError as exc:
        raise ConfigError(f"{file}: the file cannot be read; look at its type and permissions") from exc
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as exc:
        raise ConfigError(f"{file}: this is not a JSON object, which a langgraph.json is") from exc


def _agents(graphs: Any, folder: Path, problems: list[str]) -> tuple[dict[str, dict[str, str]], tuple[str, ...]]:
    """The graphs as agents, and the names of the graphs that are not Python."""
    if not isinstance(graphs, dict) or not graphs:
        problems.append('graphs must name at least one graph: {"agent": "./agent.py:graph"}')
        return {}, ()
    agents: dict[str, dict[str, str]] = {}
    foreign: list[str] = []
    for name, graph in graphs.items():
        target, description = (
            (graph.get("path"), graph.get("description")) if isinstance(graph, dict) else (graph, None)
        )
        if not isinstance(target, str) or not _TARGET.fullmatch(target):
            problems.append(
                f"graphs.{name} must be ./file.py:name or package.module:name, or an object with such a path"
            )
        elif Path(target.partition(":")[0]).suffix in _SCRIPTS:
            foreign.append(name)
        elif (key := agent_key(name)) in agents or not key:
            problems.append(f"graphs.{name} needs a name of its own of letters, digits, - and _; {key!r} is not one")
        else:
            agents[key] = _agent(name, key, _absolute(target, folder), description)
    if not agents and not problems:
        problems.append("graphs names no graph in Python, which is what this edge serves")
    return agents, tuple(foreign)


def _auth(auth: Any, folder: Path, problems: list[str]) -> str | None:
    """The target of the project's authentication; its other keys are for LangGraph's own server and its Studio."""
    path = auth.get("path") if isinstance(auth, dict) else auth
    if path is None:
        return None
    if isinstance(auth, dict) and isinstance(path, str) and _TARGET.fullmatch(path):
        return _absolute(path, folder)
    problems.append("auth must be an object whose path is ./file.py:name or package.module:name")
    return None


def _store(store: Any, folder: Path, problems: list[str]) -> dict[str, Any]:
    """The options of the graphs' store, as in an agent's configuration. Other keys of it are for LangGraph's server."""
    index, ttl = (store.get("index"), store.get("ttl")) if isinstance(store, dict) else (store, store)
    if not all(part is None or isinstance(part, dict) for part in (index, ttl)):
        problems.append("store must be an object, in which index and ttl are objects")
        return {}
    options: dict[str, Any] = {}
    if index:
        embed = index.get("embed")
        options["index"] = {
            **{key: index[key] for key in ("dims", "fields") if index.get(key) is not None},
            "embed": _absolute(embed, folder) if isinstance(embed, str) else embed,
        }
    if ttl and ttl.get("default_ttl") is not None:
        wanted = ("default_ttl", "refresh_on_read", "sweep_interval_minutes")
        options["ttl"] = {key: ttl[key] for key in wanted if ttl.get(key) is not None}
    return {"langgraph": {"store": options}} if options else {}


def _agent(name: str, key: str, target: str, description: object) -> dict[str, str]:
    agent = {"adapter": "langgraph", "target": target}
    if name != key:
        agent["name"] = name
    if isinstance(description, str) and description:
        agent["description"] = description
    return agent


def agent_key(name: str) -> str:
    """A graph's name in a form that a URL can hold."""
    key = re.sub(r"[^a-z0-9_-]+", "-", name.lower()).strip("-_")[:63].rstrip("-_")
    return f"{key}-agent" if key in TAKEN_NAMES else key


def _absolute(target: str, folder: Path) -> str:
    """A target with the absolute path of its file, if it names one.

    The path is relative to the working directory if only that has such a file, as LangGraph's development server reads
    it: a project is often served from its root, with a langgraph.json in a folder of it.
    """
    place, _, attribute = target.partition(":")
    if not place.endswith(".py"):
        return target
    file = (folder / place).resolve()
    here = Path(place).resolve()
    return f"{here if here.is_file() and not file.is_file() else file}:{attribute}"


def _dependencies(listed: Any, problems: list[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The local ones and the packages among the dependencies. Source: an entry that starts with a dot is local."""
    if not isinstance(listed, list) or not all(isinstance(one, str) and one for one in listed):
        problems.append("dependencies must be a list of folders and packages")
        return (), ()
    return tuple(one for one in listed if one.startswith(".")), tuple(one for one in listed if not one.startswith("."))


def _folder_of(place: Path) -> Path:
    """A project's own file stands for its folder."""
    return place.parent if place.name in _PROJECT_FILES and place.is_file() else place


def _importable(place: Path) -> Iterator[Path]:
    """The folders in which the modules of a local dependency are found, as if it were installed."""
    place = place.resolve()
    source = place / "src"
    if (place / "__init__.py").is_file() and not any((place / name).is_file() for name in _PROJECT_FILES):
        yield place.parent
        return
    yield place
    if source.is_dir() and not (source / "__init__.py").is_file():
        yield source


def _env(env: Any, folder: Path, problems: list[str]) -> Path | dict[str, str]:
    if isinstance(env, str):
        return folder / env if env else {}
    if isinstance(env, dict):
        variables = {
            name: value if isinstance(value, str) else msgspec.json.encode(value).decode()
            for name, value in env.items()
        }
        problems.extend(
            f"env: {_ODD.format(name)}" for name, value in variables.items() if not _is_variable(name, value)
        )
        return variables
    problems.append("env must be a file's name or an object of variables")
    return {}


def _read_variables(file: Path, env: Path) -> dict[str, str]:
    """The variables in a file. Raises: ConfigError, which names both files."""
    try:
        with env.open(encoding="utf-8-sig") as stream:
            found = dotenv_values(stream=stream)
    except UnicodeDecodeError as exc:
        raise ConfigError(f"{file}: env names {env}, which is not UTF-8: save it as that") from exc
    except OSError as exc:
        raise ConfigError(f"{file}: env names {env}, which cannot be read; look at its type and permissions") from exc
    return {name: value for name, value in found.items() if value is not None}


def _is_variable(name: str, value: str) -> bool:
    """Whether this can be an environment variable. Source: POSIX.1-2024, Base Definitions §8.1."""
    return bool(name) and "=" not in name and "\0" not in name + value


def _may_set(name: str) -> bool:
    """Whether a variable is unset, or has the value that a project has set."""
    return name not in os.environ or os.environ[name] == _set_here.get(name)


def _restore(name: str, value: str | None) -> None:
    if value is None:
        os.environ.pop(name, None)
    else:
        os.environ[name] = value


def _is_installed(package: str) -> bool:
    """Whether a requirement's package is installed, in any version. A package by URL counts as installed."""
    found = _PACKAGE.match(package)
    if found is None or "://" in package:
        return True
    try:
        distribution(found[0])
    except PackageNotFoundError:
        return False
    return True
