"""`llamon card`: what an agent says of itself."""

import asyncio
from typing import Annotated

import msgspec
from cyclopts import Parameter

from llamon_agent.cli.exits import Exit, Usage
from llamon_agent.cli.options import AsJson, Switch, Token
from llamon_agent.cli.screen import Screen, complain, one_line
from llamon_agent.client.agent_url import AgentUrl
from llamon_agent.client.card import Card, read_card
from llamon_agent.client.errors import NotA2A
from llamon_agent.client.rpc import find_card, open_http


def card(
    url: str,
    /,
    *,
    token: Token = None,
    verify: Switch = False,
    jwks: Annotated[str | None, Parameter(show_default=False)] = None,
    as_json: AsJson = False,
) -> int:
    """Show an agent's card, or verify its signatures.

    Parameters
    ----------
    url
        The agent: its origin, its card's URL or the URL that takes its calls.
    token
        The bearer token, where even the card needs one.
    verify
        Say which of the card's signatures hold; the exit code is 1 if none does, or if one is broken.
    jwks
        The keys to verify by: a file or a URL. Without it, those that the card names at the agent's own origin.
    as_json
        Print the card as it is served; with --verify, what became of its signatures.
    """
    if verify:
        return asyncio.run(_verify(url, token, jwks, as_json=as_json))
    if jwks:
        raise Usage("--jwks names the keys for --verify; give both")
    found = asyncio.run(_fetch(url, token))
    screen = Screen()
    if as_json:
        screen.json(msgspec.json.format(found, indent=-1).decode())
    else:
        screen.line("\n".join(card_lines(read_card(found, url))))
    return Exit.OK


async def _verify(url: str, token: str | None, jwks: str | None, *, as_json: bool) -> Exit:
    from llamon_agent.cli.card_check import check, check_line, is_signed

    found = await _fetch(url, token)
    card, checked, screen = read_card(found, url), await check(found, url, jwks), Screen()
    holds = is_signed(checked)
    if as_json:
        screen.json(msgspec.json.encode({"holds": holds, "signatures": checked}).decode())
    else:
        screen.line(
            "\n".join([one_line(f"{card.name} {card.version or ''}"), *(f"  {check_line(one)}" for one in checked)])
        )
    if not holds:
        complain("The card's signatures do not hold." if checked else "The card is not signed.")
    return Exit.OK if holds else Exit.ENDED_BADLY


async def _fetch(url: str, token: str | None) -> bytes:
    """The card as it is served. Raises: ConfigError, RemoteError."""
    address = AgentUrl(url, takes_calls=True)
    async with open_http(address, token) as http:
        found = await find_card(http, address)
    if found is None:
        raise NotA2A(detail=f"There is no agent card at {address.origin}{' or '.join(address.card_paths)}")
    read_card(found.body, url)
    return found.body


def card_lines(card: Card) -> list[str]:
    """A card for people."""
    skills = [f"  {skill.name or ''}: {skill.description or ''}" for skill in card.skills or ()]
    ways = [f"  {way.protocol_binding or ''} {way.protocol_version or ''}  {way.url}" for way in card.interfaces]
    return [
        f"{card.name} {card.version or ''}".rstrip(),
        *([f"  {card.description}"] if card.description else []),
        *(["Skills", *skills] if skills else []),
        *(["Interfaces", *ways] if ways else []),
        f"Streaming  {'yes' if card.streams else 'no'}",
        f"Sign-in    {', '.join(card.security_schemes) if card.security_schemes else 'none'}",
    ]
