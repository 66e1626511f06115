"""The options of each adapter."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, SecretStr

from llamon_agent.config.sections import Section
from llamon_agent.config.values import PublicUrl

Checkpointer = Literal["data", "sqlite", "postgres", "memory", "none"]


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
    max_output_bytes: Annotated[int, Field(ge=1024)] = 10 << 20
    """How much a command may write before it is stopped and its task fails."""
    kill_after_s: Annotated[float, Field(gt=0, le=1.5)] = 1.5
    """How many seconds a command has to end when it is asked to, before it is killed. At most 1.5, since a stopping
    edge gives its runs 2 in all."""
