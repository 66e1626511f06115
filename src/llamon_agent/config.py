"""The configuration: one YAML file, overridden by environment variables, overridden by command line flags.

Everything a person can set is a field below, with its default; a field's docstring is what editors show, by way of
`configs/edge.schema.json`. Values are plain and frozen once loaded. Relative paths are relative to the working
directory, not to the file, because a TARGET on the command line is too.

An unknown key is an error, since a misspelt key that is silently ignored is the worst kind of default.
"""

import json
import os
from collections.abc import Mapping, Set
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError
from pydantic_settings import (
    BaseSettings,
    EnvSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    SettingsError,
)

from llamon_agent.config_file import Source, read_file
from llamon_agent.config_problems import Problem, explain, problems_in
from llamon_agent.config_values import (
    AgentName,
    HostPort,
    PublicUrl,
    RpcPath,
    Seconds,
    SessionTemplate,
    Tokens,
    is_import_path,
)
from llamon_agent.domain.errors import ConfigError
from llamon_agent.domain.profile import Profile, Provider, Skill
from llamon_agent.runs.ports import Target

ENV_PREFIX = "LLAMON_"
ENV_DELIMITER = "__"

Adapter = Literal["langgraph", "custom", "model", "process", "echo"]
Artifacts = Literal["append", "whole-last", "single", "auto"]
Checkpointer = Literal["sqlite", "memory", "none"]


class _Section(BaseModel):
    """What all sections share: frozen, no unknown keys, docstrings become the schema's descriptions."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True, hide_input_in_errors=True)


class A2aConfig(_Section):
    """The A2A endpoint, and the agent it serves where `agents` is empty."""

    enabled: bool = True
    """Whether to listen for A2A calls at all."""
    listen: HostPort = "127.0.0.1:8000"
    """Where to listen, as HOST:PORT. Port 0 takes a free one."""
    path: RpcPath = "/a2a"
    """The URL path that takes JSON-RPC calls."""
    public_url: PublicUrl | None = None
    """The address callers use, written into the agent cards. Without it a card names the host it was asked at."""
    bearer_token: Tokens = {}
    """A token that callers must send, or one token for each principal by name. Without it anyone may call."""
    node: Literal["local"] = "local"
    """Which node executes the runs; `local` is the edge's own."""
    adapter: Adapter = "langgraph"
    """What kind of runtime the target is."""
    target: str | None = None
    """What the adapter drives: `package.module:name` or `./file.py:name`. The echo adapter needs none."""
    session_id: SessionTemplate | None = None
    """A template for the session's id, in which {context_id} is the conversation's. Without it, just that."""
    timeout: Seconds = 600.0
    """How many seconds a run may take before it is stopped and its task fails."""
    artifacts: Artifacts = "auto"
    """How an answer is streamed: appended pieces, pieces and then the whole, only the whole, or as the caller needs."""
    trust_proxy: bool = False
    """Whether to believe X-Forwarded headers. Only behind a proxy that sets them itself."""
    max_body_bytes: Annotated[int, Field(ge=1024)] = 10 << 20
    """The largest request body that is read, in bytes."""

    @property
    def host(self) -> str:
        return self.listen.rpartition(":")[0].strip("[]")

    @property
    def port(self) -> int:
        return int(self.listen.rpartition(":")[2])

    def tokens(self) -> dict[str, str]:
        """Principal name -> token, in the clear, for the one place that compares them."""
        return {name: token.get_secret_value() for name, token in self.bearer_token.items()}


class SkillConfig(_Section):
    """One thing an agent can do, as its card tells it."""

    id: str
    """A short id, unique within the agent."""
    name: str
    """What people call the skill."""
    description: str
    """What the skill does, for people and for the models that choose an agent."""
    tags: tuple[str, ...] = ()
    """Words to find the skill by."""
    examples: tuple[str, ...] = ()
    """Prompts that use the skill."""


class ProviderConfig(_Section):
    """Who offers the agent."""

    organization: str
    """The organization's name."""
    url: str
    """The organization's page."""


class LangGraphConfig(_Section):
    """Options of the langgraph adapter."""

    checkpointer: Checkpointer = "sqlite"
    """Where threads are kept. A graph that was compiled with its own checkpointer keeps that one."""
    window_size: Annotated[int, Field(ge=1)] | None = None
    """How many messages of a thread the graph is given; older ones are removed from it. Without it, all."""
    input_key: str | None = None
    """The key of the graph's state that takes the prompt, for a state without `messages`."""
    output_key: str | None = None
    """The key of the graph's state that holds the answer, for a state without `messages`."""


class ModelConfig(_Section):
    """Options of the model adapter; its target is `provider:model`, such as openai:gpt-5."""

    base_url: PublicUrl | None = None
    """The address of an OpenAI-compatible server, where it is not the provider's own."""
    api_key: SecretStr | None = None
    """The provider's key. Without it, the provider's own environment variable."""
    system_prompt: str | None = None
    """What the model is told before every conversation."""
    temperature: Annotated[float, Field(ge=0)] | None = None
    """How freely the model chooses its words. Without it, the provider's default."""
    tools: str | None = None
    """`package.module:name` or `./file.py:name` of a list of tools."""
    max_retries: Annotated[int, Field(ge=0, le=10)] = 2
    """How often a call that was refused for load or lost on the way is tried again."""


class ProcessConfig(_Section):
    """Options of the process adapter; its target is the command line."""

    prompt: Literal["stdin", "argument"] = "stdin"
    """How the prompt reaches the command: on its stdin, or in the place of {prompt} among its arguments."""
    output: Literal["text", "jsonl"] = "text"
    """What the command writes on its stdout: text, or one JSON object a line."""
    folder: Path | None = None
    """The working folder. Without it, the edge's own."""
    environment: tuple[str, ...] = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR")
    """The names of the environment variables that the command may see."""
    max_output_bytes: Annotated[int, Field(ge=1024)] = 10 << 20
    """How much a command may write before it is stopped and its task fails."""
    kill_after_s: Annotated[float, Field(gt=0)] = 5.0
    """How many seconds a command has to end when it is asked to, before it is killed."""


class AgentConfig(_Section):
    """One agent: its card, and what differs from the `a2a` section."""

    name: str | None = None
    """The name on the card. Without it, the agent's key."""
    description: str | None = None
    """What the agent does, for people and for the models that choose an agent."""
    version: str = "1.0.0"
    """The agent's own version."""
    skills: tuple[SkillConfig, ...] = ()
    """What the agent can do. Without any, the card shows one skill made of name and description."""
    provider: ProviderConfig | None = None
    """Who offers the agent."""
    documentation_url: str | None = None
    """A page about the agent."""
    icon_url: str | None = None
    """A picture of the agent."""
    adapter: Adapter | None = None
    """As in `a2a`, for this agent."""
    target: str | None = None
    """As in `a2a`, for this agent."""
    session_id: SessionTemplate | None = None
    """As in `a2a`, for this agent."""
    timeout: Seconds | None = None
    """As in `a2a`, for this agent."""
    artifacts: Artifacts | None = None
    """As in `a2a`, for this agent."""
    langgraph: LangGraphConfig = LangGraphConfig()
    """Options of the langgraph adapter."""
    model: ModelConfig = ModelConfig()
    """Options of the model adapter."""
    process: ProcessConfig = ProcessConfig()
    """Options of the process adapter."""


class DataConfig(_Section):
    """Where tasks and threads are kept."""

    folder: Path = Path("data")
    """The data folder. One process owns it."""
    ephemeral: bool = False
    """Keep everything in memory; a restart forgets it."""
    durability: Literal["full", "normal"] = "full"
    """`full` survives a power cut, `normal` only a crash of the process, and is faster."""


class LoggingConfig(_Section):
    """What is logged, and how."""

    level: Literal["debug", "info", "warning", "error"] = "info"
    """The least serious kind of line that is written."""
    format: Literal["console", "json"] = "console"
    """For people, or one JSON object a line."""


class Served(msgspec.Struct, frozen=True, kw_only=True):
    """An agent as the edge serves it: what `agents` says of it, completed by the `a2a` section."""

    target: Target
    profile: Profile
    artifacts: Artifacts
    langgraph: LangGraphConfig
    model: ModelConfig
    process: ProcessConfig


class EdgeConfig(BaseSettings):
    """The whole configuration of an edge."""

    model_config = SettingsConfigDict(
        frozen=True,
        extra="forbid",
        use_attribute_docstrings=True,
        hide_input_in_errors=True,
        env_prefix=ENV_PREFIX,
        env_nested_delimiter=ENV_DELIMITER,
    )

    a2a: A2aConfig = A2aConfig()
    """The A2A endpoint, and the agent it serves where `agents` is empty."""
    agents: dict[AgentName, AgentConfig] = {}
    """The agents by name. This version serves one."""
    data: DataConfig = DataConfig()
    """Where tasks and threads are kept."""
    logging: LoggingConfig = LoggingConfig()
    """What is logged, and how."""

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],  # noqa: ARG003 - the library calls it by these names
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,  # noqa: ARG003
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Nothing but what it is given: `load_config` merges the sources, so that a problem can name its own."""
        return (init_settings,)

    def served(self) -> tuple[Served, ...]:
        """The agents, each complete."""
        agents = self.agents or {"default": AgentConfig(name=_short_name(self.a2a))}
        return tuple(_served(self, name, agent) for name, agent in agents.items())


def _short_name(a2a: A2aConfig) -> str:
    """A name for an agent that nobody named: the last part of its target's module or file."""
    module = (a2a.target or a2a.adapter).rpartition(":")[0] or a2a.adapter
    return Path(module).stem if module.endswith(".py") else module.rpartition(".")[2]


def _served(config: EdgeConfig, name: str, agent: AgentConfig) -> Served:
    a2a = config.a2a
    return Served(
        target=Target(
            name=name,
            adapter=agent.adapter or a2a.adapter,
            target=agent.target or a2a.target or "",
            node=a2a.node,
            session_id=agent.session_id or a2a.session_id,
            timeout_s=agent.timeout or a2a.timeout,
        ),
        profile=_profile(name, agent, bearer=bool(a2a.bearer_token)),
        artifacts=agent.artifacts or a2a.artifacts,
        langgraph=_in_memory(agent.langgraph) if config.data.ephemeral else agent.langgraph,
        model=agent.model,
        process=agent.process,
    )


def _in_memory(options: LangGraphConfig) -> LangGraphConfig:
    """Ephemeral means threads too."""
    return options.model_copy(update={"checkpointer": "memory"}) if options.checkpointer == "sqlite" else options


def _profile(key: str, agent: AgentConfig, *, bearer: bool) -> Profile:
    name = agent.name or key
    return Profile(
        name=name,
        description=agent.description or f"{name}, an agent that answers over A2A.",
        version=agent.version,
        skills=tuple(Skill(**skill.model_dump()) for skill in agent.skills),
        provider=Provider(**agent.provider.model_dump()) if agent.provider else None,
        documentation_url=agent.documentation_url,
        icon_url=agent.icon_url,
        bearer=bearer,
    )


def load_config(path: Path | None, overrides: Mapping[str, Any]) -> EdgeConfig:
    """The configuration: defaults, then the file, then `LLAMON_SECTION__KEY` variables, then the overrides.

    Shape:  path None reads no file; overrides are nested as the file is. An override of `a2a` also wins over the same
            key of an agent, because a TARGET on the command line means that agent.
    Raises: ConfigError, naming every problem that was found, one a line.
    """
    file = read_file(path) if path else Source(name="command line", values={}, lines={})
    environment = Source(name="environment", values=_environment(), lines={}, variable=_variable)
    flags = Source(name="command line", values=dict(overrides), lines={})
    sources = (flags, environment, file)
    try:
        config = EdgeConfig(**_merged(_of_file(file.values, flags.values), environment.values, flags.values))
    except ValidationError as exc:
        raise ConfigError(explain(problems_in(exc, EdgeConfig), sources)) from exc
    if problems := _contradictions(config):
        raise ConfigError(explain(problems, sources))
    return config


def _environment() -> dict[str, Any]:
    """What the environment sets. A misspelt section is kept, to be told as a problem."""
    names = (name.removeprefix(ENV_PREFIX) for name in os.environ if name.startswith(ENV_PREFIX))
    sections = {name.partition(ENV_DELIMITER)[0].lower() for name in names if ENV_DELIMITER in name}
    unknown = dict.fromkeys(sections - EdgeConfig.model_fields.keys())
    try:
        return {**EnvSettingsSource(EdgeConfig)(), **unknown}
    except SettingsError as exc:
        raise ConfigError(
            f"environment: a {ENV_PREFIX} variable that takes a list or a section is not valid JSON; "
            f"set single keys instead, such as {_variable(('a2a', 'listen'))}"
        ) from exc


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


def _of_file(values: Mapping[str, Any], flags: Mapping[str, Any]) -> dict[str, Any]:
    """The file's values: an empty section is none, and agents are freed of the keys that the flags set for all."""
    sections = {name: section for name, section in values.items() if section is not None}
    agents = sections.get("agents")
    if isinstance(agents, dict):
        set_for_all = flags.get("a2a", {}).keys() & AgentConfig.model_fields.keys()
        sections["agents"] = {name: _freed(agent, set_for_all) for name, agent in agents.items()}
    return sections


def _freed(agent: Any, keys: Set[str]) -> Any:
    return {k: v for k, v in agent.items() if k not in keys} if isinstance(agent, dict) else agent


def _contradictions(config: EdgeConfig) -> list[Problem]:
    """What is wrong between keys that are each right."""
    if len(config.agents) > 1:
        return [Problem(("agents",), "names more than one agent; this version serves one")]
    if not config.a2a.enabled:
        return []
    return [problem for served in config.served() if (problem := _target_problem(config, served.target))]


def _target_problem(config: EdgeConfig, target: Target) -> Problem | None:
    own = config.agents.get(target.name)
    path = ("agents", target.name, "target") if own and own.target else ("a2a", "target")
    if target.adapter == "echo" or is_import_path(target.target):
        return None
    if target.adapter in ("model", "process"):
        return None if target.target else Problem(path, f"is required by the {target.adapter} adapter")
    what = "must be" if target.target else f"is required by the {target.adapter} adapter: give"
    return Problem(path, f"{what} package.module:name or ./file.py:name")


def write_schema() -> str:
    """The JSON Schema of the file, for editors. Source: JSON Schema 2020-12."""
    schema = EdgeConfig.model_json_schema()
    return json.dumps({"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}, indent=2) + "\n"
