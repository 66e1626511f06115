"""Who calls, and which thread is theirs."""

import msgspec

DEFAULT_PRINCIPAL = "default"


class Principal(msgspec.Struct, frozen=True):
    """An authenticated caller. A principal sees only its own tasks and contexts."""

    id: str = DEFAULT_PRINCIPAL


def thread_id(owner: str, context_id: str) -> str:
    """The LangGraph thread of a context: the contextId itself, prefixed for every principal but the default one.

    A length in front of the name keeps two pairs from ever sharing a thread, whatever characters they hold; a default
    principal's contextId that looks prefixed is prefixed itself.
    """
    if owner == DEFAULT_PRINCIPAL and not context_id.startswith("principal:"):
        return context_id
    return f"principal:{len(owner)}:{owner}:{context_id}"
