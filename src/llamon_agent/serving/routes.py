"""The URLs of an edge: the default agent's, each agent's own below it, the list, and the health of it all."""

from collections.abc import Mapping, Sequence
from itertools import chain
from math import inf
from typing import TYPE_CHECKING

import msgspec
from starlette.routing import BaseRoute

from llamon_agent.config.edge import A2aConfig, Served
from llamon_agent.domain.profile import Profile
from llamon_agent.inbound.a2a.auth import Auth
from llamon_agent.inbound.a2a.bindings.asgi import Admission
from llamon_agent.inbound.a2a.bindings.grpc.target import Door
from llamon_agent.inbound.a2a.bindings.health import health_routes
from llamon_agent.inbound.a2a.bindings.jsonrpc.binding import rpc_routes
from llamon_agent.inbound.a2a.bindings.rest.binding import rest_routes
from llamon_agent.inbound.a2a.bindings.web_guard import KnownHosts, WebGuard, known_hosts
from llamon_agent.inbound.a2a.cards.agents_page import AgentsSite, Listed, agents_routes, unknown_agent_route
from llamon_agent.inbound.a2a.cards.http import card_routes, jwks_route
from llamon_agent.inbound.a2a.cards.site import Cards, CardSite, GrpcPort
from llamon_agent.inbound.a2a.endpoint import Endpoint, Traits, Webhooks
from llamon_agent.inbound.a2a.policy import Modes
from llamon_agent.inbound.a2a.presentation import Artifacts
from llamon_agent.inbound.a2a.routing import Routing
from llamon_agent.runs.service import RunService
from llamon_agent.wire.operations import Dialect

if TYPE_CHECKING:
    from llamon_agent.wire.cards.signing import Signer

_WAIT_BEYOND_RUN_S = 5.0
"""A blocking call waits a little longer than a run may take, so that it sees the run's end and not its own."""


class Offered(msgspec.Struct, frozen=True, kw_only=True):
    """What the URLs lead to.

    Shape: agents with what their cards say, the default one first; defaults are the agents that are or were the default
           one in this process, the present one first; gone are those that were served once.
    """

    agents: Sequence[tuple[Served, Profile]]
    defaults: Sequence[str] = ()
    gone: Sequence[str] = ()


class Surface(msgspec.Struct, frozen=True, kw_only=True):
    """What an edge offers: its URLs in the order in which they are tried, and for gRPC, which has none, the door to the
    default agent.

    Shape: guard keeps other people's web pages out; None where a token does.
    """

    routes: Sequence[BaseRoute]
    door: Door
    guard: WebGuard | None = None


class Backing(msgspec.Struct, frozen=True, kw_only=True):
    """What all agents of an edge stand on.

    Shape: webhooks None: no push notifications; grpc None: cards name no gRPC address; signer None: cards are not
           signed.
    Units: started_s is seconds since 1970 UTC, what the cards say as Last-Modified.
    """

    runs: RunService
    started_s: float
    webhooks: Webhooks | None = None
    grpc: GrpcPort | None = None
    signer: "Signer | None" = None


def edge_surface(a2a: A2aConfig, offered: Offered, backing: Backing) -> Surface:
    """All that an edge offers of these agents."""
    admission = Admission(
        auth=Auth(a2a.tokens()),
        public_url=a2a.public_url,
        trusted=a2a.trust_proxy,
        max_body_bytes=a2a.max_body_bytes,
    )
    default = offered.agents[0][0]
    cards = {served.target.name: Cards(_site(a2a, served, profile, backing)) for served, profile in offered.agents}
    endpoints = {
        served.target.name: _endpoint(a2a, served, cards[served.target.name], backing) for served, _ in offered.agents
    }
    endpoints |= {name: _gone_endpoint(a2a, name, backing) for name in offered.gone}
    site = msgspec.structs.replace(
        cards[default.target.name].site, path=a2a.path.rstrip("/") or "/", grpc=backing.grpc if a2a.grpc.card else None
    )
    main_cards = Cards(site)
    main = _main_endpoint(a2a, offered, default, main_cards, endpoints, backing)
    told = [
        *agents_routes(_listed(a2a, offered)),
        *([jwks_route(backing.signer)] if backing.signer else []),
        *_card_routes(main_cards, at_root=True),
    ]
    own_cards = {name: _card_routes(of_agent) for name, of_agent in cards.items()}
    of_agents = [
        route
        for name, endpoint in endpoints.items()
        for route in (*_calls(a2a, endpoint, admission, agent_path(a2a, name)), *own_cards.get(name, ()))
    ]
    routes = [
        *health_routes(backing.runs.readiness.failing),
        *told,
        *of_agents,
        *_calls(a2a, main, admission, a2a.path),  # the last, for to it any first segment may be a tenant
        unknown_agent_route(a2a.path),
    ]
    public = [*told, *chain.from_iterable(own_cards.values())]
    return _guarded(a2a, routes, public, Door(endpoint=main, admission=admission, errors=a2a.errors))


def _guarded(a2a: A2aConfig, routes: Sequence[BaseRoute], public: Sequence[BaseRoute], door: Door) -> Surface:
    """All of it, with what keeps other people's web pages out where no token does."""
    known = _known(a2a)
    base_url = a2a.public_url or f"http://{a2a.listen}"
    guard = WebGuard(routes, public=public, known=known, trusted=a2a.trust_proxy) if known else None
    return Surface(routes=routes, door=msgspec.structs.replace(door, base_url=base_url, known=known), guard=guard)


def _known(a2a: A2aConfig) -> KnownHosts | None:
    """By what the edge may be called, None where whoever has a token may call it by any name."""
    if a2a.bearer_token:
        return None
    return known_hosts(listen=a2a.host, public_url=a2a.public_url, allowed=a2a.allowed_hosts)


def _calls(a2a: A2aConfig, endpoint: Endpoint, admission: Admission, path: str) -> list[BaseRoute]:
    """Calls at a path, over all that HTTP carries."""
    return [
        *rpc_routes(endpoint, admission, path=path),
        *rest_routes(endpoint, admission, path=path, table=a2a.errors),
    ]


def _card_routes(cards: Cards, *, at_root: bool = False) -> list[BaseRoute]:
    """An agent's cards below its own path, and those of the one agent of a host at the host's root as well."""
    path = cards.site.path.rstrip("/")
    places = [path, ""] if at_root and path else [path]
    return [route for place in places for route in card_routes(cards, under=place)]


def _site(a2a: A2aConfig, served: Served, profile: Profile, backing: Backing) -> CardSite:
    name = served.target.name
    grpc = backing.grpc if a2a.grpc.card else None
    return CardSite(
        profile=msgspec.structs.replace(profile, push=backing.webhooks is not None),
        path=agent_path(a2a, name),
        public_url=a2a.public_url,
        trusted=a2a.trust_proxy,
        started_s=backing.started_s,
        plain=a2a.card,
        grpc=msgspec.structs.replace(grpc, tenant=name) if grpc else None,
        signer=backing.signer,
    )


def agent_path(a2a: A2aConfig, name: str) -> str:
    """Where an agent answers."""
    return f"{a2a.path.rstrip('/')}/{name}"


def _endpoint(
    a2a: A2aConfig,
    served: Served,
    cards: Cards,
    backing: Backing,
    *,
    routing: Routing | None = None,
    others: Mapping[str, Endpoint] | None = None,
) -> Endpoint:
    return Endpoint(
        backing.runs,
        agent=served.target.name,
        traits=_traits(a2a, served, cards),
        wait_s=min(a2a.wait or inf, served.target.timeout_s + _WAIT_BEYOND_RUN_S),
        webhooks=backing.webhooks,
        routing=routing,
        others=others,
    )


def _gone_endpoint(a2a: A2aConfig, name: str, backing: Backing) -> Endpoint:
    """What is left of an agent that was served once: its tasks, those of each tenant too."""
    traits = Traits(tenants=frozenset(a2a.tenants))
    return Endpoint(backing.runs, agent=name, traits=traits, webhooks=backing.webhooks)


def _traits(a2a: A2aConfig, served: Served, cards: Cards) -> Traits:
    """What the card says, for the endpoint to keep."""
    profile = cards.site.profile

    def extended_card(base_url: str, dialect: Dialect) -> bytes:
        return cards.extended_card(base_url, "1.0" if dialect.version == "1.0" else "0.3")

    return Traits(
        artifacts=Artifacts(served.artifacts),
        modes=_modes(served),
        streaming=profile.streaming,
        extensions={extension.uri: extension.required for extension in profile.extensions},
        extended_card=extended_card if profile.addition else None,
        tenants=frozenset(a2a.tenants),
        by_message_id=a2a.idempotency == "message-id",
    )


def _main_endpoint(
    a2a: A2aConfig,
    offered: Offered,
    default: Served,
    cards: Cards,
    endpoints: Mapping[str, Endpoint],
    backing: Backing,
) -> Endpoint:
    """The default agent's endpoint, from which other agents are reached: by their names as tenants, and by the
    metadata of a message where that may be.
    """
    name = default.target.name
    earlier = [one for one in offered.defaults if one != name]
    routing = None
    if a2a.routing is not None or earlier:
        key, allow = (a2a.routing.key, a2a.routing.allow) if a2a.routing else (None, ())
        routing = Routing(backing.runs, default=name, key=key, allow=allow, also=earlier, gone=offered.gone)
    return _endpoint(a2a, default, cards, backing, routing=routing, others=endpoints)


def _listed(a2a: A2aConfig, offered: Offered) -> AgentsSite:
    listed = [
        Listed(
            name=served.target.name,
            title=profile.name,
            description=profile.description,
            path=agent_path(a2a, served.target.name),
        )
        for served, profile in offered.agents
    ]
    return AgentsSite(agents=listed, public_url=a2a.public_url, trusted=a2a.trust_proxy)


def _modes(served: Served) -> Modes:
    card = served.card
    return Modes(
        takes=card.input_modes,
        gives=card.output_modes,
        max_file_bytes=served.max_file_bytes,
        max_files_bytes=served.max_files_bytes,
    )
