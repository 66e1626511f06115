"""The options of each adapter."""

import re
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, SecretStr

from llamon_agent.config.problems import Wrong
from llamon_agent.config.sections import Section
from llamon_agent.config.values import HEADER_PATTERN, ClassPath, PublicUrl

_TAKEN = re.compile(r"__.*|thread_id|checkpoint_.*|a2a|(langgraph_)?user_id|langgraph_auth_.*")


def _free(name: str) -> str:
    if _TAKEN.fullmatch(name):
        raise Wrong("is set by the edge, and cannot be configured")
    return name


Configurable = Annotated[str, AfterValidator(_free)]
"""A name in `config["configurable"]` that the edge does not set itself."""

Checkpointer = Literal["data", "sqlite", "postgres", "memory", "none"]


class StoreIndexConfig(Section):
    """Search by meaning in a graph's store."""

    embed: str
    """What makes the vectors: `provider:model`, such as openai:text-embedding-3-small, or `./file.py:function`."""
    dims: Annotated[int, Field(ge=1)] | None = None
    """How many numbers a vector has. Not needed: the edge compares vectors of any size."""
    fields: tuple[str, ...] = ("$",)
    """The paths in an item whose texts are searched; `$` is the whole item."""


class StoreTtlConfig(Section):
    """When the items of a graph's store end."""

    default_ttl: Annotated[float, Field(gt=0)]
    """After how many minutes without use an item is deleted."""
    refresh_on_read: bool = True
    """Whether reading an item counts as use."""
    sweep_interval_minutes: Annotated[float, Field(gt=0)] = 60.0
    """How many minutes lie between two looks for items that have ended."""


class StoreConfig(Section):
    """The store of a graph: what its code keeps across conversations. It is where threads are."""

    index: StoreIndexConfig | None = None
    """Search by meaning. Without it, `query` is ignored and items are found by namespace and filter."""
    ttl: StoreTtlConfig | None = None
    """When items end. Without it, they stay."""


class LangGraphConfig(Section):
    """Options of the langgraph adapter."""

    checkpointer: Checkpointer = "data"
    """Where threads are kept; `data` is where tasks are. A graph that was compiled with its own checkpointer keeps that
    one; an InMemorySaver only where threads are kept in memory or not at all."""
    window_size: Annotated[int, Field(ge=1)] | None = None
    """How many messages of a thread the graph is given; older ones are removed from it. Without it, all."""
    input_key: str | None = None
    """The key of the graph's state that takes the prompt, for a state without `messages`."""
    output_key: str | None = None
    """The key of the graph's state that holds the answer, for a state without `messages`."""
    allowed_msgpack_modules: tuple[ClassPath, ...] | None = None
    """The classes, as package.module:Class, of which objects are made when a thread is read, besides those that
    LangGraph knows. Without it, all: whoever can write to the threads can run code in the edge. With it, even if it is
    empty, nothing is pickled."""
    store: StoreConfig = StoreConfig()
    """The store that the graph gets if it has none of its own, or one in memory."""
    context: dict[str, Any] = Field(default={})
    """Values for the graph's context (`context_schema`), by the names of its fields."""
    configurable: dict[Configurable, Any] = Field(default={})
    """Values for `config["configurable"]`. LangGraph saves texts and numbers of it with every checkpoint, so secrets do
    not belong here."""
    caller_sets: tuple[Configurable, ...] = ()
    """Names that a message's metadata may set, in `config["configurable"]` and in the context: `model`, for instance.
    Texts and numbers only. Without it, a caller sets none."""


class ModelConfig(Section):
    """Options of the model adapter; its target is `provider:model`, such as openai:gpt-5."""

    base_url: PublicUrl | None = None
    """The address of an OpenAI-compatible server, where it is not the provider's own."""
    api_key: SecretStr | None = None
    """The provider's key. Without it, the provider's own environment variable."""
    system_prompt: str | None = None
    """The system prompt of every conversation."""
    temperature: Annotated[float, Field(ge=0)] | None = None
    """How freely the model chooses its words. Without it, the provider's default."""
    tools: str | None = None
    """`package.module:name` or `./file.py:name` of a list of tools."""
    approve: tuple[str, ...] = ()
    """The names of the tools that run only when the caller has approved the call."""
    streaming: bool = True
    """Whether the provider is asked for its answer piece by piece; off for a server that cannot do that."""
    max_retries: Annotated[int, Field(ge=0, le=10)] = 2
    """How often a call that was refused for load or lost on the way is tried again."""
    max_calls: Annotated[int, Field(ge=1)] = 50
    """How often a run may call the model, which it does once more after its tools; then its task fails."""


EnvironmentName = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]
CallerField = Annotated[str, Field(pattern=rf"^(principal|tenant|scopes|claim:.+|header:{HEADER_PATTERN})$")]


class ProcessConfig(Section):
    """Options of the process adapter; its target is the command line."""

    prompt: Literal["stdin", "argument"] = "stdin"
    """How the prompt reaches the command: on its stdin, or in the place of {prompt} among its arguments."""
    output: Literal["text", "jsonl"] = "text"
    """What the command writes on its stdout: text, or one JSON object a line."""
    folder: Path | None = None
    """The working folder. Without it, the edge's own."""
    environment: tuple[str, ...] = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR")
    """The names of the environment variables that the command may see."""
    caller: dict[EnvironmentName, CallerField] = Field(default={})
    """Environment variables that hold something of the caller: `principal`, `tenant`, `scopes`, `claim:NAME`, or
    `header:NAME` for one of `a2a.caller_headers`. What a caller does not have is not set."""
    max_output_bytes: Annotated[int, Field(ge=1024)] = 10 << 20
    """How much a command may write before it is stopped and its task fails."""
    kill_after_s: Annotated[float, Field(gt=0, le=1.5)] = 1.5
    """How many seconds a command has to end when it is asked to, before it is killed. At most 1.5, since a stopping
    edge gives its runs 2 in all."""
