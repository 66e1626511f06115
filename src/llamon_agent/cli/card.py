"""`llamon card`: what an agent says of itself."""

import asyncio

import msgspec

from llamon_agent.cli.address import Card, read_card
from llamon_agent.cli.client import fetch_card
from llamon_agent.cli.exits import Exit
from llamon_agent.cli.options import AsJson, Token
from llamon_agent.cli.screen import Screen


def card(
    url: str,
    /,
    *,
    token: Token = None,
    as_json: AsJson = False,
) -> int:
    """Show an agent's card.

    Parameters
    ----------
    url
        The agent: its origin, its card's URL or the URL that takes its calls.
    token
        The bearer token, where even the card needs one.
    as_json
        Print the card as it is served.
    """
    found = asyncio.run(fetch_card(url, token))
    screen = Screen()
    if as_json:
        screen.json(msgspec.json.format(found, indent=-1).decode())
    else:
        screen.line("\n".join(card_lines(read_card(found, url))))
    return Exit.OK


def card_lines(card: Card) -> list[str]:
    """A card for people."""
    skills = [f"  {skill.name}: {skill.description}" for skill in card.skills]
    ways = [f"  {way.protocol_binding} {way.protocol_version}  {way.url}" for way in card.supported_interfaces]
    if not ways and card.url:
        ways = [f"  JSONRPC {card.protocol_version or '0.2'}  {card.url}"]
    return [
        f"{card.name} {card.version}".rstrip(),
        *([f"  {card.description}"] if card.description else []),
        *(["Skills", *skills] if skills else []),
        *(["Interfaces", *ways] if ways else []),
        f"Streaming  {'yes' if card.capabilities.streaming else 'no'}",
        f"Sign-in    {', '.join(card.security_schemes) if card.security_schemes else 'none'}",
    ]
