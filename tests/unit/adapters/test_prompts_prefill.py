from langchain_core.messages import AIMessage, HumanMessage

from llamon_agent.adapters.prompts import plain_prefill
from llamon_agent.domain.message import Message, Role, Text
from llamon_agent.inbound.a2a.history.converter import prefill_to_lc

TURNS = [
    Message(message_id="1", role=Role.USER, parts=(Text.of("one "), Text.of("and two"))),
    Message(message_id="2", role=Role.AGENT, parts=(Text.of("three"),)),
]


def test_turns_become_human_and_ai_messages_in_order() -> None:
    assert plain_prefill(TURNS) == [HumanMessage("one and two"), AIMessage("three")]


def test_but_for_ids_it_is_what_an_edge_hands_in() -> None:
    handed_in = [message.model_copy(update={"id": None}) for message in prefill_to_lc(TURNS)]
    assert plain_prefill(TURNS) == handed_in
