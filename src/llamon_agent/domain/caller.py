"""The caller of an agent, the tasks that it sees, and its threads.

Rule: what a caller is (principal, tenant, scopes) may be kept; what it brought (claims, headers) is for its turn only.
Claims and headers are `Private`, so that no encoder, no log line and no record can take them by oversight.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Never, TypeVar

import msgspec

DEFAULT_PRINCIPAL = "default"

_TENANT = "tenant:"

V = TypeVar("V", covariant=True)


class Private(Mapping[str, V]):
    """Values by name that stay in memory: msgspec, json and pickle refuse them, and their repr shows only names."""

    __slots__ = ("_values",)

    def __init__(self, values: Mapping[str, V] | None = None) -> None:
        self._values = dict(values or {})

    def __getitem__(self, name: str) -> V:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return f"Private({', '.join(self._values)})"

    def __reduce__(self) -> Never:
        raise TypeError("what a caller brought is not kept")

    def __deepcopy__(self, _: object) -> "Private[V]":
        return self


_NONE: Private[Any] = Private()
"""The default, one object: msgspec leaves a field out of JSON if its value is the default itself."""


class Caller(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Who calls an agent, as the edge has authenticated it.

    Shape: is_authenticated is False on an open edge, where everybody is the default principal. tenant is a name of the
           caller's making, None without one; scopes are what its authentication allows; claims are those of its token;
           headers are the request headers that the configuration chooses, by their names in lower case.
    """

    principal: str = DEFAULT_PRINCIPAL
    is_authenticated: bool = False
    tenant: str | None = None
    scopes: tuple[str, ...] = ()
    claims: Private[Any] = _NONE
    headers: Private[str] = _NONE

    @property
    def owner(self) -> str:
        """Whose the tasks and contexts of a call are: the principal's, and those of each tenant that it names apart.

        A tenant is a name of the caller's making, so it only ever divides what is the principal's own. The length in
        front of the principal keeps two pairs from being one owner, whatever characters they hold.

        Source: A2A 1.0 §4.4.6 (AgentInterface.tenant).
        """
        if not self.tenant and not self.principal.startswith(_TENANT):
            return self.principal
        return f"{_TENANT}{len(self.principal)}:{self.principal}:{self.tenant or ''}"

    @property
    def kept(self) -> "Caller":
        """What a record may have of it: no claims and no headers."""
        if not self.claims and not self.headers:
            return self
        return msgspec.structs.replace(self, claims=_NONE, headers=_NONE)

    def of_tenant(self, tenant: str | None) -> "Caller":
        """The same caller in a tenant of its own; an empty name is none."""
        return msgspec.structs.replace(self, tenant=tenant or None)


def thread_id(owner: str, context_id: str) -> str:
    """The LangGraph thread of a context: the contextId itself, prefixed for every owner but the default one.

    A length in front of the name keeps two pairs from ever sharing a thread, whatever characters they hold; a default
    owner's contextId that looks prefixed is prefixed itself.
    """
    if owner == DEFAULT_PRINCIPAL and not context_id.startswith("principal:"):
        return context_id
    return f"principal:{len(owner)}:{owner}:{context_id}"
