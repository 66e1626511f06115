"""`llamon get`: what has become of a task."""

import asyncio

import msgspec

from llamon_agent.cli.client import connect
from llamon_agent.cli.ending import finish, teller
from llamon_agent.cli.exits import Exit
from llamon_agent.cli.hearing import Hearing
from llamon_agent.cli.options import AsJson, Token
from llamon_agent.cli.outcome import outcome_of
from llamon_agent.cli.screen import Screen


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
        The task's id, as `llamon send --background` tells it.
    token
        The bearer token.
    as_json
        Print the task as JSON.
    """
    return asyncio.run(_get(url, task, token, as_json=as_json))


async def _get(url: str, task_id: str, token: str | None, *, as_json: bool) -> Exit:
    screen, hearing = Screen(), Hearing()
    async with connect(url, token) as client:
        teller(screen, hearing, as_json=as_json)(await client.get(task_id))
    outcome = outcome_of(hearing)
    if outcome.exit is Exit.UNREACHED:
        outcome = msgspec.structs.replace(outcome, error=f"The task is {hearing.state}; ask again later.")
    return finish(screen, hearing, outcome, url, as_json=as_json)
