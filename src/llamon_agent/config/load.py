"""Loading the configuration: file, environment and flags merged and checked; all problems are reported at once."""

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Set
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_settings import EnvSettingsSource, SettingsError

from llamon_agent.config.data import DataConfig
from llamon_agent.config.edge import ENV_DELIMITER, ENV_PREFIX, AgentConfig, EdgeConfig
from llamon_agent.config.file import Source, read_file
from llamon_agent.config.langgraph_json import Project, is_project, read_project
from llamon_agent.config.problems import Problem, explain, problems_in
from llamon_agent.config.signing import signing_problems
from llamon_agent.config.values import RESERVED_PATHS, is_import_path
from llamon_agent.domain.errors import ConfigError
from llamon_agent.runs.ports.run import Target

_OTHER_VARIABLES = ("token", "context_id", "session_id", "task_id")
"""Variables with our prefix that set no key: the client's token, and those that commands of the process adapter get."""

_SERVICE = re.compile(r"[A-Z0-9_]+_(SERVICE_HOST|SERVICE_PORT\w*|PORT_\d+_\w+)=.*|[A-Z0-9_]+_PORT=\w+://.*")
"""Kubernetes sets these for each service, and a service may be called llamon. Source: its page on services."""


def load_config(path: Path | None, overrides: Mapping[str, Any]) -> EdgeConfig:
    """The configuration: defaults, then the file, then `LLAMON_SECTION__KEY` variables, then the overrides.

    Shape:  path None reads no file; overrides are nested as the file is. An override of `a2a` also wins over the same
            key of the default agent, because a TARGET on the command line means that agent. A target that is a
            langgraph.json gives an agent for each graph; `agents` may add to them.
    Raises: ConfigError, naming every problem that was found, one a line.
    """
    file = read_file(path) if path else Source(name="command line", values={}, lines={})
    variables, unknown_names = _environment(), _unknown_variables()
    environment = Source(
        name="environment", values={**variables, **dict.fromkeys(unknown_names)}, lines={}, variable=_variable
    )
    flags = Source(name="command line", values=dict(overrides), lines={})
    sources = (flags, environment, file)
    project = _project_of(_merged(_filled(file.values), variables, flags.values))
    graphs = project.agents if project else {}
    in_file = _without_overridden(_filled(file.values), flags.values, graphs.keys())
    layers = ({"agents": graphs} if graphs else {}, in_file, variables, flags.values)
    unknown = [Problem((name,), _unknown_text(name)) for name in unknown_names]
    try:
        config = EdgeConfig(**_merged(*layers))
    except ValidationError as exc:
        raise ConfigError(explain([*unknown, *problems_in(exc, EdgeConfig)], sources)) from exc
    if problems := [*unknown, *_contradictions(config)]:
        raise ConfigError(explain(problems, sources))
    return config


def load_data_config(path: Path | None, overrides: Mapping[str, Any]) -> DataConfig:
    """The section `data` alone, loaded as by `load_config`: for commands that serve no agent, even if the agents'
    configuration is wrong.

    Raises: ConfigError, as `load_config` does.
    """
    file = read_file(path) if path else Source(name="command line", values={}, lines={})
    environment = Source(name="environment", values=_environment(), lines={}, variable=_variable)
    flags = Source(name="command line", values=dict(overrides), lines={})
    merged = _merged(_filled(file.values), environment.values, flags.values)
    try:
        return EdgeConfig(**{key: section for key, section in merged.items() if key == "data"}).data
    except ValidationError as exc:
        raise ConfigError(explain(problems_in(exc, EdgeConfig), (flags, environment, file))) from exc


def _environment() -> dict[str, Any]:
    """The values that the environment sets."""
    try:
        return EnvSettingsSource(EdgeConfig)()
    except SettingsError as exc:
        raise ConfigError(
            f"environment: a {ENV_PREFIX} variable that takes a list or a section is not valid JSON; "
            f"set single keys instead, such as {_variable(('a2a', 'listen'))}"
        ) from exc


def _unknown_variables() -> list[str]:
    """The variables with our prefix that belong to no section, without it. One may be a misspelt bearer token.

    Source: names of variables are read without regard to case, as by pydantic-settings.
    """
    prefix = ENV_PREFIX.lower()
    ours = [
        name.lower().removeprefix(prefix)
        for name, value in os.environ.items()
        if name.lower().startswith(prefix) and not _SERVICE.fullmatch(f"{name}={value}")
    ]
    sections = EdgeConfig.model_fields.keys()
    return [name for name in ours if name not in _OTHER_VARIABLES and name.partition(ENV_DELIMITER)[0] not in sections]


def _unknown_text(name: str) -> str:
    keys = [f"{section}{ENV_DELIMITER}{key}" for section in ("a2a", "data", "logging") for key in _keys_of(section)]
    near = get_close_matches(name, [*keys, *_OTHER_VARIABLES], n=1)
    hint = f"did you mean {_variable((near[0],))}?" if near else f"a key is set as {_variable(('section', 'key'))}"
    return f"is not a known key; {hint}"


def _keys_of(section: str) -> Iterable[str]:
    model = EdgeConfig.model_fields[section].annotation
    assert isinstance(model, type)
    assert issubclass(model, BaseModel)
    return model.model_fields


def _variable(path: tuple[str | int, ...]) -> str:
    """The environment variable that sets a key."""
    return ENV_PREFIX + ENV_DELIMITER.join(str(part) for part in path).upper()


def _merged(*layers: Mapping[str, Any]) -> dict[str, Any]:
    """Sections merged key by key, the later layer winning."""
    merged: dict[str, Any] = {}
    for layer in layers:
        for key, value in layer.items():
            below = merged.get(key)
            merged[key] = _merged(below, value) if isinstance(below, dict) and isinstance(value, dict) else value
    return merged


def _filled(values: Mapping[str, Any]) -> dict[str, Any]:
    """The file's values without its empty sections."""
    return {name: section for name, section in values.items() if section is not None}


def _project_of(values: Mapping[str, Any]) -> Project | None:
    """The langgraph.json that is the target, if it is one. Raises: ConfigError."""
    a2a = values.get("a2a")
    if not isinstance(a2a, dict) or a2a.get("adapter", "langgraph") != "langgraph":
        return None
    target = a2a.get("target")
    return read_project(Path(target)) if isinstance(target, str) and is_project(target) else None


def _without_overridden(values: dict[str, Any], flags: Mapping[str, Any], graphs: Set[str]) -> dict[str, Any]:
    """The file's values, without the keys that the flags set for the agents that they mean: the graphs, or the default
    agent.
    """
    agents, a2a = values.get("agents"), values.get("a2a")
    if not isinstance(agents, dict) or not agents:
        return values
    default = a2a.get("agent") if isinstance(a2a, dict) else None
    meant = graphs or {default or next(iter(agents))}
    keys = flags.get("a2a", {}).keys() & AgentConfig.model_fields.keys()
    return {**values, "agents": {name: _without(keys, one) if name in meant else one for name, one in agents.items()}}


def _without(keys: Set[str], agent: Any) -> Any:
    return {k: v for k, v in agent.items() if k not in keys} if isinstance(agent, dict) else agent


def _contradictions(config: EdgeConfig) -> list[Problem]:
    """The problems between keys that are each valid."""
    if not config.a2a.enabled:
        return []
    found = [*_name_problems(config), *_path_problems(config), *_thread_problems(config)]
    found += [*_card_problems(config), *signing_problems(config.a2a)]
    return [*found, *(problem for spec in config.agent_specs() if (problem := _target_problem(config, spec.target)))]


def _name_problems(config: EdgeConfig) -> Iterator[Problem]:
    """Names of agents that do not exist."""
    a2a = config.a2a
    known = [spec.target.name for spec in config.agent_specs()]
    if a2a.agent is not None and a2a.agent not in known:
        yield Problem(("a2a", "agent"), f"names no agent; there are {', '.join(known)}")
    if a2a.routing is not None and (missing := [name for name in a2a.routing.allow if name not in known]):
        yield Problem(
            ("a2a", "routing", "allow"), f"names no agent by {', '.join(missing)}; there are {', '.join(known)}"
        )


def _path_problems(config: EdgeConfig) -> Iterator[Problem]:
    """Agents whose paths the edge uses itself."""
    if config.a2a.path != "/":
        return
    for name in [spec.target.name for spec in config.agent_specs()]:
        if f"/{name}" in RESERVED_PATHS:
            path = ("agents", name) if name in config.agents else ("a2a", "target")
            yield Problem(path, f"would answer at /{name}, which the edge uses itself; set another a2a.path")


def _thread_problems(config: EdgeConfig) -> Iterator[Problem]:
    """Threads that would not be kept where the tasks are."""
    if config.data.ephemeral:
        return
    for name, agent in config.agents.items():
        path = ("agents", name, "langgraph", "checkpointer")
        if agent.langgraph.checkpointer == "postgres" and config.data.postgres is None:
            yield Problem(path, "is postgres, but data.postgres gives no database")
        if agent.langgraph.checkpointer == "sqlite" and config.data.postgres is not None:
            yield Problem(path, "is sqlite, but data.postgres keeps tasks and threads: leave it out, or give data")


def _card_problems(config: EdgeConfig) -> Iterator[Problem]:
    """Extended cards where callers need no token. Source: A2A 1.0 §13.3, 0.3 §7.10."""
    if config.a2a.bearer_token:
        return
    for name, agent in config.agents.items():
        if agent.extended is not None:
            yield Problem(
                ("agents", name, "extended"),
                "is for callers who sign in, but anyone may call: set a2a.bearer_token, or leave it out",
            )


def _target_problem(config: EdgeConfig, target: Target) -> Problem | None:
    own = config.agents.get(target.name)
    path = ("agents", target.name, "target") if own and own.target else ("a2a", "target")
    if target.adapter == "echo" or is_import_path(target.target):
        return None
    if target.adapter == "model" and not all(target.target.partition(":")):
        return Problem(path, "must be provider:model, such as openai:gpt-5")
    if target.adapter in ("model", "process"):
        return None if target.target else Problem(path, f"is required by the {target.adapter} adapter")
    if is_project(target.target) and own is not None and not own.target:
        return Problem(("agents", target.name), f"is no graph of {target.target}; give it a target of its own")
    what = "must be" if target.target else f"is required by the {target.adapter} adapter: give"
    return Problem(path, f"{what} package.module:name or ./file.py:name")


def write_schema() -> str:
    """The JSON Schema of the file, for editors. Source: JSON Schema 2020-12."""
    schema = EdgeConfig.model_json_schema()
    return json.dumps({"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}, indent=2) + "\n"
