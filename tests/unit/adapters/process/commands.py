"""What the tests of the process adapter share: turns, agents made of shell scripts, and a look at what runs."""

import asyncio
import os
import shlex
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from llamon_agent.adapters.process.agent import Command, ProcessAgent
from llamon_agent.adapters.process.commandline import read_command_line
from llamon_agent.domain.events import AgentEvent, Delta
from llamon_agent.domain.message import Message, Part, Role, Text
from llamon_agent.runs.ports.agent import Turn
from llamon_agent.testing.scripted import counting_ids


def a_message(text: str, role: Role = Role.USER) -> Message:
    return Message(message_id=text, role=role, parts=(Text.of(text),))


def a_turn(
    prompt: str = "hello",
    *,
    parts: Sequence[Part] | None = None,
    history: Sequence[Message] = (),
    context_id: str = "c",
    answers: bool = False,
) -> Turn:
    return Turn(
        task_id="t",
        context_id=context_id,
        thread_id=f"thread-{context_id}",
        session_id=f"session-{context_id}",
        message=Message(message_id="m", role=Role.USER, parts=(Text.of(prompt),) if parts is None else tuple(parts)),
        prompt=prompt,
        prefill=tuple(history),
        history_received=len(history),
        answers=answers,
    )


def agent_of(line: str, **options: Any) -> ProcessAgent:
    """An agent that runs a command line, quick to kill."""
    environment = {"PATH": os.environ["PATH"]}
    command = Command(**{"line": read_command_line(line), "environment": environment, "kill_after_s": 0.2, **options})
    return ProcessAgent(command, new_id=counting_ids())


def sh(script: str, *words: str) -> str:
    """The command line that runs a shell script."""
    return shlex.join(["sh", "-c", script, "sh"]) + "".join(f" {word}" for word in words)


def python(script: str) -> str:
    """The command line that runs a Python script, as fast as it starts."""
    return shlex.join([sys.executable, "-ISc", script])


async def said(agent: ProcessAgent, turn: Turn | None = None) -> list[AgentEvent]:
    async with asyncio.timeout(20):
        return [event async for event in agent.run(turn or a_turn())]


def text_of(events: Sequence[AgentEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, Delta))


async def end_of(pid: int) -> None:
    """Wait for the end of a process, whosever child it is."""
    try:
        watch = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    loop, ended = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(watch, ended.set)
    try:
        async with asyncio.timeout(5):
            await ended.wait()
    finally:
        loop.remove_reader(watch)
        os.close(watch)


def lives(pid: int) -> bool:
    """Whether it runs or sleeps."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def children() -> set[int]:
    """The processes that are ours, zombies included."""
    found: set[int] = set()
    for thread in Path("/proc/self/task").iterdir():
        with suppress(FileNotFoundError, ProcessLookupError):  # the thread has ended meanwhile
            found |= set(map(int, (thread / "children").read_text().split()))
    return found
