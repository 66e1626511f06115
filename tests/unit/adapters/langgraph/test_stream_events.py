"""The stream of a graph's run as run events."""

from typing import Any

import pytest
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage, ToolMessage

from llamon_agent.adapters.langgraph.stream_events import StreamTranslator
from llamon_agent.domain.events import ArtifactMade, Delta, Progress
from llamon_agent.domain.message import Text


def ai_chunk(message_id: str, text: Any, *, last: bool = False) -> AIMessageChunk:
    return AIMessageChunk(content=text, id=message_id, chunk_position="last" if last else None)


def events_of_message(
    translator: StreamTranslator, message: BaseMessage, task: str = "t"
) -> list[Progress | Delta | ArtifactMade]:
    return list(translator.translate(((), "messages", (message, {"langgraph_checkpoint_ns": task}))))


def test_pieces_of_one_message_are_deltas() -> None:
    translator = StreamTranslator()
    assert events_of_message(translator, ai_chunk("a", "Hel")) == [Delta(text="Hel")]
    assert events_of_message(translator, ai_chunk("a", "")) == []
    assert events_of_message(translator, ai_chunk("a", "lo")) == [Delta(text="lo")]


DROPPED = Delta(text="", restart=True)


def values_of(translator: StreamTranslator, *messages: BaseMessage) -> list[Any]:
    return list(translator.translate(((), "values", {"messages": list(messages)})))


def test_a_message_that_has_ended_is_dropped_until_the_state_has_it() -> None:
    translator = StreamTranslator()
    assert values_of(translator) == []
    assert events_of_message(translator, ai_chunk("a", "hello", last=True)) == [Delta(text="hello"), DROPPED]
    assert values_of(translator, AIMessage("hello", id="a")) == [Delta(text="hello", restart=True)]
    assert values_of(translator, AIMessage("hello", id="a")) == []


def test_a_message_that_breaks_off_is_dropped_if_its_step_ends_without_it() -> None:
    translator = StreamTranslator()
    values_of(translator)
    events_of_message(translator, ai_chunk("a", "half a"))
    assert values_of(translator) == [DROPPED]


def test_a_copy_that_a_later_step_puts_into_the_state_brings_the_text_back() -> None:
    translator = StreamTranslator()
    values_of(translator)
    events_of_message(translator, ai_chunk("a", "a draft", last=True))
    assert values_of(translator) == []
    copy = AIMessage("a draft", id="b")
    assert events_of_message(translator, copy, "u") == []
    assert values_of(translator, copy) == [Delta(text="a draft", restart=True)]


def test_the_states_of_inner_graphs_decide_nothing() -> None:
    translator = StreamTranslator()
    events_of_message(translator, ai_chunk("a", "hello", last=True))
    assert translator.translate((("inner:1",), "values", {"messages": [AIMessage("hello", id="a")]})) == ()


def test_a_later_message_takes_the_place_of_one_that_has_ended() -> None:
    translator = StreamTranslator()
    events_of_message(translator, ai_chunk("a", "let me see", last=True))
    assert events_of_message(translator, ai_chunk("b", "", last=False), "u") == []
    assert events_of_message(translator, ai_chunk("b", "it "), "u") == [Delta(text="it ")]
    assert events_of_message(translator, ai_chunk("b", "is"), "u") == [Delta(text="is")]


def test_a_message_without_text_restarts_nothing() -> None:
    translator = StreamTranslator()
    events_of_message(translator, ai_chunk("a", "", last=True))
    assert events_of_message(translator, ai_chunk("b", "it"), "u") == [Delta(text="it")]


def test_only_one_of_two_parallel_messages_is_sent() -> None:
    translator = StreamTranslator()
    assert events_of_message(translator, ai_chunk("a", "a1"), "t") == [Delta(text="a1")]
    assert events_of_message(translator, ai_chunk("b", "b1"), "u") == []
    assert events_of_message(translator, ai_chunk("a", "a2", last=True), "t") == [Delta(text="a2"), DROPPED]
    assert events_of_message(translator, ai_chunk("b", "b2"), "u") == []
    assert events_of_message(translator, ai_chunk("c", "c1"), "u") == [Delta(text="c1")]


def test_a_task_that_starts_a_new_message_has_left_the_old_one() -> None:
    translator = StreamTranslator()
    events_of_message(translator, ai_chunk("broken", "half a"))
    assert events_of_message(translator, ai_chunk("retry", "all")) == [Delta(text="all", restart=True)]
    assert events_of_message(translator, ai_chunk("broken", " sentence")) == []


def test_a_whole_copy_of_a_streamed_message_is_not_sent_again() -> None:
    translator = StreamTranslator()
    events_of_message(translator, ai_chunk("a", "hello", last=True))
    assert events_of_message(translator, AIMessage("hello", id="copy")) == []


@pytest.mark.parametrize(
    "content",
    [
        [{"type": "thinking", "thinking": "hm"}],
        [{"type": "reasoning", "reasoning": "hm"}],
        [{"type": "image", "url": "x"}],
    ],
)
def test_only_text_is_sent(content: Any) -> None:
    assert events_of_message(StreamTranslator(), ai_chunk("a", content)) == []


def test_text_blocks_are_sent_without_the_reasoning_next_to_them() -> None:
    blocks = [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "yes"}]
    assert events_of_message(StreamTranslator(), AIMessage(blocks, id="a")) == [Delta(text="yes"), DROPPED]  # type: ignore[arg-type]


def test_human_messages_are_not_sent() -> None:
    assert events_of_message(StreamTranslator(), HumanMessage("hi", id="h")) == []


def test_a_hand_back_is_neither_sent_nor_progress_nor_the_text_at_a_pause() -> None:
    translator = StreamTranslator(goes_on=True)
    back: dict[str, Any] = {"response_metadata": {"__is_handoff_back": True}}
    handed_back = [
        AIMessage("Transferring back to supervisor", id="b", **back),
        ToolMessage("Successfully transferred back", tool_call_id="b", name="transfer_back", **back),
    ]
    said = AIMessage("The bill is paid.", id="a")
    assert events_of_message(translator, said) == [Delta(text="The bill is paid."), DROPPED]
    assert [events_of_message(translator, message) for message in handed_back] == [[], []]
    assert translator.at_pause([said, *handed_back]) == (Delta(text="The bill is paid.", restart=True),)
    fresh = StreamTranslator(goes_on=True)
    assert fresh.at_pause([said, *handed_back]) == (Delta(text="The bill is paid.", restart=True),)


def test_progress_names_tools_without_arguments_and_results() -> None:
    translator = StreamTranslator()
    begun = {"event": "tool-started", "tool_name": "search", "input": {"q": "secret"}, "tool_call_id": "1"}
    assert translator.translate(((), "tools", begun)) == (Progress(text="Calling search …"),)
    assert translator.translate(((), "tools", {"event": "tool-finished", "output": "secret"})) == ()
    assert events_of_message(translator, ToolMessage("secret", tool_call_id="1", name="search")) == [
        Progress(text="search has answered.")
    ]
    failed = ToolMessage("secret", tool_call_id="1", status="error")
    assert events_of_message(translator, failed) == [Progress(text="A tool has failed.")]


@pytest.mark.parametrize(
    ("written", "notes"),
    [("Reading", ["Reading"]), ({"progress": "Reading"}, ["Reading"]), ({"rows": 3}, []), ("", []), (7, [])],
)
def test_the_stream_writer_makes_progress(written: Any, notes: list[str]) -> None:
    heard = StreamTranslator().translate((("sub",), "custom", written))
    assert list(heard) == [Progress(text=note) for note in notes]


def test_the_stream_writer_makes_artifacts() -> None:
    written = {"artifact": {"name": "report", "parts": [{"text": "a"}]}}
    ((first,), (second,)) = (StreamTranslator().translate((("sub",), "custom", written)) for _ in range(2))
    assert isinstance(first, ArtifactMade)
    assert isinstance(second, ArtifactMade)
    assert (first.artifact.name, first.artifact.parts) == ("report", (Text.of("a"),))
    assert first.artifact.artifact_id != second.artifact.artifact_id


def test_an_artifact_in_other_words_is_passed_over_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    assert StreamTranslator().translate(((), "custom", {"artifact": "secret"})) == ()
    assert "artifact" in caplog.text
    assert "secret" not in caplog.text
    assert StreamTranslator().translate(((), "custom", {"artifact": {}, "more": 1})) == ()


def test_the_state_at_start_and_so_far_is_the_root_graphs() -> None:
    translator = StreamTranslator()
    for namespace, values in (((), {"n": 0}), (("sub",), {"n": 9}), ((), {"n": 1, "__interrupt__": ()})):
        assert translator.translate((namespace, "values", values)) == ()
    assert (translator.before, translator.after, translator.interrupted) == (
        {"n": 0},
        {"n": 1, "__interrupt__": ()},
        True,
    )


def test_an_unknown_mode_gives_no_event() -> None:
    assert StreamTranslator().translate(((), "debug", {})) == ()


def test_the_keys_that_nodes_wrote_are_kept() -> None:
    translator = StreamTranslator("")
    for namespace, update in [
        ((), {"one": {"a": 1}, "two": None}),
        ((), {"three": [{"b": 1}, {"c": 1}]}),
        ((), {"__interrupt__": ()}),
        (("inner:1",), {"four": {"d": 1}}),
    ]:
        assert translator.translate((namespace, "updates", update)) == ()
    assert translator.written == {"a", "b", "c"}
