"""The request headers of a graph's caller that go on to a remote agent: those on a list, and no other.

Theory. A graph finds what its caller sent in `config["configurable"]`. An edge puts the headers into an object under
`a2a`, which LangGraph saves nowhere. LangGraph's own server puts those that `http.configurable_headers` of a
langgraph.json chooses there as keys of their own. Where there is neither, nothing goes on.

Under an edge only its headers count, so that no value which a graph is configured with, or a message's metadata sets,
is taken for a header.

Source: docs/adapters.md (who calls); LangSmith's documentation, "Use HTTP headers for runtime configuration".
"""

from collections.abc import Collection, Mapping
from typing import Any

from langchain_core.runnables import RunnableConfig

from llamon_agent.client.request_headers import name_fault
from llamon_agent.domain.caller import Private
from llamon_agent.domain.errors import ConfigError

_HOST = "a2a"
"""Where an edge puts what the host sent."""


class ForwardedHeaders:
    """A list of names. Shape: names in any case. Raises: ConfigError if one cannot be added to a remote call."""

    def __init__(self, names: Collection[str], *, has_token: bool) -> None:
        if isinstance(names, str):
            raise ConfigError("forward_headers is a list of names of headers, not a text.")
        for fault in (name_fault(name, has_token=has_token) for name in names):
            if fault:
                raise ConfigError(f"forward_headers: {fault}")
        self._names = frozenset(name.lower() for name in names)

    def of_run(self, config: RunnableConfig) -> Private[str]:
        """Those that a run's caller has sent, by their names in lower case."""
        sent = _sent(config.get("configurable", {}))
        chosen = {name.lower(): value for name, value in sent.items() if name.lower() in self._names}
        return Private({name: value for name, value in chosen.items() if isinstance(value, str)})


def _sent(configurable: Mapping[str, Any]) -> Mapping[str, Any]:
    """What may be headers."""
    if _HOST not in configurable:
        return configurable
    host = configurable[_HOST]
    headers = host.get("headers") if isinstance(host, Mapping) else None
    return headers if isinstance(headers, Mapping) else {}
