"""The caller, the tasks that it sees, and its threads."""

import msgspec

DEFAULT_PRINCIPAL = "default"

_TENANT = "tenant:"


class Principal(msgspec.Struct, frozen=True):
    """An authenticated caller."""

    id: str = DEFAULT_PRINCIPAL


def owner_of(principal: Principal, tenant: str | None) -> str:
    """Whose the tasks and contexts of a call are: the principal's, and those of each tenant that it names apart.

    A tenant is a name of the caller's making, so it only ever divides what is the principal's own. The length in front
    of the principal keeps two pairs from being one owner, whatever characters they hold.

    Source: A2A 1.0 §4.4.6 (AgentInterface.tenant).
    """
    if not tenant and not principal.id.startswith(_TENANT):
        return principal.id
    return f"{_TENANT}{len(principal.id)}:{principal.id}:{tenant or ''}"


def thread_id(owner: str, context_id: str) -> str:
    """The LangGraph thread of a context: the contextId itself, prefixed for every owner but the default one.

    A length in front of the name keeps two pairs from ever sharing a thread, whatever characters they hold; a default
    owner's contextId that looks prefixed is prefixed itself.
    """
    if owner == DEFAULT_PRINCIPAL and not context_id.startswith("principal:"):
        return context_id
    return f"principal:{len(owner)}:{owner}:{context_id}"
