"""`llamon send`, one message and one answer, and `llamon get`, what has become of a task."""

import asyncio
import sys
from pathlib import Path
from typing import Annotated

import msgspec
from cyclopts import Parameter

from llamon_agent.cli.conversation import connect_to, follow
from llamon_agent.cli.exits import Exit, Usage
from llamon_agent.cli.failure_text import exit_of_failure, failure_text
from llamon_agent.cli.options import AsJson, Switch, Token
from llamon_agent.cli.report import Outcome, finish, new_view, outcome_of, reply_printer
from llamon_agent.cli.screen import Screen
from llamon_agent.client.errors import RemoteError
from llamon_agent.client.rpc import new_message
from llamon_agent.domain.message import Message, Metadata, Text


def get(
    url: str,
    task: str,
    /,
    *,
    token: Token = None,
    as_json: AsJson = False,
) -> int:
    """Show a task: its answer as far as it is known, or the question that it waits with.

    Parameters
    ----------
    url
        The agent: its origin, its card's URL or the URL that takes its calls.
    task
        The task's id, as `llamon send --background` prints it.
    token
        The bearer token.
    as_json
        Print the task as JSON.
    """
    return asyncio.run(_get(url, task, token, as_json=as_json))


async def _get(url: str, task_id: str, token: str | None, *, as_json: bool) -> Exit:
    screen, view = Screen(), new_view()
    async with connect_to(url, token) as agent:
        reply_printer(screen, view, as_json=as_json)(await agent.get(task_id))
    outcome = outcome_of(view)
    if outcome.exit is Exit.UNREACHED:
        outcome = msgspec.structs.replace(outcome, error=f"The task is {view.state}; ask again later.")
    return finish(screen, view, outcome, url, as_json=as_json)


class _Ways(msgspec.Struct, frozen=True, kw_only=True):
    """How to send, and how to show what comes back."""

    stream: bool
    background: bool
    as_json: bool
    timeout_s: float


def send(
    url: str,
    text: Annotated[str, Parameter(allow_leading_hyphen=True)],
    /,
    *,
    context: str | None = None,
    task: str | None = None,
    history: Path | None = None,
    token: Token = None,
    background: Switch = False,
    stream: Switch = False,
    as_json: AsJson = False,
    timeout: float = 600.0,
) -> int:
    """Send a message to an agent and print its answer.

    Parameters
    ----------
    url
        The agent: its origin, its card's URL or the URL that takes its calls.
    text
        What to say; - reads it from stdin.
    context
        The conversation to go on with.
    task
        The task that waits for this answer.
    history
        A JSON file with an array of past messages, for an agent that does not know the conversation yet.
    token
        The bearer token.
    background
        Return as soon as the agent has taken the message.
    stream
        Print the answer as it comes.
    as_json
        Print what the agent answered as JSON: the result, or with --stream one event a line.
    timeout
        How many seconds to wait for the answer.
    """
    if background and stream:
        raise Usage("--background returns at once and --stream waits; give one of them.")
    said = sys.stdin.read().removesuffix("\n") if text == "-" else text
    metadata: Metadata | None = {"history": _read_history(history)} if history else None
    message = new_message((Text.of(said),), context_id=context, task_id=task, metadata=metadata)
    ways = _Ways(stream=stream, background=background, as_json=as_json, timeout_s=timeout)
    return asyncio.run(_send(url, token, message, ways))


def _read_history(path: Path) -> list[object]:
    try:
        return msgspec.json.decode(path.read_bytes(), type=list[object])
    except OSError as exc:
        raise Usage(f"{path} cannot be read; give a file with --history.") from exc
    except (msgspec.DecodeError, RecursionError) as exc:
        raise Usage(f"{path} must hold a JSON array of A2A messages.") from exc


async def _send(url: str, token: str | None, message: Message, ways: _Ways) -> Exit:
    screen, view = Screen(), new_view()
    on_reply = reply_printer(screen, view, as_json=ways.as_json)
    try:
        async with connect_to(url, token) as agent:
            await follow(
                agent,
                message,
                on_reply,
                view=view,
                stream=ways.stream,
                blocking=not ways.background,
                timeout_s=ways.timeout_s,
            )
    except RemoteError as error:
        if (code := exit_of_failure(error)) is not Exit.UNREACHED:
            raise
        return finish(screen, view, Outcome(exit=code, error=failure_text(error)), url, as_json=ways.as_json)
    outcome = outcome_of(view)
    if ways.background and outcome.exit is Exit.UNREACHED:
        outcome = Outcome(exit=Exit.OK)
    return finish(screen, view, outcome, url, as_json=ways.as_json)
