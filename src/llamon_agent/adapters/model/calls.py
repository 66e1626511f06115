"""Every call of the model: it is retried while that may help, checked when it has ended, and counted.

Rules:
- Once a piece of the answer has come, nothing is retried: the caller already has it.
- Only this module retries, so that waits do not multiply; the provider's own client is made without retries.
- A provider's words about a failure go to the log, with its keys redacted, and nowhere else: neither to the caller nor
  into a checkpoint.
- A model that calls its tools in a circle would go on, and cost money, for ever. So the calls of a run have a limit.
"""

import asyncio
import logging
import random
import time
from collections.abc import Awaitable, Callable, Sequence
from itertools import count
from math import ceil
from typing import Annotated, Any, NotRequired

from langchain.agents.middleware import AgentMiddleware, AgentState, ModelRequest, ModelResponse
from langchain.agents.middleware.types import PrivateStateAttr
from langchain_core.callbacks import AsyncCallbackHandler
from langchain_core.messages import AIMessage, ToolMessage
from langgraph.channels.untracked_value import UntrackedValue
from langgraph.runtime import Runtime
from typing_extensions import override

from llamon_agent.adapters.model.endings import NO_CALL, NOTHING, flaw_of, is_empty, is_json
from llamon_agent.adapters.model.failures import Failure, failure_of
from llamon_agent.domain.errors import AgentError, AnswerIncomplete

MAX_RETRY_AFTER_S = 30.0
"""If a provider asks for a longer wait, we give up; the caller may try again later."""

_FIRST_WAIT_S = 0.5
_MAX_WAIT_S = 8.0

_MAX_LOGGED = 1000
"""How many characters of a provider's words are logged."""

Handler = Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]

log = logging.getLogger(__name__)


class ProviderFailed(Exception):
    """A provider's exception as it may be logged: its type and its words, without keys."""

    def __init__(self, text: str, failure: Failure) -> None:
        super().__init__(text)
        self.failure = failure


class CarefulCalls(AgentMiddleware[Any, Any, Any]):
    """Around each call of the model. Shared by all runs.

    Shape: secrets are what no log may show; gives_reason: a whole answer has a reason for its end; wait is
           asyncio.sleep outside of tests.
    """

    def __init__(
        self,
        *,
        max_retries: int,
        gives_reason: bool,
        secrets: Sequence[str] = (),
        wait: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        super().__init__()
        self._max_retries = max_retries
        self._gives_reason = gives_reason
        self._secrets = secrets
        self._wait = wait

    async def awrap_model_call(self, request: ModelRequest[Any], handler: Handler) -> ModelResponse[Any]:
        """The whole answer of the model. Raises: AgentError, also for an answer that is not whole."""
        for attempt in count():
            try:
                return await self._once(request, handler)
            except ProviderFailed as exc:
                wait_s = wait_before_s(exc.failure, attempt, random.random()) if attempt < self._max_retries else None
                if wait_s is None:
                    raise AgentError(exc.failure.public) from exc
                log.info("the model is called again in %.1f s: %s", wait_s, exc)
            request.runtime.stream_writer(f"The model's provider is not ready; trying again in {ceil(wait_s)} s …")
            await self._wait(wait_s)
        raise AssertionError("unreachable")

    async def _once(self, request: ModelRequest[Any], handler: Handler) -> ModelResponse[Any]:
        """One try. Raises: ProviderFailed, for any failure; AgentError for an answer that is not whole."""
        observer = _CallObserver()
        observed = request.override(model=request.model.model_copy(update={"callbacks": [observer]}))
        try:
            response = await handler(observed)
        except Exception as exc:  # noqa: BLE001 - it is raised again, with words that may be logged
            text = redacted(f"{type(exc).__name__}: {exc}", self._secrets)[:_MAX_LOGGED]
            failure = failure_of(exc, answer_begun=observer.has_begun, now_s=time.time())
            # Without its cause, whose words no log may show; its traceback says where it came from.
            raise ProviderFailed(text, failure).with_traceback(exc.__traceback__) from None
        self._check(response, observer)
        # After a tool's result the model may have nothing to add.
        if not isinstance(request.messages[-1], ToolMessage) and _is_nothing(response):
            raise AgentError(NOTHING)
        return response

    def _check(self, response: ModelResponse[Any], observer: "_CallObserver") -> None:
        """Refuse an answer that is not whole. Raises: AnswerIncomplete."""
        for message in response.result:
            if isinstance(message, AIMessage) and (flaw := flaw_of(message, gives_reason=self._gives_reason)):
                raise AnswerIncomplete(flaw)
        if not all(map(is_json, observer.arguments.values())):
            raise AnswerIncomplete(NO_CALL)


class _Counting(AgentState[Any]):
    """The count is untracked, so it is never saved: a run that goes on after a question counts from the start."""

    calls: NotRequired[Annotated[int, UntrackedValue, PrivateStateAttr]]


class CallLimit(AgentMiddleware[_Counting, Any, Any]):
    """Limits the calls of each run; retries of a call do not count. Shared by all runs."""

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


class _CallObserver(AsyncCallbackHandler):
    """Observes one call of the model.

    Shape: has_begun: a piece of the answer has come; arguments are those of its tool calls, unchanged, by place.
    """

    def __init__(self) -> None:
        self.has_begun = False
        self.arguments: dict[int, str] = {}

    @property
    def ignore_chat_model(self) -> bool:
        """The start of a call is ignored."""
        return True

    async def on_llm_new_token(self, *args: Any, chunk: Any = None, **kwargs: Any) -> None:  # noqa: ARG002
        self.has_begun = True
        for piece in getattr(getattr(chunk, "message", None), "tool_call_chunks", ()):
            place = len(self.arguments) if piece["index"] is None else piece["index"]
            self.arguments[place] = self.arguments.get(place, "") + (piece["args"] or "")


def _is_nothing(response: ModelResponse[Any]) -> bool:
    return all(isinstance(message, AIMessage) and is_empty(message) for message in response.result)


def wait_before_s(failure: Failure, attempt: int, draw: float) -> float | None:
    """How long to wait before the next try; None where there is none.

    Shape: attempt counts the tries before this one, from 0; draw is random, from 0 to 1, and spreads the callers.
    """
    if not failure.may_pass:
        return None
    if failure.retry_after_s is not None:
        return failure.retry_after_s if failure.retry_after_s <= MAX_RETRY_AFTER_S else None
    return min(_MAX_WAIT_S, _FIRST_WAIT_S * 2.0**attempt) * (1 - draw / 4)


def redacted(text: str, secrets: Sequence[str]) -> str:
    """A text without the secrets."""
    for secret in secrets:
        text = text.replace(secret, "***")
    return text
