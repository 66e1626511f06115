"""The URLs of an edge: the default agent's, each agent's own below it, the list of agents, and the health check."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from math import inf
from typing import TYPE_CHECKING

import msgspec
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp

from llamon_agent.config.edge import A2aConfig, AgentSpec
from llamon_agent.domain.profile import Profile
from llamon_agent.inbound.a2a.bindings.asgi import Admission, Auth, Authenticator
from llamon_agent.inbound.a2a.bindings.grpc.target import GrpcTarget
from llamon_agent.inbound.a2a.bindings.health import health_routes
from llamon_agent.inbound.a2a.bindings.jsonrpc.binding import RpcApp, rpc_routes
from llamon_agent.inbound.a2a.bindings.rest.binding import rest_routes
from llamon_agent.inbound.a2a.bindings.streaming import Artifacts
from llamon_agent.inbound.a2a.bindings.web_guard import KnownHosts, WebGuard, known_hosts
from llamon_agent.inbound.a2a.cards.agents_page import (
    AgentListing,
    AgentsSite,
    agents_routes,
    nothing_here_route,
    unknown_path_route,
)
from llamon_agent.inbound.a2a.cards.http import card_routes, jwks_route
from llamon_agent.inbound.a2a.cards.site import Cards, CardSite, GrpcPort
from llamon_agent.inbound.a2a.endpoint import AgentPolicy, Endpoint, Performer, Webhooks
from llamon_agent.inbound.a2a.media_types import Modes
from llamon_agent.inbound.a2a.routing import Router
from llamon_agent.runs.service import RunService
from llamon_agent.serving.agent_routes import RoutesByAgent
from llamon_agent.wire.operations import Dialect

if TYPE_CHECKING:
    from llamon_agent.wire.cards.signing import Signer

_WAIT_BEYOND_RUN_S = 5.0
"""A blocking call waits a little longer than a run may take, so that it sees the run's end and not its own."""


class AgentSet(msgspec.Struct, frozen=True, kw_only=True):
    """The agents that the URLs lead to.

    Shape: agents come with the profiles of their cards, the default one first; defaults are the default agent and then
           those that were it earlier in this process; gone are those that are no longer served.
    """

    agents: Sequence[tuple[AgentSpec, Profile]]
    defaults: Sequence[str] = ()
    gone: Sequence[str] = ()


class EdgeRoutes(msgspec.Struct, frozen=True, kw_only=True):
    """What answers calls: the routes of the URLs, in the order in which they are tried, and the target of gRPC calls,
    which have no URL.

    Shape: public are those of them that web pages of all origins may read; rpc_apps are those of JSON-RPC by their
           paths, which the routes lead to as well; guard refuses calls from other sites' web pages, None where callers
           need a token.
    """

    routes: Sequence[BaseRoute]
    public: Sequence[BaseRoute]
    grpc_target: GrpcTarget
    rpc_apps: Mapping[str, ASGIApp]
    guard: WebGuard | None = None


class EdgeServices(msgspec.Struct, frozen=True, kw_only=True):
    """What all agents of an edge share.

    Shape: webhooks None: no push notifications; grpc None: cards name no gRPC address; signer None: cards are not
           signed; own_auth is the authentication of the agents' project, None where it has none.
    Units: started_s is seconds since 1970 UTC, the Last-Modified of the cards.
    """

    runs: RunService
    started_s: float
    webhooks: Webhooks | None = None
    grpc: GrpcPort | None = None
    signer: "Signer | None" = None
    own_auth: Authenticator | None = None


def build_routes(a2a: A2aConfig, agent_set: AgentSet, services: EdgeServices) -> EdgeRoutes:
    """The routes of an edge that serves these agents."""
    admission = Admission(
        auth=Auth(a2a.tokens(), services.own_auth),
        public_url=a2a.public_url,
        trusted=a2a.trust_proxy,
        caller_headers=tuple(name.encode() for name in a2a.caller_headers),
        max_body_bytes=a2a.max_body_bytes,
    )
    default = agent_set.agents[0][0]
    cards = {spec.target.name: Cards(_site(a2a, spec, profile, services)) for spec, profile in agent_set.agents}
    endpoints = _endpoints(a2a, agent_set, cards, services)
    main_cards = _main_cards(a2a, cards[default.target.name], services)
    main = _router(a2a, agent_set, _endpoint(a2a, default, main_cards, services), endpoints, services)
    public_pages = [
        *agents_routes(_listed(a2a, agent_set)),
        *([jwks_route(services.signer)] if services.signer else []),
        *_card_routes(main_cards, at_root=True),
    ]
    own_cards = {name: _card_routes(of_agent) for name, of_agent in cards.items()}
    of_agents = {
        name: [*_calls(a2a, endpoint, admission, agent_path(a2a, name)), *own_cards.get(name, ())]
        for name, endpoint in endpoints.items()
    }
    main_calls = _calls(a2a, main, admission, a2a.path)
    at_origin = rpc_routes(main, admission, path="/")  # for clients that are given only the origin
    routes = [
        *health_routes(services.runs.readiness.failing),
        *public_pages,
        RoutesByAgent(a2a.path, of_agents),
        *main_calls,  # the last, because any first segment of its path may be a tenant
        unknown_path_route(a2a.path, agents=endpoints),
        *at_origin,
        nothing_here_route(a2a.path),
    ]
    public = [*public_pages, *chain.from_iterable(own_cards.values())]
    known = _known(a2a, services)
    return EdgeRoutes(
        routes=routes,
        public=public,
        grpc_target=_grpc_target(a2a, main, admission, known),
        rpc_apps=_rpc_apps(chain(at_origin, *of_agents.values(), main_calls)),
        guard=WebGuard(routes, public=public, known=known, trusted=a2a.trust_proxy) if known else None,
    )


def _grpc_target(a2a: A2aConfig, main: Router, admission: Admission, known: KnownHosts | None) -> GrpcTarget:
    """What answers gRPC calls."""
    base_url = a2a.public_url or f"http://{a2a.listen}"
    return GrpcTarget(endpoint=main, admission=admission, errors=a2a.errors, base_url=base_url, known=known)


def _rpc_apps(routes: Iterable[BaseRoute]) -> dict[str, ASGIApp]:
    """The applications of JSON-RPC by their paths."""
    return {route.path: route.app for route in routes if isinstance(route, Route) and isinstance(route.app, RpcApp)}


def _main_cards(a2a: A2aConfig, own: Cards, services: EdgeServices) -> Cards:
    """The default agent's cards at the default path, with the address of gRPC if `a2a.grpc.card` asks for it."""
    grpc = services.grpc if a2a.grpc.card else None
    return Cards(msgspec.structs.replace(own.site, path=a2a.path.rstrip("/") or "/", grpc=grpc))


def _known(a2a: A2aConfig, services: EdgeServices) -> KnownHosts | None:
    """The host names by which the edge may be called; None where callers need a token, for then any name will do.

    A project's own authentication may read cookies, which a browser sends along with any page's call.
    """
    if a2a.bearer_token and services.own_auth is None:
        return None
    return known_hosts(listen=a2a.host, public_url=a2a.public_url, allowed=a2a.allowed_hosts, origins=a2a.cors_origins)


def _calls(a2a: A2aConfig, endpoint: Performer, admission: Admission, path: str) -> list[BaseRoute]:
    """The calls at a path: JSON-RPC and HTTP+JSON."""
    return [
        *rpc_routes(endpoint, admission, path=path),
        *rest_routes(endpoint, admission, path=path, table=a2a.errors),
    ]


def _card_routes(cards: Cards, *, at_root: bool = False) -> list[BaseRoute]:
    """The cards of an agent below its own path, and at the root of the host as well where that is wanted."""
    path = cards.site.path.rstrip("/")
    places = [path, ""] if at_root and path else [path]
    return [route for place in places for route in card_routes(cards, under=place)]


def _site(a2a: A2aConfig, spec: AgentSpec, profile: Profile, services: EdgeServices) -> CardSite:
    name = spec.target.name
    grpc = services.grpc if a2a.grpc.card else None
    return CardSite(
        profile=msgspec.structs.replace(profile, push=services.webhooks is not None),
        path=agent_path(a2a, name),
        public_url=a2a.public_url,
        trusted=a2a.trust_proxy,
        started_s=services.started_s,
        plain="hybrid" if a2a.card == "hybrid" else "only-1.0",
        grpc=msgspec.structs.replace(grpc, tenant=name) if grpc else None,
        signer=services.signer,
    )


def agent_path(a2a: A2aConfig, name: str) -> str:
    """The path at which an agent answers."""
    return f"{a2a.path.rstrip('/')}/{name}"


def _endpoints(
    a2a: A2aConfig, agent_set: AgentSet, cards: Mapping[str, Cards], services: EdgeServices
) -> dict[str, Endpoint]:
    """The endpoints of all agents by name."""
    served = {spec.target.name: _endpoint(a2a, spec, cards[spec.target.name], services) for spec, _ in agent_set.agents}
    return served | {name: _gone_endpoint(a2a, name, services) for name in agent_set.gone}


def _endpoint(a2a: A2aConfig, spec: AgentSpec, cards: Cards, services: EdgeServices) -> Endpoint:
    return Endpoint(
        services.runs,
        agent=spec.target.name,
        policy=_policy(a2a, spec, cards),
        wait_s=min(a2a.wait or inf, spec.target.timeout_s + _WAIT_BEYOND_RUN_S),
        webhooks=services.webhooks,
    )


def _gone_endpoint(a2a: A2aConfig, name: str, services: EdgeServices) -> Endpoint:
    """An agent that is no longer served: its tasks can still be asked for, by every tenant."""
    policy = AgentPolicy(tenants=frozenset(a2a.tenants))
    return Endpoint(services.runs, agent=name, policy=policy, webhooks=services.webhooks)


def _policy(a2a: A2aConfig, spec: AgentSpec, cards: Cards) -> AgentPolicy:
    """What the card promises, for the endpoint to hold to."""
    profile = cards.site.profile

    def extended_card(base_url: str, dialect: Dialect) -> bytes:
        return cards.extended_card(base_url, "1.0" if dialect.version == "1.0" else "0.3")

    return AgentPolicy(
        artifacts=Artifacts(spec.artifacts),
        modes=_modes(spec, profile),
        streaming=profile.streaming,
        extensions={extension.uri: extension.required for extension in profile.extensions},
        extended_card=extended_card if profile.extended_fields else None,
        tenants=frozenset(a2a.tenants),
        by_message_id=a2a.idempotency == "message-id",
        history_readers=a2a.history.readers,
    )


def _router(
    a2a: A2aConfig, agent_set: AgentSet, main: Endpoint, endpoints: Mapping[str, Endpoint], services: EdgeServices
) -> Router:
    """The endpoint of the default path. It leads to other agents by their names as tenants, and by a message's metadata
    where `a2a.routing` allows that.
    """
    return Router(
        services.runs,
        main=main,
        endpoints=endpoints,
        key=a2a.routing.key if a2a.routing else None,
        allow=a2a.routing.allow if a2a.routing else (),
        also=[one for one in agent_set.defaults if one != main.agent],
        gone=agent_set.gone,
    )


def _listed(a2a: A2aConfig, agent_set: AgentSet) -> AgentsSite:
    listed = [
        AgentListing(
            name=spec.target.name,
            title=profile.name,
            description=profile.description,
            path=agent_path(a2a, spec.target.name),
        )
        for spec, profile in agent_set.agents
    ]
    return AgentsSite(agents=listed, public_url=a2a.public_url, trusted=a2a.trust_proxy)


def _modes(spec: AgentSpec, profile: Profile) -> Modes:
    return Modes(
        takes=profile.input_modes,
        gives=profile.output_modes,
        max_file_bytes=spec.max_file_bytes,
        max_files_bytes=spec.max_files_bytes,
    )
