"""The agents of an edge over HTTP: a list for programs, a page for people, and a clear error for an agent that is not
there.

Public like the cards, and made of nothing but what they say. The page holds no script and asks for nothing else.
"""

from collections.abc import Collection, Sequence
from html import escape

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from llamon_agent.domain.errors import MAX_ECHO_CHARS, UnknownMethod
from llamon_agent.inbound.a2a.bindings.asgi import base_url_headers, base_url_of, read_headers
from llamon_agent.inbound.a2a.bindings.rest.errors import write_error
from llamon_agent.inbound.a2a.cards.http import PREFLIGHT
from llamon_agent.inbound.a2a.faults import fault_reply
from llamon_agent.wire.v03.codec import V03
from llamon_agent.wire.v10.codec import V10

LIST_PATH = "/agents"

_ANY_METHOD = ["DELETE", "GET", "OPTIONS", "PATCH", "POST", "PUT"]

_SHARED = {
    "access-control-allow-origin": "*",
    "cache-control": "no-cache",
    "x-content-type-options": "nosniff",
}
_VARY = f"Accept, {', '.join(base_url_headers(trusted=1))}"
_STYLE = "body{font:1rem/1.5 system-ui,sans-serif;max-width:44rem;margin:2rem auto;padding:0 1rem}dd{margin:0 0 1rem}"
_PAGE_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


class AgentListing(msgspec.Struct, frozen=True, kw_only=True):
    """One agent of the list: its configured name, what its card says, and the path of its endpoint."""

    name: str
    title: str
    description: str
    path: str


class AgentsSite(msgspec.Struct, frozen=True, kw_only=True):
    """Which agents there are, the default one first; the other fields are as in `card_site.CardSite`."""

    agents: Sequence[AgentListing]
    public_url: str | None = None
    trusted: int = 0


class _Entry(msgspec.Struct, frozen=True, kw_only=True):
    """An agent as listed. Shape: name is configured, title is the card's name, one is the default."""

    name: str
    title: str
    description: str
    url: str
    card: str
    default: bool


def agents_routes(site: AgentsSite) -> list[BaseRoute]:
    """The list at /agents, and the page at /, which is plain text or JSON for a client that accepts no HTML."""

    async def preflight(request: Request) -> Response:  # noqa: ARG001 - how Starlette calls it
        return Response(status_code=204, headers=PREFLIGHT)

    async def listing(request: Request) -> Response:
        return _as_json(_entries(site, request))

    async def page(request: Request) -> Response:
        entries, accept = _entries(site, request), request.headers.get("accept", "")
        if "text/html" in accept:
            return _response(_html(entries), "text/html", {"content-security-policy": _PAGE_POLICY})
        return _as_json(entries) if "application/json" in accept else _response(_text(entries), "text/plain")

    # With a slash too, as a redirect would name the scheme and host that a proxy has rewritten.
    paths = ((LIST_PATH, listing), (f"{LIST_PATH}/", listing), ("/", page))
    return [
        route
        for path, answer in paths
        for route in (Route(path, answer, methods=["GET"]), Route(path, preflight, methods=["OPTIONS"]))
    ]


def unknown_path_route(path: str, *, agents: Collection[str]) -> BaseRoute:
    """Whatever lies under the agents' path and is none of theirs."""

    async def unknown(request: Request) -> Response:
        segments = request.path_params["rest"].split("/")
        name = segments[0][:MAX_ECHO_CHARS]
        return _unknown(
            f"There is nothing at {request.scope['path'][:MAX_ECHO_CHARS]!r}."
            if segments[0] in agents
            else f"There is no agent {name!r} here; {LIST_PATH} lists those that there are.",
            segments[1:],
        )

    return Route(f"{path.rstrip('/')}/{{rest:path}}", unknown, methods=_ANY_METHOD)


def nothing_here_route(path: str) -> BaseRoute:
    """Whatever lies elsewhere. Shape: path takes the calls of the default agent."""
    where = f"There is nothing here. A2A calls go to {path}; {LIST_PATH} lists the agents with their addresses."

    async def nothing_here(request: Request) -> Response:
        return _unknown(where, request.path_params["rest"].split("/"))

    return Route("/{rest:path}", nothing_here, methods=_ANY_METHOD)


def _unknown(public: str, segments: Sequence[str]) -> Response:
    """An error in the shape of HTTP+JSON, whose paths of 0.3 begin at `v1`: programs look for one at such paths."""
    dialect = V03 if segments[:1] == ["v1"] else V10
    status, body = write_error(fault_reply(UnknownMethod(public), dialect), "1.0.1")
    return Response(body, status, media_type="application/json")


def _entries(site: AgentsSite, request: Request) -> list[_Entry]:
    headers = read_headers(request.scope)
    base_url = base_url_of(request.scope, headers, configured=site.public_url, trusted=site.trusted)
    return [
        _Entry(
            name=agent.name,
            title=agent.title,
            description=agent.description,
            url=f"{base_url}{agent.path}",
            card=f"{base_url}{agent.path}/.well-known/agent-card.json",
            default=place == 0,
        )
        for place, agent in enumerate(site.agents)
    ]


def _as_json(entries: Sequence[_Entry]) -> Response:
    return _response(msgspec.json.encode({"agents": entries}), "application/json")


def _text(entries: Sequence[_Entry]) -> str:
    lines = [f"{one.title}{' (default)' if one.default else ''}\n  {one.description}\n  {one.url}\n" for one in entries]
    return "\n".join(["Agents here, by A2A:\n", *lines])


def _html(entries: Sequence[_Entry]) -> str:
    rows = "".join(
        f"<dt><strong>{escape(one.title)}</strong>{' (default)' if one.default else ''}</dt>"
        f'<dd>{escape(one.description)}<br><code>{escape(one.url)}</code> <a href="{escape(one.card)}">card</a></dd>'
        for one in entries
    )
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Agents</title>'
        f'<meta name="viewport" content="width=device-width"><style>{_STYLE}</style></head>'
        f"<body><h1>Agents</h1><p>They answer over A2A.</p><dl>{rows}</dl></body></html>\n"
    )


def _response(content: str | bytes, media_type: str, extra: dict[str, str] | None = None) -> Response:
    return Response(content, media_type=media_type, headers={**_SHARED, "vary": _VARY, **(extra or {})})
