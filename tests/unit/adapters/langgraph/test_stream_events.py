from typing import Any

import pytest
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage, ToolMessage

from llamon_agent.adapters.langgraph.stream_events import StreamTranslator
from llamon_agent.domain.events import ArtifactMade, Delta, Progress
from llamon_agent.domain.message import Text


def chunk(message_id: str, text: Any, *, last: bool = False) -> AIMessageChunk:
    return AIMessageChunk(content=text, id=message_id, chunk_position="last" if last else None)


def hear(translator: StreamTranslator, message: BaseMessage, task: str = "t") -> list[Progress | Delta | ArtifactMade]:
    return list(translator.translate(((), "messages", (message, {"langgraph_checkpoint_ns": task}))))


def test_pieces_of_one_message_are_deltas() -> None:
    translator = StreamTranslator()
    assert hear(translator, chunk("a", "Hel")) == [Delta(text="Hel")]
    assert hear(translator, chunk("a", "")) == []
    assert hear(translator, chunk("a", "lo")) == [Delta(text="lo")]


def test_a_later_message_restarts_the_text_once() -> None:
    translator = StreamTranslator()
    hear(translator, chunk("a", "let me see", last=True))
    assert hear(translator, chunk("b", "", last=False), "u") == []
    assert hear(translator, chunk("b", "it "), "u") == [Delta(text="it ", restart=True)]
    assert hear(translator, chunk("b", "is"), "u") == [Delta(text="is")]


def test_a_message_without_text_restarts_nothing() -> None:
    translator = StreamTranslator()
    hear(translator, chunk("a", "", last=True))
    assert hear(translator, chunk("b", "it"), "u") == [Delta(text="it")]


def test_only_one_of_two_parallel_messages_is_spoken() -> None:
    translator = StreamTranslator()
    assert hear(translator, chunk("a", "a1"), "t") == [Delta(text="a1")]
    assert hear(translator, chunk("b", "b1"), "u") == []
    assert hear(translator, chunk("a", "a2", last=True), "t") == [Delta(text="a2")]
    assert hear(translator, chunk("b", "b2"), "u") == []
    assert hear(translator, chunk("c", "c1"), "u") == [Delta(text="c1", restart=True)]


def test_a_task_that_starts_a_new_message_has_left_the_old_one() -> None:
    translator = StreamTranslator()
    hear(translator, chunk("broken", "half a"))
    assert hear(translator, chunk("retry", "all")) == [Delta(text="all", restart=True)]
    assert hear(translator, chunk("broken", " sentence")) == []


def test_a_whole_copy_of_what_was_streamed_is_not_said_twice() -> None:
    translator = StreamTranslator()
    hear(translator, chunk("a", "hello", last=True))
    assert hear(translator, AIMessage("hello", id="copy")) == []


@pytest.mark.parametrize(
    "content",
    [
        [{"type": "thinking", "thinking": "hm"}],
        [{"type": "reasoning", "reasoning": "hm"}],
        [{"type": "image", "url": "x"}],
    ],
)
def test_what_is_not_text_is_not_spoken(content: Any) -> None:
    assert hear(StreamTranslator(), chunk("a", content)) == []


def test_text_blocks_are_spoken_without_the_thinking_beside_them() -> None:
    blocks = [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "yes"}]
    assert hear(StreamTranslator(), AIMessage(blocks, id="a")) == [Delta(text="yes")]  # type: ignore[arg-type]


def test_human_messages_are_not_spoken() -> None:
    assert hear(StreamTranslator(), HumanMessage("hi", id="h")) == []


def test_tools_are_told_of_without_arguments_and_results() -> None:
    translator = StreamTranslator()
    begun = {"event": "tool-started", "tool_name": "search", "input": {"q": "secret"}, "tool_call_id": "1"}
    assert translator.translate(((), "tools", begun)) == (Progress(text="Calling search …"),)
    assert translator.translate(((), "tools", {"event": "tool-finished", "output": "secret"})) == ()
    assert hear(translator, ToolMessage("secret", tool_call_id="1", name="search")) == [
        Progress(text="search has answered.")
    ]
    failed = ToolMessage("secret", tool_call_id="1", status="error")
    assert hear(translator, failed) == [Progress(text="A tool has failed.")]


@pytest.mark.parametrize(
    ("written", "notes"),
    [("Reading", ["Reading"]), ({"progress": "Reading"}, ["Reading"]), ({"rows": 3}, []), ("", []), (7, [])],
)
def test_the_stream_writer_tells_progress(written: Any, notes: list[str]) -> None:
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


def test_an_unknown_mode_says_nothing() -> None:
    assert StreamTranslator().translate(((), "debug", {})) == ()
