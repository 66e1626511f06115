"""A command line as an agent: every run is a process of its own, which gets the prompt and answers on its stdout.

A command that remembers something between runs does so by the ids that it gets. In the first turn of a context the
prompt comes after the host's history, as text. The exit code decides last how a run ends.

The command line is checked when the agent is loaded, so its mistakes show at the start, and not first in a run.
"""

import asyncio
import errno
import shutil
import signal
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Literal

import msgspec

from llamon_agent.adapters.process.commandline import PROMPT, CommandLine, check_prompt, read_command_line
from llamon_agent.adapters.process.output import Ending, JsonLinesOutput, StderrLog, TextOutput
from llamon_agent.adapters.process.running_command import RunningCommand
from llamon_agent.adapters.prompts import SeenContexts, decide_seed, text_prompt
from llamon_agent.domain.caller import Caller
from llamon_agent.domain.errors import AgentError, ConfigError
from llamon_agent.domain.events import AgentEvent, Complete, Error, Interrupt, Started
from llamon_agent.domain.ids import random_id
from llamon_agent.domain.message import Message, Role, sound, texts
from llamon_agent.domain.plain import json_of
from llamon_agent.runs.ports.agent import Turn
from llamon_agent.runs.ports.run import NewId

ENVIRONMENT_PREFIX = "LLAMON_"
"""The ids of a run are in variables with this prefix: LLAMON_CONTEXT_ID, LLAMON_SESSION_ID, LLAMON_TASK_ID."""

_SPEAKERS = {Role.USER: "User", Role.AGENT: "Agent"}


class Command(msgspec.Struct, frozen=True, kw_only=True):
    """What is run, and within which limits.

    Shape: the command sees the variables of environment and the ids of the run, and no others; folder None is the
           edge's own; caller are variables that hold something of the caller, see `of_caller`.
    Units: kill_after_s is how many seconds it has to end after SIGTERM; max_output_bytes counts its stdout.
    """

    line: CommandLine
    environment: Mapping[str, str]
    folder: Path | None = None
    output: Literal["text", "jsonl"] = "text"
    caller: Mapping[str, str] = {}
    max_output_bytes: int = 10 << 20
    kill_after_s: float = 1.5


EXIT_WITHIN_S = 10.0
"""How long a command may take to exit once it has written how its run ends. Then it is stopped, and what it wrote
counts."""


class ProcessAgent:
    """An `Agent` that runs a command for each turn."""

    survives_restart = False

    def __init__(self, command: Command, *, new_id: NewId = random_id) -> None:
        self._command = command
        self._new_id = new_id
        self._seen = SeenContexts()

    async def run(self, turn: Turn) -> AsyncGenerator[AgentEvent]:
        outcome = decide_seed(turn, first=self._seen.take(turn.thread_id), supported=True)
        yield Started(history=outcome)
        prompt = prompt_of(turn, turn.prefill if outcome is not None and outcome.seeded else ())
        output = JsonLinesOutput(turn.task_id, self._new_id) if self._command.output == "jsonl" else TextOutput()
        async with self._running(turn, prompt) as running:
            left_bytes = self._command.max_output_bytes
            while output.ending is None and (data := await running.read()):
                left_bytes -= len(data)
                if left_bytes < 0:
                    raise AgentError(f"The command wrote more than {self._command.max_output_bytes} bytes.")
                for event in output.feed(data):
                    yield event
            for event in output.finish():
                yield event
            exits = await _exits(running, within_s=None if output.ending is None else EXIT_WITHIN_S)
            code = await running.stop(self._command.kill_after_s)
        yield end_of(output.ending, code if exits else 0)

    async def close_turn(self, thread_id: str) -> None:
        """Nothing to drop: the process that asked has ended, and the next turn is a new one."""

    async def delete_thread(self, thread_id: str) -> None:
        """Take the thread's next turn for its first one. See runs.ports.agent.Agent."""
        self._seen.forget(thread_id)

    @asynccontextmanager
    async def _running(self, turn: Turn, prompt: str) -> AsyncIterator[RunningCommand]:
        """Run the command of a turn; it has ended when the block ends. Raises: AgentError: it cannot be started."""
        stderr = StderrLog(turn.task_id)
        running = self._start(turn, prompt, stderr)
        try:
            yield running
        finally:
            try:
                await running.stop(self._command.kill_after_s)
            finally:
                stderr.finish()

    def _start(self, turn: Turn, prompt: str, stderr: StderrLog) -> RunningCommand:
        line = self._command.line
        ids = {"context_id": turn.context_id, "session_id": turn.session_id, "task_id": turn.task_id}
        values = {**ids, "thread_id": turn.thread_id, PROMPT: prompt}
        environment = {ENVIRONMENT_PREFIX + name.upper(): sound(value) for name, value in ids.items()}
        environment |= of_caller(turn.caller, self._command.caller)
        try:
            return RunningCommand(
                [line.program, *line.arguments(values)],
                stdin=b"" if line.takes_prompt else sound(prompt).encode(),
                environment={**self._command.environment, **environment},
                folder=self._command.folder,
                on_stderr=stderr.feed,
            )
        except OSError as exc:
            if exc.errno == errno.E2BIG:
                raise AgentError("The prompt is too long for this agent's command line.") from exc
            raise AgentError("The agent's command could not be started.") from exc
        except ValueError as exc:
            raise AgentError("The message holds a character that this agent's command cannot be given.") from exc


async def _exits(running: RunningCommand, *, within_s: float | None) -> bool:
    """Whether the command exits by itself; what it still writes is not needed."""
    try:
        async with asyncio.timeout(within_s):
            while await running.read():
                pass
            await running.ended()
    except TimeoutError:
        return False
    return True


def of_caller(caller: Caller, wanted: Mapping[str, str]) -> dict[str, str]:
    """Environment variables that hold something of a caller.

    Shape: wanted is variable -> `principal`, `tenant`, `scopes` (with spaces between them), `claim:NAME` or
           `header:NAME`; a claim that is no text is JSON. What the caller does not have, and what no variable can hold
           (U+0000), is left out.
    """
    found = {name: _field(caller, *field.split(":", 1)) for name, field in wanted.items()}
    return {name: sound(value) for name, value in found.items() if value is not None and "\0" not in value}


def _field(caller: Caller, kind: str, name: str = "") -> str | None:
    match kind:
        case "header":
            return caller.headers.get(name)
        case "claim":
            claim = caller.claims.get(name)
            return claim if claim is None or isinstance(claim, str) else msgspec.json.encode(json_of(claim)).decode()
        case "scopes":
            return " ".join(caller.scopes) or None
        case "tenant":
            return caller.tenant
    return caller.principal


def prompt_of(turn: Turn, history: Sequence[Message]) -> str:
    """The prompt, after the history.

    Shape:  a line `User: ...` or `Agent: ...` for each message of the history, an empty line, then the prompt; without
            history just the prompt.
    Raises: AgentError: the message holds a file, which has no form in text.
    """
    prompt = text_prompt(turn)
    lines = [f"{_SPEAKERS[message.role]}: {''.join(texts(message.parts))}" for message in history]
    return "\n".join([*lines, "", prompt] if lines else [prompt])


def end_of(ending: Ending | None, code: int) -> Interrupt | Complete:
    """How the run ends, by what the command wrote and its exit code; negative: the signal that ended it.

    Raises: AgentError: the run failed.
    """
    if isinstance(ending, Error):
        raise AgentError(ending.public)
    if code < 0:
        raise AgentError(f"The command was ended by the signal {_name_of(-code)}.")
    if code > 0:
        raise AgentError(f"The command ended with code {code}.")
    return ending or Complete()


def _name_of(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return str(number)


def load_process(
    target: str,
    *,
    prompt: Literal["stdin", "argument"],
    output: Literal["text", "jsonl"],
    folder: Path | None,
    environment: Sequence[str],
    max_output_bytes: int,
    kill_after_s: float,
    caller: Mapping[str, str],
    environ: Mapping[str, str],
) -> ProcessAgent:
    """Make an agent of a command line.

    Shape:  environment names the variables of environ that the command may see; for caller see `of_caller`. A program
            that is named by a path is looked for in the edge's folder, any other one in environ's PATH.
    Raises: ConfigError, naming the command and the remedy.
    """
    line = read_command_line(target)
    check_prompt(line, as_argument=prompt == "argument")
    found = shutil.which(line.program, path=environ.get("PATH"))
    if found is None:
        raise ConfigError(
            f"The command {line.program!r} is not here, or is not executable: install it or name its path."
        )
    if folder is not None and not folder.is_dir():
        raise ConfigError(f"process.folder: {str(folder)!r} is no folder: make it, or name another.")
    command = Command(
        line=type(line)(program=str(Path(found).absolute()), words=line.words),
        environment={name: environ[name] for name in environment if name in environ},
        folder=folder,
        output=output,
        caller=caller,
        max_output_bytes=max_output_bytes,
        kill_after_s=kill_after_s,
    )
    return ProcessAgent(command)
