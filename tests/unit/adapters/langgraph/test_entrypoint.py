import asyncio
from dataclasses import dataclass
from typing import Annotated, Any

import pytest
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.config import get_stream_writer
from langgraph.func import entrypoint, task
from langgraph.graph import MessagesState
from langgraph.types import interrupt
from msgspec.structs import replace
from pydantic import BaseModel
from tests.unit.adapters.langgraph.scripted import agent_of, chat_graph, events_of, plain, turn, until, whole

from llamon_agent.adapters.langgraph.entrypoint import Takes, entry_of, state_of
from llamon_agent.adapters.langgraph.load import introduce
from llamon_agent.adapters.langgraph.state import StateMapping, check_state, state_use
from llamon_agent.domain.errors import AgentError, ConfigError
from llamon_agent.domain.events import Delta, Progress


@dataclass
class Order:
    item: str


class Chat(BaseModel):
    messages: list[AnyMessage]


def taking(hint: Any, name: str = "given") -> Any:
    async def function(given):  # type: ignore[no-untyped-def]
        return given

    async def messages(messages):  # type: ignore[no-untyped-def]
        return messages

    chosen = messages if name == "messages" else function
    chosen.__annotations__ = {} if hint is None else {name: hint}
    return entrypoint()(chosen)


@pytest.mark.parametrize(
    ("hint", "takes"),
    [
        (str, Takes.TEXT),
        (str | None, Takes.TEXT),
        (Annotated[str, "what"], Takes.TEXT),
        (list[AnyMessage], Takes.MESSAGES),
        (list[HumanMessage | AIMessage], Takes.MESSAGES),
        (list[BaseMessage], Takes.MESSAGES),
        (MessagesState, Takes.STATE),
        (Chat, Takes.STATE),
        (Order, Takes.FIELDS),
        (dict, Takes.MAPPING),
        (dict[str, Any], Takes.MAPPING),
        (list[int], Takes.ANYTHING),
        (int, Takes.ANYTHING),
        (None, Takes.ANYTHING),
        ("Unknown", Takes.ANYTHING),
    ],
)
def test_the_annotation_says_what_an_entrypoint_takes(hint: Any, takes: Takes) -> None:
    entry = entry_of(taking(hint))
    assert entry is not None
    assert entry.takes is takes


@pytest.mark.parametrize("hint", [None, list, list[dict[str, Any]]])
def test_a_parameter_of_this_name_takes_messages(hint: Any) -> None:
    entry = entry_of(taking(hint, "messages"))
    assert entry is not None
    assert entry.takes is Takes.MESSAGES


def test_a_graph_of_nodes_is_no_entrypoint() -> None:
    assert entry_of(chat_graph(plain())) is None


@pytest.mark.parametrize(
    ("returned", "state"),
    [
        (None, {}),
        (Order("tea"), {"item": "tea"}),
        ({"a": 1}, {"a": 1}),
        (message := AIMessage("hi"), {"messages": [message]}),
        ([message], {"messages": [message]}),
        ((message,), {"messages": [message]}),
    ],
)
def test_a_return_value_is_read_as_a_state(returned: Any, state: Any) -> None:
    assert state_of(returned) == state


@pytest.mark.parametrize(("returned", "text"), [("hi", "hi"), (3, "3"), ([], "[]"), (["a", 1], '["a",1]'), ("", "")])
def test_another_value_is_a_text(returned: Any, text: str) -> None:
    assert [each.content for each in state_of(returned)["messages"]] == [text]


async def test_an_agent_has_the_form_of_messages_that_the_code_reads() -> None:
    @entrypoint()
    async def reads(messages: list[dict[str, Any]]) -> str:
        return f"{messages[-1]['role']}: {messages[-1]['content']}"

    assert whole(await events_of(agent_of(reads), turn("hi"))) == "user: hi"


async def test_a_class_of_messages_is_made() -> None:
    @entrypoint()
    async def reads(chat: Chat) -> AIMessage:
        return AIMessage(f"heard {chat.messages[-1].text}")

    assert whole(await events_of(agent_of(reads), turn("hi"))) == "heard hi"


async def test_a_conversation_that_is_returned_without_an_addition_has_no_answer() -> None:
    @entrypoint()
    async def returns(messages: list[AnyMessage]) -> list[Any]:
        return [AIMessage("old"), *messages]

    events = await events_of(agent_of(returns), turn("hi"))
    assert whole(events) == ""
    assert not any(isinstance(each, Delta) for each in events)


async def test_a_question_without_memory_fails() -> None:
    @entrypoint()
    async def asks(text: str) -> str:
        return str(interrupt("why?"))

    with pytest.raises(AgentError, match="needs a checkpointer"):
        await events_of(agent_of(asks), turn("hi"))


def test_keys_of_a_state_cannot_be_configured() -> None:
    with pytest.raises(ConfigError, match="input_key is 'nope'"):
        check_state(taking(str), StateMapping(input_key="nope"), "target")
    with pytest.raises(ConfigError, match="output_key is 'nope'"):
        check_state(taking(str), StateMapping(output_key="nope"), "target")


def test_a_text_needs_no_fields_on_the_card() -> None:
    graph = taking(str)
    described = introduce(graph, None, state_use(graph, StateMapping()))
    assert (described.skills, described.extensions) == ((), ())


async def test_a_run_that_had_ended_gives_its_answer_again() -> None:
    counts: list[str] = []

    @entrypoint(checkpointer=InMemorySaver())
    async def counted(text: str) -> str:
        counts.append(text)
        return f"{len(counts)}"

    agent = agent_of(counted)
    for text, count in (("one", "1"), ("two", "2")):
        taken = turn(text, task=text)
        assert whole(await events_of(agent, taken)) == count
        assert whole(await events_of(agent, replace(taken, attempt=2))) == count


async def test_a_run_that_was_cut_off_goes_on_and_its_finished_tasks_do_not_run_again() -> None:
    counts: list[str] = []
    go_on = asyncio.Event()

    @task
    async def work(text: str) -> str:
        counts.append(text)
        return text

    @entrypoint(checkpointer=InMemorySaver())
    async def works(text: str) -> str:
        done = await work(text)
        get_stream_writer()("at work")
        await go_on.wait()
        return f"{done} is done"

    agent = agent_of(works)
    events = agent.run(turn("it"))
    await until(events, Progress)
    await events.aclose()
    go_on.set()
    assert whole(await events_of(agent, replace(turn("it"), attempt=2))) == "it is done"
    assert counts == ["it"]
    await agent.close_turn("thread")
    assert whole(await events_of(agent, turn("more", task="next"))) == "more is done"
