"""What a graph's code finds in a run besides its thread: who calls, what the host sent, and what is configured.

Theory. LangGraph gives code two places. `config["configurable"]` is a dict, whose strings and numbers LangGraph saves
with every checkpoint and shows to tracers. `runtime.context` is made of the schema that the graph declares, and is not
saved. LangGraph's own server puts the caller into the first: as an object, and by its id. So:

- the caller's id may be saved, and is a string under each name that graphs read;
- what a caller brings (claims, headers) is in an object, and an object is not saved. Such an object has no text that
  shows its values;
- what a caller chooses (a model, say) is taken only for the names that the configuration allows.

Source: langgraph.checkpoint.base.get_checkpoint_metadata; langgraph_sdk.auth.types.BaseUser.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Never

import msgspec

from llamon_agent.adapters.langgraph.context import USER_IDS, Context
from llamon_agent.domain.caller import Caller, Private
from llamon_agent.runs.ports.agent import Turn

USER = "langgraph_auth_user"
"""Where LangGraph's server puts the caller, and LangGraph itself looks for it (`runtime.server_info.user`)."""

PERMISSIONS = "langgraph_auth_permissions"

HOST = "a2a"
"""Where the metadata of the host is, and the request headers that the configuration chooses."""

Values = Mapping[str, Any]


class AuthUser(Mapping[str, Any]):
    """A caller in the form in which LangGraph's server hands it over: attributes and items alike.

    Shape: its claims are attributes and items too. `identity` is the owner of the caller's tasks: its principal, and
           the tenant where it names one.
    """

    def __init__(self, caller: Caller) -> None:
        self._fields: dict[str, Any] = {
            **caller.claims,
            "identity": caller.owner,
            "display_name": caller.claims.get("display_name") or caller.principal,
            "is_authenticated": True,
            "permissions": list(caller.scopes),
        }

    def __getattr__(self, name: str) -> Any:
        try:
            return self.__dict__["_fields"][name]
        except KeyError:
            raise AttributeError(name) from None

    def __getitem__(self, name: str) -> Any:
        return self._fields[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._fields)

    def __len__(self) -> int:
        return len(self._fields)

    def model_dump(self) -> Private[Any]:
        """All of it, under the names that the object of LangGraph's server has for that. It is no dict, as LangGraph
        saves whatever such a method returns. Source: langgraph_api.auth.custom.ProxyUser; _msgpack_default.
        """
        return Private(self._fields)

    dict = model_dump

    def __reduce__(self) -> Never:
        raise TypeError("what a caller brought is not kept; keep its identity")

    def __deepcopy__(self, _: object) -> "AuthUser":
        return self

    def __repr__(self) -> str:
        return f"AuthUser({self._fields['identity']!r})"


class RunValues(msgspec.Struct, frozen=True, kw_only=True):
    """The values that are configured for an agent's runs.

    Shape: context and configurable are the values themselves; caller_sets are the names that a host's metadata may set
           in both.
    """

    context: Values = {}
    configurable: Values = {}
    caller_sets: tuple[str, ...] = ()

    @property
    def outside_of_runs(self) -> dict[str, Any]:
        """What `config["configurable"]` holds where no run is: the default caller."""
        return {**self.configurable, **_of_caller(Caller())}

    def configurable_for(self, turn: Turn) -> dict[str, Any]:
        """What `config["configurable"]` holds in a run, besides the thread's id."""
        return {**self.configurable, **self._chosen(turn), **_of_caller(turn.caller), HOST: _of_host(turn)}

    def context_for(self, base: Context | None, fields: frozenset[str], turn: Turn) -> Context | None:
        """The context of a run. Shape: base is that without a caller; fields are those of its schema."""
        if base is None:
            return None
        ids = {name: turn.caller.owner for name in USER_IDS if name in fields and name not in self.context}
        chosen = {name: value for name, value in self._chosen(turn).items() if name in fields}
        return {**base, **ids, **chosen}

    def _chosen(self, turn: Turn) -> Values:
        """What the host's metadata sets. Nothing but text, numbers and true or false can be chosen so."""
        sent = {name: turn.metadata.get(name) for name in self.caller_sets}
        return {name: value for name, value in sent.items() if isinstance(value, str | int | float)}


NO_VALUES = RunValues()


def _of_caller(caller: Caller) -> Values:
    """What graphs read of a caller. One that was not authenticated is no user, as on LangGraph's server."""
    user = AuthUser(caller) if caller.is_authenticated else None
    return {**dict.fromkeys(USER_IDS, caller.owner), USER: user, PERMISSIONS: list(caller.scopes)}


def _of_host(turn: Turn) -> Private[Any]:
    """The metadata as an object, which LangGraph does not save."""
    return Private(
        {
            "metadata": turn.metadata,
            "message_metadata": turn.message.metadata or {},
            "headers": turn.caller.headers,
            "context_id": turn.context_id,
            "task_id": turn.task_id,
            "message_id": turn.message.message_id,
        }
    )
