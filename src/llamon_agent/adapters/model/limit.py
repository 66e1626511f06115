"""How often a run may call its model: one that calls its tools in a circle would go on, and cost, for ever."""

from typing import Annotated, Any, NotRequired

from langchain.agents.middleware import AgentMiddleware, AgentState
from langchain.agents.middleware.types import PrivateStateAttr
from langgraph.channels.untracked_value import UntrackedValue
from langgraph.runtime import Runtime
from typing_extensions import override

from llamon_agent.domain.errors import AgentError


class _Counting(AgentState[Any]):
    """Untracked, so that it is never saved: a run that goes on after a question counts from the start."""

    calls: NotRequired[Annotated[int, UntrackedValue, PrivateStateAttr]]


class CallLimit(AgentMiddleware[_Counting, Any, Any]):
    """Counts the calls of each run, tries of the same call as one. Shared by all runs."""

    state_schema = _Counting

    def __init__(self, max_calls: int) -> None:
        super().__init__()
        self._max_calls = max_calls

    @override
    async def abefore_model(self, state: _Counting, runtime: Runtime[Any]) -> dict[str, Any]:
        """Raises: AgentError."""
        calls = state.get("calls", 0)
        if calls >= self._max_calls:
            raise AgentError(f"The model was called {calls} times without coming to an end, which is the limit.")
        return {"calls": calls + 1}
