from typing import Any

import msgspec
import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.func import entrypoint
from langgraph.graph import START, MessagesState, StateGraph
from tests.unit.adapters.langgraph.scripted import calling, chat_graph, plain
from typing_extensions import TypedDict

from llamon_agent.adapters.langgraph.state import GraphResult, StateMapping, check_state, human, result_of_run, state_in
from llamon_agent.adapters.langgraph.thread import Graph
from llamon_agent.domain.errors import AgentError, ConfigError
from llamon_agent.domain.message import Raw, Url


class Question(TypedDict):
    question: str
    answer: str


class Asked(TypedDict):
    question: str


MESSAGES = StateMapping()
QA = StateMapping(input_key="question", output_key="answer")

OLD = AIMessage("old", id="1")


def question_graph() -> Graph:
    builder = StateGraph(Question)
    builder.add_node("node", lambda state: {"answer": state["question"]})
    builder.add_edge(START, "node")
    return builder.compile()


def test_graphs_that_can_be_talked_to_pass_and_no_others() -> None:
    for graph, mapping, other in [(chat_graph(plain()), MESSAGES, QA), (question_graph(), QA, MESSAGES)]:
        check_state(graph, mapping, "t")
        with pytest.raises(ConfigError):
            check_state(graph, other, "t")


@pytest.mark.parametrize(
    ("mapping", "told"),
    [
        (MESSAGES, "does not take and give 'messages'; in a configuration file, set agents.<name>.langgraph.input_key"),
        (StateMapping(input_key="question"), "does not take and give 'messages'"),
        (StateMapping(output_key="answer"), "does not take and give 'messages'"),
        (StateMapping(input_key="nope", output_key="answer"), "input_key is 'nope'"),
        (StateMapping(input_key="question", output_key="nope"), "output_key is 'nope'"),
    ],
)
def test_a_graph_that_could_not_be_talked_to_is_refused_at_start(mapping: StateMapping, told: str) -> None:
    with pytest.raises(ConfigError, match=told) as raised:
        check_state(question_graph(), mapping, "pkg:graph")
    assert raised.value.public.startswith("The target 'pkg:graph': ")


def test_what_a_graph_takes_counts_not_what_its_state_holds() -> None:
    builder = StateGraph(MessagesState, input_schema=Asked)
    builder.add_node("node", lambda state: {})
    builder.add_edge(START, "node")
    with pytest.raises(ConfigError, match="does not take"):
        check_state(builder.compile(), MESSAGES, "t")
    check_state(builder.compile(), StateMapping(input_key="question"), "t")


def test_a_functional_graph_takes_no_messages() -> None:
    @entrypoint()
    async def graph(given: str) -> str:
        return given

    with pytest.raises(ConfigError, match="does not take"):
        check_state(graph, MESSAGES, "t")


def test_the_prompt_goes_where_the_mapping_says() -> None:
    message = HumanMessage("hi", id="1")
    assert state_in(MESSAGES, [OLD, message]) == {"messages": [OLD, message]}
    assert state_in(QA, [message]) == {"question": "hi"}


@pytest.mark.parametrize(
    ("after", "answer"),
    [
        ([OLD], None),
        ([OLD, HumanMessage("q", id="2")], None),
        ([OLD, AIMessage("new", id="2")], "new"),
        ([OLD, AIMessage("a", id="2"), AIMessage("b", id="3"), HumanMessage("note", id="4")], "b"),
        ([AIMessage("changed", id="1")], "changed"),
        ([OLD, AIMessage([{"type": "thinking", "thinking": "t"}, {"type": "text", "text": "x"}], id="2")], "x"),
        ([OLD, calling("a", text="let me"), ToolMessage("direct", tool_call_id="call-a")], "let me"),
        ([OLD, calling("a"), ToolMessage("direct", tool_call_id="call-a")], "direct"),
        ([OLD, AIMessage("", id="2")], ""),
    ],
)
def test_the_answer_is_the_last_ai_message_that_the_run_added(after: Any, answer: str | None) -> None:
    assert result_of_run(MESSAGES, {"messages": [OLD]}, {"messages": after}) == GraphResult(text=answer)


@pytest.mark.parametrize(
    ("after", "answer"),
    [
        ({"answer": "x"}, "x"),
        ({"answer": {"n": [1]}}, '{"n":[1]}'),
        ({"answer": OLD}, "old"),
        ({"answer": None}, None),
        ({}, None),
        (None, None),
    ],
)
def test_a_mapped_answer_is_text_or_json(after: Any, answer: str | None) -> None:
    assert result_of_run(QA, {}, after) == GraphResult(text=answer)


def test_the_current_message_never_takes_an_id_that_the_thread_has() -> None:
    thread = [HumanMessage("a", id="m"), HumanMessage("b", id="m:2")]
    assert [human("c", wanted, thread).id for wanted in ("m", "n")] == ["m:3", "n"]


IMAGE: Any = [{"type": "text", "text": "here"}, {"type": "image", "base64": "AA==", "mime_type": "image/png"}]
PNG = Raw(data=b"\x00", media_type="image/png")


def test_files_in_the_answer_are_beside_its_text() -> None:
    after = {"messages": [AIMessage(IMAGE, id="a"), HumanMessage(IMAGE), AIMessage([*IMAGE, LINK], id="b")]}
    assert result_of_run(MESSAGES, {}, after) == GraphResult(text="here", files=(PNG, Url(url="https://x")))
    assert result_of_run(QA, {}, {"answer": AIMessage(IMAGE)}) == GraphResult(text="here", files=(PNG,))


LINK: Any = {"type": "file", "url": "https://x"}


def test_what_a_tool_keeps_beside_its_result_is_never_told() -> None:
    direct = ToolMessage("direct", tool_call_id="call-a", artifact={"secret": 1})
    assert result_of_run(MESSAGES, {}, {"messages": [calling("a"), direct]}) == GraphResult(text="direct")


def test_a_structured_response_is_data() -> None:
    after = {"messages": [AIMessage('{"n":[1]}')], "structured_response": {"n": (1,)}}
    assert result_of_run(MESSAGES, {}, after) == GraphResult(text='{"n":[1]}', data={"n": [1]})


def test_a_structured_response_made_by_a_tool_call_is_also_the_text() -> None:
    after = {
        "messages": [calling("a"), ToolMessage("Returning", tool_call_id="call-a")],
        "structured_response": {"n": 1},
    }
    assert result_of_run(MESSAGES, {}, after) == GraphResult(text='{"n":1}', data={"n": 1})


@pytest.mark.parametrize(("again", "data"), [(True, {"n": 1}), (False, msgspec.UNSET)])
def test_a_structured_response_of_an_earlier_turn_is_told_again_only_if_made_again(again: bool, data: object) -> None:
    old = {"n": 1}
    after = {"structured_response": dict(old) if again else old}
    assert result_of_run(MESSAGES, {"structured_response": old}, after).data == data


def test_a_graph_that_takes_text_is_given_no_files() -> None:
    with pytest.raises(AgentError, match="text and data only"):
        state_in(QA, [HumanMessage(IMAGE)])
