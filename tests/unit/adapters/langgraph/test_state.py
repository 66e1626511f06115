"""How a message goes into a graph's state, and the answer comes out of it."""

import logging
import operator
from typing import Annotated, Any

import msgspec
import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langgraph.graph import START, MessagesState, StateGraph
from tests.unit.adapters.langgraph.scripted import calling, chat_graph, plain
from typing_extensions import TypedDict

from llamon_agent.adapters.langgraph.schema import Placed
from llamon_agent.adapters.langgraph.state import (
    GraphResult,
    StateMapping,
    check_memory,
    check_state,
    content_of,
    files_in,
    result_of_run,
    result_with_fields,
    state_in,
    state_use,
)
from llamon_agent.adapters.langgraph.thread import Graph
from llamon_agent.domain.errors import AgentError, ConfigError
from llamon_agent.domain.message import Data, Message, Part, Raw, Role, Text, Url


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


def test_graphs_that_take_a_prompt_and_give_an_answer_pass() -> None:
    for graph, mapping in [(chat_graph(plain()), MESSAGES), (question_graph(), QA), (question_graph(), MESSAGES)]:
        check_state(graph, mapping, "t")
    with pytest.raises(ConfigError):
        check_state(chat_graph(plain()), QA, "t")


@pytest.mark.parametrize(
    ("mapping", "told"),
    [
        (StateMapping(input_key="nope", output_key="answer"), "input_key is 'nope'"),
        (StateMapping(input_key="question", output_key="nope"), "output_key is 'nope'"),
    ],
)
def test_a_mapping_to_keys_that_are_not_there_is_refused_at_start(mapping: StateMapping, told: str) -> None:
    with pytest.raises(ConfigError, match=told) as raised:
        check_state(question_graph(), mapping, "pkg:graph", "helper")
    assert raised.value.public.startswith("The target 'pkg:graph': ")


def test_a_graph_whose_text_has_no_field_starts_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    check_state(question_graph(), MESSAGES, "pkg:graph")
    assert "text belongs to no single field of its input (question, answer)" in caplog.text


def asking_graph(output: Any = None) -> Graph:
    """A graph that takes a question and keeps messages."""
    builder = StateGraph(MessagesState, input_schema=Asked, output_schema=output)
    builder.add_node("node", lambda state: {})
    builder.add_edge(START, "node")
    return builder.compile()


@pytest.mark.parametrize(
    ("graph", "mapping", "takes_fields", "gives_fields", "reads_messages", "streamed_key"),
    [
        (chat_graph(plain()), MESSAGES, False, False, True, None),
        (chat_graph(plain()), StateMapping(output_key="messages"), False, False, False, "messages"),
        (question_graph(), MESSAGES, True, True, False, ""),
        (question_graph(), QA, False, False, False, "answer"),
        (question_graph(), StateMapping(input_key="question"), False, True, False, "answer"),
        (question_graph(), StateMapping(output_key="answer"), True, False, False, "answer"),
        (asking_graph(), MESSAGES, True, True, True, None),
        (asking_graph(Asked), MESSAGES, True, True, False, "question"),
        (asking_graph(), StateMapping(input_key="question"), False, False, True, None),
    ],
)
def test_how_a_state_is_used(
    graph: Graph,
    mapping: StateMapping,
    takes_fields: bool,
    gives_fields: bool,
    reads_messages: bool,
    streamed_key: str | None,
) -> None:
    use = state_use(graph, mapping)
    used = (use.takes_fields, use.gives_fields, use.reads_messages, use.streamed_key)
    assert used == (takes_fields, gives_fields, reads_messages, streamed_key)


@pytest.mark.parametrize(
    ("parts", "placed"),
    [
        ((Text.of("a"), Text.of("b")), Placed({"question": "a\nb"})),
        ((Raw(data=b"t", media_type="text/plain"),), Placed({"question": "t"})),
        ((Data(data={"question": "q"}), Text.of("")), Placed({"question": "q"})),
        (
            (Raw(data=b"t", media_type="image/png"),),
            Placed(problem="This agent takes text and data only; send no files."),
        ),
    ],
)
def test_a_message_is_placed_by_its_parts(parts: tuple[Part, ...], placed: Placed) -> None:
    message = Message(message_id="1", role=Role.USER, parts=parts)
    assert state_use(asking_graph(), MESSAGES).placed(message, {}) == placed
    assert state_use(question_graph(), QA).placed(message, {}) is None


@pytest.mark.parametrize(
    ("before", "after", "text", "data"),
    [
        (None, {"question": "q"}, None, msgspec.UNSET),
        (None, {"question": "q", "answer": "a"}, "a", {"answer": "a"}),
        (None, {"question": "Q"}, "Q", {"question": "Q"}),
        ("said", {"question": "q", "answer": "a"}, "said", {"answer": "a"}),
    ],
)
def test_fields_are_data_and_their_only_string_is_the_text(before: Any, after: Any, text: Any, data: Any) -> None:
    use = state_use(question_graph(), StateMapping(input_key="question"))
    result = result_with_fields(use, GraphResult(text=before), {"question": "q"}, after, (), ("question",))
    assert (result.text, result.data) == (text, data)


def test_fields_without_a_single_string_are_text_as_json() -> None:
    use = state_use(question_graph(), MESSAGES)
    result = result_with_fields(use, GraphResult(), {}, {"question": "q", "answer": "a"}, (), ())
    assert result.text == '{"question":"q","answer":"a"}'
    assert result.data_name == "output"


def test_the_prompt_goes_where_the_mapping_says() -> None:
    message = HumanMessage("hi", id="1")
    assert state_in(MESSAGES, [OLD, message]) == {"messages": [OLD, message]}
    assert state_in(QA, [message]) == {"question": "hi"}


@pytest.mark.parametrize(
    ("after", "answer"),
    [
        ([OLD], None),
        ([OLD, SystemMessage("s", id="2")], None),
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
    ("added", "logged"),
    [
        ([HumanMessage("secret", id="2"), SystemMessage("secret", id="3")], "(the last ones: human, system)"),
        ([AIMessage("", id="2")], "(the last ones: ai without text)"),
        ([{"rows": "secret"}], "(the last ones: dict)"),
    ],
)
def test_a_run_without_an_answer_logs_the_kinds_of_what_it_added(
    added: Any, logged: str, caplog: pytest.LogCaptureFixture
) -> None:
    assert not result_of_run(MESSAGES, {"messages": [OLD]}, {"messages": [OLD, *added]}).text
    (line,) = caplog.messages
    assert line.startswith("the task has no text: ")
    assert logged in line
    assert "secret" not in line


@pytest.mark.parametrize(
    ("mapping", "after"),
    [
        (MESSAGES, {"messages": [OLD]}),
        (MESSAGES, {"messages": [OLD, AIMessage("new", id="2")]}),
        (MESSAGES, {"messages": [OLD, SystemMessage("s", id="2")], "structured_response": {"n": 1}}),
        (QA, {"messages": [OLD, SystemMessage("s", id="2")]}),
    ],
)
def test_a_run_that_answers_or_adds_nothing_logs_nothing(
    mapping: StateMapping, after: Any, caplog: pytest.LogCaptureFixture
) -> None:
    result_of_run(mapping, {"messages": [OLD]}, after)
    assert caplog.messages == []


def test_a_string_that_a_node_returned_is_the_answer_unless_the_caller_sent_it() -> None:
    after = {"messages": [OLD, HumanMessage("text", id="2")]}
    assert result_of_run(MESSAGES, {"messages": [OLD]}, after).text == "text"
    assert result_of_run(MESSAGES, {"messages": [OLD]}, after, lambda message: message.id == "2").text is None


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


IMAGE: Any = [{"type": "text", "text": "here"}, {"type": "image", "base64": "AA==", "mime_type": "image/png"}]
PNG = Raw(data=b"\x00", media_type="image/png")


def test_files_in_the_answer_come_besides_its_text() -> None:
    after = {"messages": [AIMessage(IMAGE, id="a"), HumanMessage(IMAGE), AIMessage([*IMAGE, LINK], id="b")]}
    assert result_of_run(MESSAGES, {}, after) == GraphResult(text="here", files=(PNG, Url(url="https://x")))
    assert result_of_run(QA, {}, {"answer": AIMessage(IMAGE)}) == GraphResult(text="here", files=(PNG,))


LINK: Any = {"type": "file", "url": "https://x"}


def test_a_tools_own_artifact_never_reaches_the_caller() -> None:
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
def test_a_structured_response_of_an_earlier_turn_counts_again_only_if_made_again(again: bool, data: object) -> None:
    old = {"n": 1}
    after = {"structured_response": dict(old) if again else old}
    assert result_of_run(MESSAGES, {"structured_response": old}, after).data == data


def test_a_graph_that_takes_text_is_given_no_files() -> None:
    with pytest.raises(AgentError, match="text and data only"):
        state_in(QA, [HumanMessage(IMAGE)])


class Plus(TypedDict):
    messages: Annotated[list[Any], operator.add]


def plus_graph() -> Any:
    builder = StateGraph(Plus)
    builder.add_node("node", lambda state: {"messages": []})
    builder.add_edge(START, "node")
    return builder.compile()


def test_a_window_needs_messages_that_can_be_removed() -> None:
    check_memory(plus_graph(), None, "t")
    check_memory(chat_graph(plain()), 4, "t")
    with pytest.raises(ConfigError, match="add_messages"):
        check_memory(plus_graph(), 4, "t")
    with pytest.raises(ConfigError, match="at least 1"):
        check_memory(chat_graph(plain()), 0, "t")


def content(*parts: Part, prompt: str = "") -> Any:
    return content_of(Message(message_id="m", role=Role.USER, parts=parts), prompt)


def test_text_alone_is_the_prompt() -> None:
    assert content(Text.of("a"), Text.of("b"), prompt="a\nb") == "a\nb"


def test_data_is_json_text_and_stays_a_string() -> None:
    assert content(Text.of("see"), Data(data={"n": [1]}), prompt="see") == 'see\n{"n":[1]}'
    assert content(Data(data=None)) == "null"


@pytest.mark.parametrize(
    ("part", "block"),
    [
        (Raw(data=b"\x00", media_type="image/png"), {"type": "image", "base64": "AA==", "mime_type": "image/png"}),
        (
            Url(url="http://x/a.wav", media_type="audio/wav"),
            {"type": "audio", "url": "http://x/a.wav", "mime_type": "audio/wav"},
        ),
        (
            Raw(data=b"x", media_type="application/pdf", filename="a.pdf"),
            {"type": "file", "base64": "eA==", "mime_type": "application/pdf", "extras": {"filename": "a.pdf"}},
        ),
        (Url(url="http://x/y"), {"type": "file", "url": "http://x/y", "mime_type": "application/octet-stream"}),
        (Url(url="http://x/y", media_type="text/csv"), {"type": "file", "url": "http://x/y", "mime_type": "text/csv"}),
        (
            Raw(data=b"x", media_type="Application/PDF; version=1"),
            {"type": "file", "base64": "eA==", "mime_type": "application/pdf", "extras": {"filename": "file.pdf"}},
        ),
        (
            Raw(data=b"\xff\xfe", media_type="text/csv"),
            {"type": "file", "base64": "//4=", "mime_type": "text/csv", "extras": {"filename": "file.csv"}},
        ),
    ],
)
def test_a_file_is_a_block_next_to_the_text(part: Part, block: Any) -> None:
    assert content(Text.of("see"), part, prompt="see") == [{"type": "text", "text": "see"}, block]


@pytest.mark.parametrize(
    ("file", "text"),
    [
        (Raw(data=b"n\n1", media_type="text/csv"), "n\n1"),
        (Raw(data=b"n\n1", media_type="text/csv; charset=utf-8", filename="n.csv"), "n.csv:\nn\n1"),
        (Raw(data=b'{"n":1}', media_type="application/json"), '{"n":1}'),
        (Raw(data=b"<a/>", media_type="image/svg+xml"), "<a/>"),
        (Raw(data="\ufeffgrün".encode(), media_type="text/plain"), "grün"),
    ],
)
def test_a_file_of_text_is_text_that_every_model_reads(file: Part, text: str) -> None:
    assert content(Text.of("see"), file, prompt="see") == f"see\n{text}"


def test_files_and_text_stay_in_the_order_of_the_parts() -> None:
    image = Raw(data=b"\x00", media_type="image/png")
    blocks = content(image, Raw(data=b"a", media_type="text/plain"), Data(data=1), Text.of("b"), prompt="b")
    assert [block["type"] for block in blocks] == ["image", "text", "text", "text"]
    assert [block.get("text") for block in blocks[1:]] == ["a", "1", "b"]


# Towards the caller.

PNG_URL = "data:image/png;base64,AP8="


@pytest.mark.parametrize(
    ("block", "file"),
    [
        ({"type": "image", "base64": "AP8=", "mime_type": "image/png"}, Raw(data=b"\0\xff", media_type="image/png")),
        ({"type": "image", "base64": "AP\n8=", "mime_type": "image/png"}, Raw(data=b"\0\xff", media_type="image/png")),
        (
            {"type": "file", "base64": "AP8=", "mime_type": "application/pdf", "extras": {"filename": "a.pdf"}},
            Raw(data=b"\0\xff", media_type="application/pdf", filename="a.pdf"),
        ),
        (
            {"type": "audio", "url": "https://x/a", "mime_type": "audio/wav"},
            Url(url="https://x/a", media_type="audio/wav"),
        ),
        ({"type": "video", "url": "https://x/a", "mime_type": 7}, Url(url="https://x/a")),
        (
            {"type": "text-plain", "text": "abc", "title": "a.txt"},
            Raw(data=b"abc", media_type="text/plain", filename="a.txt"),
        ),
        ({"type": "image_url", "image_url": {"url": PNG_URL}}, Raw(data=b"\0\xff", media_type="image/png")),
    ],
)
def test_a_file_in_a_message_is_found(block: Any, file: Part) -> None:
    assert files_in(AIMessage([{"type": "text", "text": "here"}, block])) == [file]


@pytest.mark.parametrize(
    "said",
    [
        "only text",
        [{"type": "thinking", "thinking": "hm", "base64": "AP8="}],
        [{"type": "reasoning", "reasoning": "hm", "extras": {"base64": "AP8="}}],
        [{"type": "tool_use", "id": "1", "name": "draw", "input": {"base64": "AP8="}}],
    ],
)
def test_what_is_no_file_stays_inside(said: Any) -> None:
    assert files_in(AIMessage(said)) == []


@pytest.mark.parametrize(
    "block",
    [{"type": "file", "file_id": "secret-1"}, {"type": "image", "base64": "%%%%", "mime_type": "image/png"}],
)
def test_a_file_that_cannot_be_read_is_left_out_with_a_warning(block: Any, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        assert files_in(AIMessage([block])) == []
    assert "cannot be read here" in caplog.text
    assert "secret-1" not in caplog.text
