"""Reading a host's history. `convert_a2a_history_to_lc` is re-exported because this path is promised."""

from llamon_agent.inbound.a2a.history.converter import convert_a2a_history_to_lc

__all__ = ["convert_a2a_history_to_lc"]
