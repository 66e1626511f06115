"""Words as a chat model's tokens, as callbacks hear them."""

from typing import Any
from uuid import UUID

import pytest
from langchain_core.callbacks import AsyncCallbackHandler
from langchain_core.outputs import LLMResult

from llamon_agent.client.langgraph.token_callbacks import TokenCallbacks
from llamon_agent.domain.events import Delta


class Listener(AsyncCallbackHandler):
    """Keeps what it hears."""

    def __init__(self) -> None:
        self.heard: list[tuple[str, str]] = []
        self.ids: list[str] = []

    async def on_chat_model_start(
        self, serialized: dict[str, Any], messages: Any, *, run_id: UUID, **more: Any
    ) -> None:
        self.heard.append(("start", ""))

    async def on_llm_new_token(self, token: Any, *, chunk: Any = None, **more: Any) -> None:
        self.heard.append(("token", token))
        self.ids.append(chunk.message.id)

    async def on_llm_end(self, response: LLMResult, **more: Any) -> None:
        self.heard.append(("end", response.generations[0][0].text))

    async def on_llm_error(self, error: BaseException, **more: Any) -> None:
        self.heard.append(("error", type(error).__name__))


async def test_one_message_starts_is_told_and_ends() -> None:
    listener = Listener()
    async with TokenCallbacks({"callbacks": [listener]}) as tokens:
        await tokens.add(Delta(text="Hel"))
        await tokens.add(Delta(text="lo"))
    assert listener.heard == [("start", ""), ("token", "Hel"), ("token", "lo"), ("end", "Hello")]
    assert set(listener.ids) == {tokens.message_id}


async def test_a_restart_is_another_message() -> None:
    listener = Listener()
    async with TokenCallbacks({"callbacks": [listener]}) as tokens:
        await tokens.add(Delta(text="Let me"))
        await tokens.add(Delta(text="Done", restart=True))
    assert listener.heard[2:] == [("end", "Let me"), ("start", ""), ("token", "Done"), ("end", "Done")]
    assert listener.ids[0] != listener.ids[1] == tokens.message_id


async def test_who_says_nothing_starts_nothing() -> None:
    listener = Listener()
    async with TokenCallbacks({"callbacks": [listener]}):
        pass
    assert listener.heard == []


async def break_off(listener: Listener) -> None:
    async with TokenCallbacks({"callbacks": [listener]}) as tokens:
        await tokens.add(Delta(text="Hel"))
        raise ValueError("broken")


async def test_a_message_that_breaks_off_is_an_error() -> None:
    listener = Listener()
    with pytest.raises(ValueError, match="broken"):
        await break_off(listener)
    assert listener.heard[-1] == ("error", "ValueError")
