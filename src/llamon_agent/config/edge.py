"""The configuration: one YAML file, overridden by environment variables, overridden by command line flags.

Everything a person can set is a field below, with its default; a field's docstring is what editors show, by way of
`configs/edge.schema.json`. Values are plain and frozen once loaded. Relative paths are relative to the working
directory, not to the file, because a TARGET on the command line is too.

An unknown key is an error, since a misspelt key that is silently ignored is the worst kind of default.
"""

from pathlib import Path
from typing import Annotated, Literal

import msgspec
from pydantic import Field
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
)

from llamon_agent.config.adapters import Checkpointer, LangGraphConfig, ModelConfig, ProcessConfig
from llamon_agent.config.card import (
    ExtendedConfig,
    ExtensionConfig,
    ProviderConfig,
    SigningConfig,
    Skills,
    declared,
)
from llamon_agent.config.data import DataConfig
from llamon_agent.config.langgraph_json import agent_key, is_project
from llamon_agent.config.sections import GrpcConfig, HistoryConfig, Section, WebhooksConfig
from llamon_agent.config.values import (
    AgentName,
    CallerHeader,
    CardText,
    HostName,
    HostPort,
    Mode,
    Origin,
    Proxies,
    PublicUrl,
    RpcPath,
    Seconds,
    SessionTemplate,
    Tenant,
    Tokens,
)
from llamon_agent.domain.profile import INPUT_MODES, OUTPUT_MODES, ExtendedFields, Profile, Provider, SelfDescription
from llamon_agent.runs.ports.run import Target

ENV_PREFIX = "LLAMON_"
ENV_DELIMITER = "__"

_NAMELESS = "default"
"""The key of an agent without a name whose target has no name that a URL can hold."""

Adapter = Literal["langgraph", "custom", "model", "process", "echo"]
Artifacts = Literal["append", "whole-last", "single", "auto"]


class RoutingConfig(Section):
    """Lets a message on the default agent's path choose another agent."""

    key: Annotated[str, Field(min_length=1)] = "agent"
    """The key of the message's or the call's metadata that names an agent."""
    allow: Annotated[tuple[str, ...], Field(min_length=1)]
    """The agents that may be chosen; the default one always may."""


class A2aConfig(Section):
    """The A2A endpoint, and the agent it serves where `agents` is empty."""

    enabled: bool = True
    """Whether to listen for A2A calls at all."""
    listen: HostPort = "127.0.0.1:8000"
    """Where to listen, as HOST:PORT. Port 0 takes a free one."""
    path: RpcPath = "/a2a"
    """The URL path that takes JSON-RPC calls for the default agent. Each agent has a path below it: /a2a/NAME."""
    agent: AgentName | None = None
    """Which of `agents` is the default one. Without it, the first."""
    routing: RoutingConfig | None = None
    """Whether a message on the default path may choose another agent. Without it, none may."""
    public_url: PublicUrl | None = None
    """The address callers use, written into the agent cards. Without it a card names the host it was asked at."""
    allowed_hosts: tuple[HostName, ...] = ()
    """Host names, besides that of `public_url`, by which an edge without a token may be called. Addresses and localhost
    are always allowed."""
    bearer_token: Tokens = Field(default={})
    """A token that callers must send, or one token for each principal by name. Without it anyone may call."""
    project_auth: Literal["run", "ignore"] = "run"
    """Whether the authentication of a `langgraph.json` (its `auth.path`) guards the edge. If it is ignored and there is
    no `bearer_token`, anyone may call."""
    node: Literal["local"] = "local"
    """Which node executes the runs; `local` is the edge's own."""
    adapter: Adapter = "langgraph"
    """What kind of runtime the target is."""
    target: str | None = None
    """What the adapter drives: `package.module:name` or `./file.py:name`; or a `langgraph.json`, each of whose graphs
    becomes an agent; a model's name; a command line. The echo adapter needs none."""
    session_id: SessionTemplate | None = None
    """A template for the session's id, in which {context_id} is the conversation's. Without it, just that."""
    timeout: Seconds = 600.0
    """How many seconds a run may take before it is stopped and its task fails."""
    wait: Seconds | None = None
    """How many seconds a blocking call waits at most, before it returns the task as it is. Without it, until the run
    ends."""
    card: Literal["hybrid", "1.0"] = "hybrid"
    """What the card says about 0.3 to clients that ask for no version: its fields together with those of 1.0, or
    nothing."""
    artifacts: Artifacts = "auto"
    """How an answer is streamed: appended pieces, pieces and then the whole, only the whole, or as the caller needs."""
    tenants: tuple[Tenant, ...] = ()
    """Names that callers may give as `tenant`, each of which keeps its tasks and conversations apart; `*` is any. An
    agent's name is always one: it means that agent."""
    errors: Literal["1.0.1", "1.0.0"] = "1.0.1"
    """Which version of A2A's table maps errors to HTTP and gRPC statuses; six of them changed with 1.0.1. With 1.0.0,
    results over HTTP+JSON are plain JSON too, unless the caller names A2A's own media type."""
    signing: SigningConfig | None = None
    """Whether the agent cards are signed, and with which keys. Without it, they are not."""
    history: HistoryConfig = HistoryConfig()
    """How the history that a host sends along is read."""
    push: WebhooksConfig = WebhooksConfig()
    """Push notifications: webhooks that are notified of tasks."""
    grpc: GrpcConfig = GrpcConfig()
    """gRPC, on a port of its own, for A2A 1.0 and 0.3; it needs llamon-agent[grpc]."""
    idempotency: Literal["header", "message-id"] = "header"
    """Which repeated messages are recognized and not processed again: those with the same Idempotency-Key header; or
    those with the same messageId, for callers that never use one twice."""
    drain_s: Annotated[float, Field(ge=0, le=3600, allow_inf_nan=False)] = 6.0
    """How many seconds a stopping edge lets its runs finish, before it hands them to the next start or ends them."""
    unready_s: Annotated[float, Field(ge=0, le=3600, allow_inf_nan=False)] = 0.0
    """How many seconds a stopping edge goes on as before while /readyz says that it stops, so that a balancer sends it
    nothing more. These come before `drain_s`."""
    caller_headers: tuple[CallerHeader, ...] = ()
    """Request headers (over gRPC: metadata) that agents are given, by their names in lower case. They are not kept: not
    with a task, not in a checkpoint, not in the log."""
    trust_proxy: Proxies = 0
    """Whether to believe X-Forwarded headers: true with one proxy in front that sets them itself, or the number of
    proxies that append to them one after the other."""
    cors_origins: tuple[Origin, ...] = ()
    """The origins whose web pages may call the agents from a browser, such as https://host.example. Cards are for pages
    of all origins."""
    max_body_bytes: Annotated[int, Field(ge=1024)] = 10 << 20
    """The largest request body that is read, in bytes."""

    @property
    def host(self) -> str:
        return self.listen.rpartition(":")[0].strip("[]")

    @property
    def port(self) -> int:
        return int(self.listen.rpartition(":")[2])

    @property
    def project(self) -> Path | None:
        """The langgraph.json that is the target, if it is one."""
        return Path(self.target) if self.adapter == "langgraph" and self.target and is_project(self.target) else None

    def tokens(self) -> dict[str, str]:
        """Principal name -> token, in the clear, for the one place that compares them."""
        return {name: token.get_secret_value() for name, token in self.bearer_token.items()}


class AgentConfig(Section):
    """One agent: its card, and what differs from the `a2a` section."""

    name: CardText | None = None
    """The name on the card. Without it, the graph's, or else the agent's key."""
    description: CardText | None = None
    """What the agent does, for people and for the models that choose an agent. Without it, what the graph's module
    says of itself."""
    version: CardText = "1.0.0"
    """The agent's own version."""
    skills: Skills = ()
    """What the agent can do. Without it, a graph's tools; an empty list shows one skill made of name and description.
    """
    provider: ProviderConfig | None = None
    """The provider of the agent."""
    documentation_url: CardText | None = None
    """A page about the agent."""
    icon_url: CardText | None = None
    """A picture of the agent."""
    input_modes: Annotated[tuple[Mode, ...], Field(min_length=1)] = INPUT_MODES
    """The media types that the agent takes: text, data (application/json), and files such as image/*."""
    output_modes: Annotated[tuple[Mode, ...], Field(min_length=1)] = OUTPUT_MODES
    """The media types that the agent gives. A caller that accepts none of them is refused."""
    streaming: bool = True
    """Whether the agent takes calls that stream. Without it, such calls are refused."""
    extensions: tuple[ExtensionConfig, ...] = ()
    """Extensions of A2A that the agent supports. The one for starting with a history is always declared."""
    extended: ExtendedConfig | None = None
    """What the card for authenticated callers adds; it needs a2a.bearer_token. Without it, the agent has no such card.
    """
    max_file_bytes: Annotated[int, Field(ge=1)] = 5 << 20
    """The largest file that the agent takes, in bytes."""
    max_files_bytes: Annotated[int, Field(ge=1)] = 10 << 20
    """How much the files of one message may have together, in bytes; a2a.max_body_bytes bounds them too."""
    direct_messages: bool = False
    """Whether the agent may answer a new message with a message, and no task is made of it."""
    answer_in_status: bool = False
    """Whether a completed task has its answer's text as `status.message`, too, for hosts that read nothing else. Hosts
    that read both then show it twice."""
    task_ids: Literal["server", "client"] = "server"
    """Which side makes the ids of new tasks. With `client`, a message with an unknown task id starts that task, as in
    A2A 0.2."""
    when_busy: Literal["refuse", "wait"] = "refuse"
    """What happens to a message for a task that is working: refused, or kept until the task asks or ends. A kept
    message then counts as the answer, although it was written before the question."""
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


class LoggingConfig(Section):
    """What is logged, and how."""

    level: Literal["debug", "info", "warning", "error"] = "info"
    """The least serious kind of line that is written."""
    format: Literal["console", "json"] = "console"
    """For people, or one JSON object a line."""


class AgentSpec(msgspec.Struct, frozen=True, kw_only=True):
    """How the edge serves an agent: its entry in `agents`, completed by the `a2a` section.

    Shape: name is for the card, where neither the configuration nor the agent gives one.
    """

    target: Target
    name: str
    card: AgentConfig
    bearer: bool
    artifacts: Artifacts
    max_file_bytes: int
    max_files_bytes: int
    langgraph: LangGraphConfig
    model: ModelConfig
    process: ProcessConfig

    @property
    def profile(self) -> Profile:
        """The profile of its card, without the agent's own description."""
        return self.introduced(SelfDescription())

    def introduced(self, own: SelfDescription) -> Profile:
        """The profile of its card, with the agent's own description; the configuration wins."""
        card = self.card
        name = card.name or own.name or self.name
        listed = "skills" in card.model_fields_set
        return Profile(
            name=name,
            description=card.description or own.description or f"{name}, an agent that answers over A2A.",
            version=card.version,
            skills=tuple(skill.skill for skill in card.skills) if listed else own.skills,
            provider=Provider(**card.provider.model_dump()) if card.provider else None,
            documentation_url=card.documentation_url,
            icon_url=card.icon_url,
            input_modes=card.input_modes,
            output_modes=card.output_modes if "output_modes" in card.model_fields_set else own.output_modes,
            bearer=self.bearer,
            streaming=card.streaming,
            extensions=declared(card.extensions, own.extensions),
            extended_fields=self._extended_fields,
        )

    @property
    def _extended_fields(self) -> ExtendedFields | None:
        """What the extended card adds; None where callers need no token, as the card is only for authenticated callers.

        Source: A2A 1.0 §13.3, 0.3 §7.10.
        """
        return self.card.extended.extended_fields if self.card.extended and self.bearer else None

    def has_same_runtime_as(self, other: "AgentSpec") -> bool:
        """Whether both are the same agent to the adapter, even if cards, times and limits differ."""
        return (self.target.adapter, self.target.target, self.langgraph, self.model, self.process) == (
            other.target.adapter,
            other.target.target,
            other.langgraph,
            other.model,
            other.process,
        )


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
    """The agents by name."""
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
        """Only the given values: `load_config` merges the sources, so that a problem can name its source."""
        return (init_settings,)

    def agent_specs(self) -> tuple[AgentSpec, ...]:
        """The agents, each complete, the default one first."""
        if not self.agents:
            name = _short_name(self.a2a)
            return (_spec(self, agent_key(name) or _NAMELESS, AgentConfig(), name=name),)
        keys = sorted(self.agents, key=lambda key: key != self.a2a.agent)
        return tuple(_spec(self, key, self.agents[key], name=key) for key in keys)


def _short_name(a2a: A2aConfig) -> str:
    """A name for an agent without one: the model's, or the last part of the target's module or file.

    As a key it separates the agent's tasks and threads from those of another agent that is served from the same folder.
    """
    if a2a.adapter in ("process", "echo"):
        return a2a.adapter
    if a2a.adapter == "model":
        return (a2a.target or "").partition(":")[2] or a2a.adapter
    module = (a2a.target or a2a.adapter).rpartition(":")[0] or a2a.adapter
    return Path(module).stem if module.endswith(".py") else module.rpartition(".")[2]


def _spec(config: EdgeConfig, key: str, agent: AgentConfig, *, name: str) -> AgentSpec:
    a2a = config.a2a
    adapter = agent.adapter or a2a.adapter
    return AgentSpec(
        target=Target(
            name=key,
            adapter=adapter,
            target=agent.target or (a2a.target if _share_targets(adapter, a2a.adapter) else None) or "",
            node=a2a.node,
            session_id=agent.session_id or a2a.session_id,
            timeout_s=agent.timeout or a2a.timeout,
            direct_messages=agent.direct_messages,
            answer_in_status=agent.answer_in_status,
            task_ids=agent.task_ids,
            when_busy=agent.when_busy,
        ),
        name=name,
        card=agent,
        bearer=bool(a2a.bearer_token),
        artifacts=agent.artifacts or a2a.artifacts,
        max_file_bytes=agent.max_file_bytes,
        max_files_bytes=agent.max_files_bytes,
        langgraph=_with_place(agent.langgraph, config.data),
        model=agent.model,
        process=agent.process,
    )


def _share_targets(one: Adapter, other: Adapter) -> bool:
    """Whether a target for one adapter may be meant for the other, too."""
    return one == other or {one, other} == {"langgraph", "custom"}


def _with_place(options: LangGraphConfig, data: DataConfig) -> LangGraphConfig:
    """The options with the place of the threads: where the tasks are, unless they say otherwise; in memory, if the data
    are ephemeral.
    """
    durable: Checkpointer = "postgres" if data.postgres else "sqlite"
    placed = durable if options.checkpointer == "data" else options.checkpointer
    if data.ephemeral and placed != "none":
        placed = "memory"
    return options.model_copy(update={"checkpointer": placed})
