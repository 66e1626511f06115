"""Every call of the model: tried again while that may help, checked when it has ended, told in our words when it fails.

Rules:
- Once a piece of the answer has come, nothing is tried again: the caller has heard it.
- Only this place tries again, so that waits do not multiply; the provider's own client is told not to.
- What a provider said of a failure goes to the log, with its keys blotted out, and nowhere else: neither to the caller
  nor into a checkpoint.
"""

import asyncio
import logging
import random
import time
from collections.abc import Awaitable, Callable, Sequence
from itertools import count
from math import ceil
from typing import Any

from langchain.agents.middleware import AgentMiddleware, ModelRequest, ModelResponse
from langchain_core.callbacks import AsyncCallbackHandler
from langchain_core.messages import AIMessage, ToolMessage

from llamon_agent.adapters.model.endings import NO_CALL, NOTHING, flaw_of, is_empty, is_json
from llamon_agent.adapters.model.failures import Failure, failure_of
from llamon_agent.domain.errors import AgentError

MAX_RETRY_AFTER_S = 30.0
"""A provider that wants to be left alone for longer is not waited for; the caller may do so."""

_FIRST_WAIT_S = 0.5
_MAX_WAIT_S = 8.0

_MAX_TOLD = 1000
"""How many characters of a provider's words are logged."""

Handler = Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]

log = logging.getLogger(__name__)


class ProviderFailed(Exception):
    """A provider's exception as it may be logged: what it was and what it said, without keys."""

    def __init__(self, told: str, failure: Failure) -> None:
        super().__init__(told)
        self.failure = failure


class CarefulCalls(AgentMiddleware[Any, Any, Any]):
    """Around each call of the model. Shared by all runs.

    Shape: secrets are what no log may show; always_tells says that a whole answer bears a reason for its end; wait is
           how to wait, asyncio.sleep outside of tests.
    """

    def __init__(
        self,
        *,
        max_retries: int,
        always_tells: bool,
        secrets: Sequence[str] = (),
        wait: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        super().__init__()
        self._max_retries = max_retries
        self._always_tells = always_tells
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
        """One try. Raises: ProviderFailed, whatever went wrong; AgentError for an answer that is not whole."""
        ear = _Ear()
        heard = request.override(model=request.model.model_copy(update={"callbacks": [ear]}))
        try:
            response = await handler(heard)
        except Exception as exc:  # noqa: BLE001 - it is raised again, in words that may be logged
            told = blotted(f"{type(exc).__name__}: {exc}", self._secrets)[:_MAX_TOLD]
            failure = failure_of(exc, spoke=ear.heard, now_s=time.time())
            # Without its cause, whose words no log may show; its traceback says where it came from.
            raise ProviderFailed(told, failure).with_traceback(exc.__traceback__) from None
        self._check(response, ear)
        # After a tool it may be that everything was said before.
        if not isinstance(request.messages[-1], ToolMessage) and _is_nothing(response):
            raise AgentError(NOTHING)
        return response

    def _check(self, response: ModelResponse[Any], ear: "_Ear") -> None:
        """Refuse an answer that is not whole. Raises: AgentError."""
        for message in response.result:
            if isinstance(message, AIMessage) and (flaw := flaw_of(message, always_tells=self._always_tells)):
                raise AgentError(flaw)
        if not all(map(is_json, ear.arguments.values())):
            raise AgentError(NO_CALL)


class _Ear(AsyncCallbackHandler):
    """Hears the model in one call of it.

    Shape: heard says that it has begun to speak; arguments are those of its tool calls as it said them, by place.
    """

    def __init__(self) -> None:
        self.heard = False
        self.arguments: dict[int, str] = {}

    @property
    def ignore_chat_model(self) -> bool:
        """How a call starts is not heard."""
        return True

    async def on_llm_new_token(self, *args: Any, chunk: Any = None, **kwargs: Any) -> None:  # noqa: ARG002
        self.heard = True
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


def blotted(text: str, secrets: Sequence[str]) -> str:
    """A text without the secrets."""
    for secret in secrets:
        text = text.replace(secret, "***")
    return text
