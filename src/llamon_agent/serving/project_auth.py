"""The authentication of a langgraph.json guards the edge, or the edge says why it does not.

A project that protects itself must not be open here by oversight. So if its authentication cannot be run, an edge that
others can reach does not start without a token of its own, or a setting that says so.
"""

import asyncio
import logging
from typing import TYPE_CHECKING

from llamon_agent.client.agent_url import is_loopback
from llamon_agent.config.edge import A2aConfig
from llamon_agent.config.langgraph_json import Project
from llamon_agent.domain.errors import ConfigError

if TYPE_CHECKING:
    from llamon_agent.adapters.langgraph.auth import ProjectAuth

logger = logging.getLogger(__name__)

_UNGUARDED = "anyone who reaches the edge may call"


async def open_project_auth(a2a: A2aConfig, project: Project | None) -> "ProjectAuth | None":
    """The authentication of a project; None where it has none, or where it does not guard the edge.

    Raises: ConfigError: it cannot be run, and no token guards an edge that others can reach.
    """
    if project is None or project.auth is None:
        return None
    if a2a.project_auth == "ignore":
        logger.warning("%s: its auth is ignored, as a2a.project_auth says%s", project.file, _consequence(a2a))
        return None
    from llamon_agent.adapters.langgraph.auth import load_auth  # after the project's environment is set

    try:
        return await asyncio.to_thread(load_auth, project.auth)
    except ConfigError as exc:
        problem = f"{project.file}: its auth cannot be run: {exc.public}"
        if not a2a.bearer_token and _is_reachable(a2a):
            raise ConfigError(
                f"{problem} Without it {_UNGUARDED}: correct it, set a2a.bearer_token, or set a2a.project_auth to "
                "ignore."
            ) from exc
        logger.warning("%s%s", problem, _consequence(a2a))
        return None


def _consequence(a2a: A2aConfig) -> str:
    return "; a2a.bearer_token guards the edge" if a2a.bearer_token else f"; {_UNGUARDED}"


def _is_reachable(a2a: A2aConfig) -> bool:
    """Whether others can reach the edge, be it through a proxy."""
    return not is_loopback(a2a.host) or a2a.public_url is not None or bool(a2a.trust_proxy)
