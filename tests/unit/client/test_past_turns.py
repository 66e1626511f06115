"""Past turns of any form as the history that the contract describes."""

import pytest
from a2a.types import a2a_pb2 as pb
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage

from llamon_agent.client.past_turns import PastTurn, history_out
from llamon_agent.domain.profile import MAX_SEEDED_TURNS
from llamon_agent.inbound.a2a.history.converter import _MAX_PREFILL_TURNS, convert_a2a_history_to_lc


def texts(turns: list[PastTurn], version: str = "1.0") -> list[tuple[str, str]]:
    return [(turn["role"], turn["parts"][0]["text"]) for turn in history_out(turns, version)]


def test_the_cap_is_the_one_of_the_edge() -> None:
    assert MAX_SEEDED_TURNS == _MAX_PREFILL_TURNS == 10


def test_the_newest_ten_are_sent_in_order() -> None:
    assert [text for _, text in texts([("user", str(n)) for n in range(12)])] == [str(n) for n in range(2, 12)]


@pytest.mark.parametrize(
    "turns",
    [
        [HumanMessage("hi"), AIMessage("hello")],
        [("user", "hi"), ("assistant", "hello")],
        [("human", "hi"), ("ai", "hello")],
        [
            pb.Message(role=pb.Role.ROLE_USER, parts=[pb.Part(text="hi")]),
            pb.Message(role=pb.Role.ROLE_AGENT, parts=[pb.Part(text="hel"), pb.Part(text="lo")]),
        ],
    ],
)
def test_every_form_of_a_turn_is_taken(turns: list[PastTurn]) -> None:
    assert texts(turns) == [("ROLE_USER", "hi"), ("ROLE_AGENT", "hello")]


def test_what_neither_side_said_in_words_is_left_out_and_not_counted() -> None:
    call = AIMessage("", tool_calls=[{"name": "look", "args": {}, "id": "1"}])
    noise: list[PastTurn] = [SystemMessage("be kind"), call, ToolMessage("42", tool_call_id="1"), ("system", "x")]
    assert texts([HumanMessage("first"), *noise * 4]) == [("ROLE_USER", "first")]


@pytest.mark.parametrize("version", ["0.3", "1.0"])
def test_our_own_edge_reads_it_in_either_version(version: str) -> None:
    read = convert_a2a_history_to_lc(history_out([("user", "hi"), ("agent", "hello")], version))
    assert [(type(message), message.content) for message in read] == [(HumanMessage, "hi"), (AIMessage, "hello")]


def test_the_old_version_is_spelled_as_it_should_be() -> None:
    assert history_out([HumanMessage("hi", id="h1")], "0.3") == [
        {"kind": "message", "messageId": "h1", "role": "user", "parts": [{"kind": "text", "text": "hi"}]}
    ]
