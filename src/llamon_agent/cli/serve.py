"""`llamon serve`: agents at an A2A endpoint."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from llamon_agent.cli.exits import Exit
from llamon_agent.cli.options import DEFAULT_FILES, AsJson, Switch, default_file
from llamon_agent.client.agent_url import is_loopback
from llamon_agent.config.edge import A2aConfig, Adapter, EdgeConfig
from llamon_agent.config.load import load_config
from llamon_agent.domain.errors import ConfigError
from llamon_agent.runs.ports.run import Target
from llamon_agent.serving.left_out import lines as left_out_lines
from llamon_agent.serving.left_out import without
from llamon_agent.serving.logs import set_up_logging

_ANY_HOST = {"0.0.0.0": "127.0.0.1", "::": "::1"}


def serve(
    target: str | None = None,
    /,
    *,
    config: Path | None = None,
    listen: str | None = None,
    adapter: Adapter | None = None,
    ephemeral: Switch = False,
    data: Path | None = None,
    log_level: Literal["debug", "info", "warning", "error"] | None = None,
    as_json: AsJson = False,
) -> int:
    """Serve an agent, or several, over A2A until Ctrl-C. SIGHUP loads the configuration again.

    Parameters
    ----------
    target
        The agent: package.module:name or ./file.py:name; or a langgraph.json, each of whose graphs is served.
        Without it, the configuration file says.
    config
        The configuration file. Without it: edge.yaml or configs/edge.yaml, unless a target is given.
    listen
        Where to listen, as HOST:PORT.
    adapter
        What kind of runtime the target is; langgraph by default.
    ephemeral
        Keep everything in memory; a restart forgets it.
    data
        The data folder.
    log_level
        The least serious kind of line that is logged.
    as_json
        Log one JSON object a line, and print no banner.
    """
    flags = _flags(
        a2a={"target": target, "adapter": adapter or ("langgraph" if target else None), "listen": listen},
        data={"ephemeral": ephemeral or None, "folder": str(data) if data else None},
        logging={"level": log_level, "format": "json" if as_json else None},
    )
    file = config or (None if target or adapter else default_file())
    loaded = _loaded(file, flags, is_default_file=not (config or target or adapter))
    set_up_logging(loaded.logging.level, loaded.logging.format)
    from llamon_agent.app import serve as serve_until_stopped  # slow, and not for a wrong configuration

    def ready(port: int, left_out: Mapping[str, str], has_own_auth: bool) -> None:
        if loaded.logging.format == "console":
            print("\n".join(banner(loaded, port, left_out, has_own_auth=has_own_auth)), file=sys.stderr)

    serve_until_stopped(loaded, lambda: load_config(file, flags), ready)
    return Exit.OK


def _loaded(file: Path | None, flags: Mapping[str, Any], *, is_default_file: bool) -> EdgeConfig:
    try:
        return load_config(file, flags)
    except ConfigError as exc:
        if file is not None or not is_default_file:
            raise
        raise ConfigError(f"{exc.public}\n{no_default_file()}; name a TARGET, or a file with --config") from exc


def no_default_file() -> str:
    """The error text for a folder without a configuration."""
    return f"there is no {' and no '.join(map(str, DEFAULT_FILES))} here"


def _flags(**sections: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The overrides that were given, nested as the file is."""
    return {
        name: given for name, keys in sections.items() if (given := {k: v for k, v in keys.items() if v is not None})
    }


def banner(
    config: EdgeConfig, port: int, left_out: Mapping[str, str] | None = None, *, has_own_auth: bool = False
) -> list[str]:
    """What a person needs to know at the start: which agents are served, where, and how to call them."""
    host = config.a2a.listen.rpartition(":")[0]
    a2a = config.a2a.model_copy(update={"listen": f"{host}:{port}"})
    lines = listing(config.model_copy(update={"a2a": a2a}), left_out)
    lines += [f"  talk  llamon chat {_origin(a2a)}", "  stop  Ctrl-C"]
    if has_own_auth:
        lines.append("  note  callers must pass the authentication of the project, its auth in langgraph.json")
    elif not a2a.bearer_token and not is_loopback(a2a.host):
        lines.append("  note  anyone who reaches this port may call; set a2a.bearer_token to ask for a token")
    return lines


def listing(config: EdgeConfig, left_out: Mapping[str, str] | None = None) -> list[str]:
    """The agents, the default one first, the address of each, and the agents that are left out, with the reason."""
    left_out = left_out or {}
    return [
        *_agents(without(config, left_out.keys())),
        *(f"  note  {line}" for line in left_out_lines(config, left_out)),
    ]


def _agents(config: EdgeConfig) -> list[str]:
    a2a = config.a2a
    if not a2a.enabled:
        return ["llamon does not listen: a2a.enabled is false"]
    origin, agents = _origin(a2a), config.agent_specs()
    lines = []
    for spec in agents:
        lines.append(f"llamon serves {spec.profile.name} ({_runtime_text(spec.target)})")
        if len(agents) > 1:
            lines.append(f"  calls {origin}{a2a.path.rstrip('/')}/{spec.target.name}")
    if len(agents) > 1:
        lines += [f"llamon lists them at {origin}/agents", f"the default agent is {agents[0].profile.name}"]
    return [*lines, f"  card  {origin}/.well-known/agent-card.json", f"  calls {origin}{a2a.path}"]


def _origin(a2a: A2aConfig) -> str:
    return a2a.public_url or f"http://{_reachable(a2a)}"


def _reachable(a2a: A2aConfig) -> str:
    """HOST:PORT as this machine reaches it."""
    host = _ANY_HOST.get(a2a.host, a2a.host)
    return f"[{host}]:{a2a.port}" if ":" in host else f"{host}:{a2a.port}"


def _runtime_text(target: Target) -> str:
    return f"{target.adapter} {target.target}".rstrip()
