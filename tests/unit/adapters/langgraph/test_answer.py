"""Which message of a run is its answer. The hand-offs have the shapes of langgraph-supervisor 0.0.31 and
langgraph-swarm 0.1.
"""

from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from tests.unit.adapters.langgraph.scripted import calling

from llamon_agent.adapters.langgraph.answer import (
    added_messages,
    answer_of,
    is_handoff_back,
    kinds_added,
    string_of_node,
)

BACK: dict[str, Any] = {"response_metadata": {"__is_handoff_back": True}}
AWAY: dict[str, Any] = {"response_metadata": {"__handoff_destination": "expert"}}

TO_EXPERT = [
    calling("transfer_to_expert"),
    ToolMessage("Successfully transferred to expert", tool_call_id="call-transfer_to_expert", **AWAY),
]
TO_BOB = [
    calling("transfer_to_bob"),
    ToolMessage("Successfully transferred to bob", tool_call_id="call-transfer_to_bob"),
]
HAND_BACK = [
    AIMessage(
        "Transferring back to supervisor",
        tool_calls=[{"name": "transfer_back_to_supervisor", "args": {}, "id": "back"}],
        **BACK,
    ),
    ToolMessage("Successfully transferred back to supervisor", tool_call_id="back", **BACK),
]
PAID = AIMessage("The bill is paid.")
EMPTY = AIMessage("")
LOOK = calling("look", text="let me look")
LOOKED = ToolMessage("it is there", tool_call_id="call-look")
IMAGE = AIMessage([{"type": "image", "base64": "AA==", "mime_type": "image/png"}])


@pytest.mark.parametrize(
    ("added", "answer"),
    [
        ([*TO_EXPERT, PAID, *HAND_BACK], PAID),
        ([*TO_EXPERT, PAID, *HAND_BACK, EMPTY], PAID),
        ([*TO_EXPERT, PAID, *HAND_BACK, AIMessage("Done.")], AIMessage("Done.")),
        ([*TO_EXPERT, calling("look"), LOOKED, *HAND_BACK], LOOKED),
        ([*TO_EXPERT, *HAND_BACK], TO_EXPERT[0]),
        (TO_EXPERT, TO_EXPERT[0]),
        (HAND_BACK, None),
        ([*TO_BOB, PAID], PAID),
    ],
)
def test_a_handoff_is_no_answer(added: list[BaseMessage], answer: BaseMessage | None) -> None:
    assert answer_of(added) == answer


@pytest.mark.parametrize(
    ("added", "answer"),
    [
        ([PAID, LOOK, LOOKED], PAID),
        ([PAID, LOOK, LOOKED, EMPTY], PAID),
        ([LOOK, LOOKED], LOOK),
        ([LOOK, LOOKED, EMPTY], LOOK),
        ([PAID, calling("look"), LOOKED], LOOKED),
        ([PAID, IMAGE], IMAGE),
        ([IMAGE, EMPTY], IMAGE),
        ([EMPTY, HumanMessage("note")], EMPTY),
        ([], None),
    ],
)
def test_the_last_message_with_content_and_without_tool_calls_goes_first(
    added: list[BaseMessage], answer: BaseMessage | None
) -> None:
    assert answer_of(added) == answer


def test_what_a_run_added_is_what_is_new_or_has_changed() -> None:
    old, kept = AIMessage("a", id="1"), AIMessage("b", id="2")
    changed, new = AIMessage("A", id="1"), AIMessage("a", id="3")
    assert added_messages({"messages": [old, kept]}, {"messages": [changed, kept, new]}) == [changed, new]
    assert added_messages(None, {"messages": [old]}) == [old]
    assert added_messages({"messages": [old]}, None) == []


def test_only_the_messages_of_the_way_back_are_hand_backs() -> None:
    assert [is_handoff_back(message) for message in (*HAND_BACK, *TO_EXPERT, PAID)] == [True, True, False, False, False]


SENT = HumanMessage("hi", id="sent")
OWN = HumanMessage("text", id="own")


@pytest.mark.parametrize(
    ("added", "answer"),
    [
        ([OWN], OWN),
        ([SENT, OWN], OWN),
        ([ToolMessage("r", tool_call_id="1"), OWN], OWN),
        ([SENT], None),
        ([OWN, SENT], None),
        ([OWN, SystemMessage("s")], None),
        ([EMPTY, OWN], None),
        ([HumanMessage("rewritten", id="old")], None),
        ([], None),
    ],
)
def test_a_human_message_is_the_answer_only_if_the_run_wrote_it_last_and_no_ai_message(
    added: list[BaseMessage], answer: BaseMessage | None
) -> None:
    before = {"messages": [HumanMessage("original", id="old")]}
    assert string_of_node(added, before, lambda message: message.id == "sent") == answer


@pytest.mark.parametrize(
    ("added", "kinds"),
    [
        ([SENT, SystemMessage("s")], ["human", "system"]),
        ([*TO_EXPERT, *HAND_BACK, EMPTY], ["ai with tool calls", *["hand-off"] * 3, "ai without text"]),
        ([LOOKED, 7], ["tool"]),
        ([{"rows": 3}, 7], ["dict", "int"]),
        ([], []),
    ],
)
def test_the_kinds_of_what_a_run_added_are_named_without_content(added: list[Any], kinds: list[str]) -> None:
    old = [AIMessage("a", id="1"), {"old": 1}]
    assert kinds_added({"messages": old}, {"messages": [*old, *added]}) == kinds
