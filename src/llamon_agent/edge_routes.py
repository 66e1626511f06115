"""The URLs of an edge: the default agent's, each agent's own below it, the list, and the health of it all."""

from collections.abc import Mapping, Sequence

import msgspec
from starlette.routing import BaseRoute

from llamon_agent.config import A2aConfig, Served
from llamon_agent.domain.profile import Profile
from llamon_agent.inbound.a2a.agents_http import AgentsSite, Listed, agents_routes, unknown_agent_route
from llamon_agent.inbound.a2a.auth import Auth
from llamon_agent.inbound.a2a.endpoint import Endpoint
from llamon_agent.inbound.a2a.http import health_route, routes, rpc_routes
from llamon_agent.inbound.a2a.modes import Modes
from llamon_agent.inbound.a2a.presentation import Artifacts
from llamon_agent.inbound.a2a.routing import Routing
from llamon_agent.runs.service import RunService

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


def edge_routes(a2a: A2aConfig, offered: Offered, runs: RunService, *, started_s: float) -> list[BaseRoute]:
    """All routes of an edge, in the order in which they are tried.

    Units: started_s is seconds since 1970 UTC, what the cards say as Last-Modified.
    """
    auth = Auth(a2a.tokens())
    endpoints = {served.target.name: _endpoint(runs, served) for served, _ in offered.agents}
    endpoints |= {name: Endpoint(runs, agent=name) for name in offered.gone}

    def agent_routes(endpoint: Endpoint, profile: Profile, path: str, *, at_root: bool = False) -> list[BaseRoute]:
        return routes(
            endpoint,
            auth,
            profile,
            path=path,
            started_s=started_s,
            public_url=a2a.public_url,
            trusted=a2a.trust_proxy,
            max_body_bytes=a2a.max_body_bytes,
            at_root=at_root,
        )

    default, profile = offered.agents[0]
    own = [(endpoints[served.target.name], profile, served.target.name) for served, profile in offered.agents]
    gone = [(endpoints[name], agent_path(a2a, name)) for name in offered.gone]
    return [
        health_route(),
        *agents_routes(_listed(a2a, offered)),
        *agent_routes(_routed(a2a, offered, runs, default, endpoints), profile, a2a.path, at_root=True),
        *(route for endpoint, profile, name in own for route in agent_routes(endpoint, profile, agent_path(a2a, name))),
        *(
            route
            for endpoint, path in gone
            for route in rpc_routes(endpoint, auth, path=path, max_body_bytes=a2a.max_body_bytes)
        ),
        unknown_agent_route(a2a.path),
    ]


def agent_path(a2a: A2aConfig, name: str) -> str:
    """Where an agent answers."""
    return f"{a2a.path.rstrip('/')}/{name}"


def _endpoint(
    runs: RunService,
    served: Served,
    *,
    routing: Routing | None = None,
    others: Mapping[str, Endpoint] | None = None,
) -> Endpoint:
    return Endpoint(
        runs,
        agent=served.target.name,
        artifacts=Artifacts(served.artifacts),
        modes=_modes(served),
        wait_s=served.target.timeout_s + _WAIT_BEYOND_RUN_S,
        routing=routing,
        others=others,
    )


def _routed(
    a2a: A2aConfig, offered: Offered, runs: RunService, default: Served, endpoints: Mapping[str, Endpoint]
) -> Endpoint:
    """The default agent's endpoint, from which other agents are reached where that may be."""
    name = default.target.name
    earlier = [one for one in offered.defaults if one != name]
    if a2a.routing is None and not earlier:
        return endpoints[name]
    key, allow = (a2a.routing.key, a2a.routing.allow) if a2a.routing else (None, ())
    routing = Routing(runs, default=name, key=key, allow=allow, also=earlier, gone=offered.gone)
    return _endpoint(runs, default, routing=routing, others=endpoints)


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
