"""A command line as an agent: every run is a process of its own, which is told the prompt and whose stdout answers.

What a command remembers between runs is its own affair, by the ids that it is given. The first turn of a context is
told the host's history as text. The exit code has the last word on how a run ends.
"""

import errno
import signal
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Literal

import msgspec

from llamon_agent.adapters.process.child import Child
from llamon_agent.adapters.process.commandline import PROMPT, CommandLine
from llamon_agent.adapters.process.output import Ending, JsonLinesOutput, Output, StderrLog, TextOutput
from llamon_agent.adapters.prompts import SeenContexts, decide_seed, text_prompt
from llamon_agent.domain.errors import AgentError
from llamon_agent.domain.events import AgentEvent, Complete, Error, Interrupt, Started
from llamon_agent.domain.ids import random_id
from llamon_agent.domain.message import Message, Role, sound, texts
from llamon_agent.runs.ports.agent import Turn
from llamon_agent.runs.ports.run import NewId

# MERGED-DOC: What a command is told: the message in words, and in front of a context's first one what was said before.
_WHO = {Role.USER: "User", Role.AGENT: "Agent"}


def prompt_of(turn: Turn, history: Sequence[Message]) -> str:
    """The prompt behind the history.

    Shape:  a line `User: ...` or `Agent: ...` for each message of the history, an empty line, then the prompt; without
            history just the prompt.
    Raises: AgentError: it comes with a file, which words cannot tell.
    """
    prompt = text_prompt(turn)
    told = [_line_of(message) for message in history]
    return "\n".join([*told, "", prompt] if told else [prompt])


def _line_of(message: Message) -> str:
    return f"{_WHO[message.role]}: {''.join(texts(message.parts))}"


ENVIRONMENT_PREFIX = "LLAMON_"
"""The ids of a run are in variables of this prefix: LLAMON_CONTEXT_ID, LLAMON_SESSION_ID, LLAMON_TASK_ID."""


class Command(msgspec.Struct, frozen=True, kw_only=True):
    """What is run, and under which limits.

    Shape: environment is all that the command sees, beside the ids of the run; folder None is the edge's own.
    Units: kill_after_s is how many seconds it has to end when asked to; max_output_bytes counts its stdout.
    """

    line: CommandLine
    environment: Mapping[str, str]
    folder: Path | None = None
    output: Literal["text", "jsonl"] = "text"
    max_output_bytes: int = 10 << 20
    kill_after_s: float = 1.5


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
        output = self._output(turn)
        left_bytes = self._command.max_output_bytes
        async with self._running(turn, prompt) as child:
            while data := await child.read():
                left_bytes -= len(data)
                if left_bytes < 0:
                    raise AgentError(f"The command wrote more than {self._command.max_output_bytes} bytes.")
                for event in output.feed(data):
                    yield event
            for event in output.finish():
                yield event
            await child.ended()
            code = await child.stop(self._command.kill_after_s)
        yield end_of(output.ending, code)

    async def close_turn(self, thread_id: str) -> None:
        """Nothing to drop: the process that asked has ended, and the next turn is a new one."""

    async def delete_thread(self, thread_id: str) -> None:
        """Forget that the thread was ever seen. See runs.ports.Agent."""
        self._seen.forget(thread_id)

    def _output(self, turn: Turn) -> Output:
        return JsonLinesOutput(turn.task_id, self._new_id) if self._command.output == "jsonl" else TextOutput()

    @asynccontextmanager
    async def _running(self, turn: Turn, prompt: str) -> AsyncIterator[Child]:
        """The command of a turn, which has ended when the context does. Raises: AgentError: it cannot be started."""
        stderr = StderrLog(turn.task_id)
        child = self._start(turn, prompt, stderr)
        try:
            yield child
        finally:
            try:
                await child.stop(self._command.kill_after_s)
            finally:
                stderr.finish()

    def _start(self, turn: Turn, prompt: str, stderr: StderrLog) -> Child:
        line = self._command.line
        ids = {"context_id": turn.context_id, "session_id": turn.session_id, "task_id": turn.task_id}
        values = {**ids, "thread_id": turn.thread_id, PROMPT: prompt}
        environment = {ENVIRONMENT_PREFIX + name.upper(): sound(value) for name, value in ids.items()}
        try:
            return Child(
                [line.program, *line.arguments(values)],
                stdin=b"" if line.takes_prompt else prompt.encode("utf-8", "replace"),
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


def end_of(ending: Ending | None, code: int) -> Interrupt | Complete:
    """How the run ends, by what the command said and its exit code; negative: the signal that ended it.

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
