"""The authentication of a LangGraph project: its own code says who calls, as on LangGraph's own server.

`auth.path` of a langgraph.json names an `Auth` of langgraph_sdk. Its handler gets what it names as parameters; whom it
returns is the caller. Any failure refuses the call, and the caller reads a text of ours only.

Its `@auth.on` handlers are not run: they decide about threads, assistants and crons of LangGraph's API, which this edge
does not have. Each caller sees its own tasks and conversations only.

Source: langgraph_sdk.auth (Auth.authenticate), langgraph_sdk.auth.types (Authenticator, MinimalUser).
"""

import asyncio
import inspect
import logging
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl

from langgraph_sdk import Auth
from starlette.requests import Request
from starlette.types import Scope

from llamon_agent.adapters.imports.target import import_target
from llamon_agent.domain.caller import Caller, Private
from llamon_agent.domain.errors import ConfigError, PermissionDenied, Unauthenticated

WITHIN_S = 30.0
"""How long it may take: it often asks another server."""

_PARAMETERS = frozenset({"request", "path", "method", "path_params", "query_params", "headers", "authorization"})

_REFUSED = "The agent's own authentication does not accept this call."

log = logging.getLogger(__name__)


def load_auth(target: str) -> "ProjectAuth":
    """The authentication of a project. Raises: ConfigError: it cannot be run."""
    auth = import_target(target)
    if not isinstance(auth, Auth):
        raise ConfigError(f"The target {target!r} is no Auth of langgraph_sdk.")
    handler = auth._authenticate_handler
    if handler is None:
        raise ConfigError(f"The target {target!r} has no @auth.authenticate, so it says of no call who makes it.")
    if unknown := _needed(handler) - _PARAMETERS:
        raise ConfigError(
            f"The target {target!r}: its authentication needs {', '.join(sorted(unknown))}, which this edge does not "
            f"give it; it gives {', '.join(sorted(_PARAMETERS))}."
        )
    if auth._handlers or auth._global_handlers:
        log.warning(
            "The target %r: its @auth.on handlers are not run; each caller sees its own tasks and conversations only",
            target,
        )
    return ProjectAuth(handler)


class ProjectAuth:
    """Says who calls, by a project's own code. See inbound.a2a.bindings.asgi.Authenticator."""

    def __init__(self, handler: Any, *, within_s: float = WITHIN_S) -> None:
        self._handler = handler
        self._within_s = within_s
        self._names = inspect.signature(handler).parameters.keys() & _PARAMETERS

    @property
    def reads_bearer(self) -> bool:
        """Whether it reads the Authorization header by its name."""
        return "authorization" in self._names

    async def authenticate(self, scope: Scope, headers: Mapping[bytes, bytes]) -> Caller:
        """The caller. Raises: Unauthenticated, PermissionDenied."""
        arguments = {name: value for name, value in _arguments(scope, headers).items() if name in self._names}
        try:
            async with asyncio.timeout(self._within_s):
                user = await self._call(arguments)
        except (Auth.exceptions.HTTPException, AssertionError) as exc:
            raise _refusal(exc) from exc
        except Exception as exc:  # the project's own code, which may raise anything
            log.exception("the project's authentication has failed")
            raise PermissionDenied("The agent's own authentication has failed; try again later.") from exc
        caller = caller_of(user)
        if caller is None:
            log.warning("the project's authentication has returned no identity; the call is refused")
            raise Unauthenticated(_REFUSED)
        return caller

    async def _call(self, arguments: Mapping[str, Any]) -> Any:
        if inspect.iscoroutinefunction(self._handler):
            return await self._handler(**arguments)
        user = await asyncio.to_thread(self._handler, **arguments)
        return await user if inspect.isawaitable(user) else user


def caller_of(user: Any) -> Caller | None:
    """The caller that an authentication returned: an id, a mapping or an object; None where it has no identity."""
    if isinstance(user, str):
        return Caller(principal=user, is_authenticated=True) if user else None
    fields = dict(user) if isinstance(user, Mapping) else _fields_of(user)
    identity = fields.get("identity")
    if not isinstance(identity, str) or not identity or fields.get("is_authenticated") is False:
        return None
    permissions = fields.get("permissions") or ()
    scopes = (permissions,) if isinstance(permissions, str) else tuple(str(each) for each in permissions)
    return Caller(principal=identity, is_authenticated=True, scopes=scopes, claims=Private(fields))


def _fields_of(user: Any) -> dict[str, Any]:
    """The public attributes of an object, without its methods."""
    names = [name for name in dir(user) if not name.startswith("_")]
    found = {name: getattr(user, name, None) for name in names}
    return {name: value for name, value in found.items() if not callable(value)}


def _refusal(exc: Exception) -> Unauthenticated | PermissionDenied:
    """The refusal of a call. Source: langgraph_sdk.auth.exceptions; a failed assertion counts as 401."""
    status = getattr(exc, "status_code", 401)
    return Unauthenticated(_REFUSED) if status == 401 else PermissionDenied(_REFUSED)


def _needed(handler: Any) -> set[str]:
    parameters = inspect.signature(handler).parameters.values()
    return {
        each.name
        for each in parameters
        if each.default is each.empty and each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD)
    }


def _arguments(scope: Scope, headers: Mapping[bytes, bytes]) -> dict[str, Any]:
    """What a handler may name.

    Shape: headers can be looked up as bytes, as LangGraph's server gives them, and as text, as its guides read them.
           The body is not read before the caller is known.
    """
    texts = {name.decode("latin-1"): value.decode("latin-1") for name, value in headers.items()}
    return {
        "request": Request(scope),
        "path": scope["path"],
        "method": scope["method"],
        "path_params": {name: str(value) for name, value in scope.get("path_params", {}).items()},
        "query_params": dict(parse_qsl(scope.get("query_string", b"").decode("latin-1"), keep_blank_values=True)),
        "headers": {**headers, **texts},
        "authorization": texts.get("authorization"),
    }
