from typing import Any

import pytest
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage, ToolMessage

from llamon_agent.adapters.langgraph.stream_events import Speech
from llamon_agent.domain.events import ArtifactMade, Delta, Progress
from llamon_agent.domain.message import Text


def chunk(message_id: str, text: Any, *, last: bool = False) -> AIMessageChunk:
    return AIMessageChunk(content=text, id=message_id, chunk_position="last" if last else None)


def hear(speech: Speech, message: BaseMessage, task: str = "t") -> list[Progress | Delta | ArtifactMade]:
    return list(speech.hear(((), "messages", (message, {"langgraph_checkpoint_ns": task}))))


def test_pieces_of_one_message_are_deltas() -> None:
    speech = Speech()
    assert hear(speech, chunk("a", "Hel")) == [Delta(text="Hel")]
    assert hear(speech, chunk("a", "")) == []
    assert hear(speech, chunk("a", "lo")) == [Delta(text="lo")]


def test_a_later_message_restarts_the_text_once() -> None:
    speech = Speech()
    hear(speech, chunk("a", "let me see", last=True))
    assert hear(speech, chunk("b", "", last=False), "u") == []
    assert hear(speech, chunk("b", "it "), "u") == [Delta(text="it ", restart=True)]
    assert hear(speech, chunk("b", "is"), "u") == [Delta(text="is")]


def test_a_message_without_text_restarts_nothing() -> None:
    speech = Speech()
    hear(speech, chunk("a", "", last=True))
    assert hear(speech, chunk("b", "it"), "u") == [Delta(text="it")]


def test_only_one_of_two_parallel_messages_is_spoken() -> None:
    speech = Speech()
    assert hear(speech, chunk("a", "a1"), "t") == [Delta(text="a1")]
    assert hear(speech, chunk("b", "b1"), "u") == []
    assert hear(speech, chunk("a", "a2", last=True), "t") == [Delta(text="a2")]
    assert hear(speech, chunk("b", "b2"), "u") == []
    assert hear(speech, chunk("c", "c1"), "u") == [Delta(text="c1", restart=True)]


def test_a_task_that_starts_a_new_message_has_left_the_old_one() -> None:
    speech = Speech()
    hear(speech, chunk("broken", "half a"))
    assert hear(speech, chunk("retry", "all")) == [Delta(text="all", restart=True)]
    assert hear(speech, chunk("broken", " sentence")) == []


def test_a_whole_copy_of_what_was_streamed_is_not_said_twice() -> None:
    speech = Speech()
    hear(speech, chunk("a", "hello", last=True))
    assert hear(speech, AIMessage("hello", id="copy")) == []


@pytest.mark.parametrize(
    "content",
    [
        [{"type": "thinking", "thinking": "hm"}],
        [{"type": "reasoning", "reasoning": "hm"}],
        [{"type": "image", "url": "x"}],
    ],
)
def test_what_is_not_text_is_not_spoken(content: Any) -> None:
    assert hear(Speech(), chunk("a", content)) == []


def test_text_blocks_are_spoken_without_the_thinking_beside_them() -> None:
    blocks = [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "yes"}]
    assert hear(Speech(), AIMessage(blocks, id="a")) == [Delta(text="yes")]  # type: ignore[arg-type]


def test_human_messages_are_not_spoken() -> None:
    assert hear(Speech(), HumanMessage("hi", id="h")) == []


def test_tools_are_told_of_without_arguments_and_results() -> None:
    speech = Speech()
    begun = {"event": "tool-started", "tool_name": "search", "input": {"q": "secret"}, "tool_call_id": "1"}
    assert speech.hear(((), "tools", begun)) == (Progress(text="Calling search …"),)
    assert speech.hear(((), "tools", {"event": "tool-finished", "output": "secret"})) == ()
    assert hear(speech, ToolMessage("secret", tool_call_id="1", name="search")) == [
        Progress(text="search has answered.")
    ]
    failed = ToolMessage("secret", tool_call_id="1", status="error")
    assert hear(speech, failed) == [Progress(text="A tool has failed.")]


@pytest.mark.parametrize(
    ("written", "notes"),
    [("Reading", ["Reading"]), ({"progress": "Reading"}, ["Reading"]), ({"rows": 3}, []), ("", []), (7, [])],
)
def test_the_stream_writer_tells_progress(written: Any, notes: list[str]) -> None:
    heard = Speech().hear((("sub",), "custom", written))
    assert list(heard) == [Progress(text=note) for note in notes]


def test_the_stream_writer_makes_artifacts() -> None:
    written = {"artifact": {"name": "report", "parts": [{"text": "a"}]}}
    ((first,), (second,)) = (Speech().hear((("sub",), "custom", written)) for _ in range(2))
    assert isinstance(first, ArtifactMade)
    assert isinstance(second, ArtifactMade)
    assert (first.artifact.name, first.artifact.parts) == ("report", (Text.of("a"),))
    assert first.artifact.artifact_id != second.artifact.artifact_id


def test_an_artifact_in_other_words_is_passed_over_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    assert Speech().hear(((), "custom", {"artifact": "secret"})) == ()
    assert "artifact" in caplog.text
    assert "secret" not in caplog.text
    assert Speech().hear(((), "custom", {"artifact": {}, "more": 1})) == ()


def test_the_state_at_start_and_so_far_is_the_root_graphs() -> None:
    speech = Speech()
    for namespace, values in (((), {"n": 0}), (("sub",), {"n": 9}), ((), {"n": 1, "__interrupt__": ()})):
        assert speech.hear((namespace, "values", values)) == ()
    assert (speech.before, speech.after, speech.interrupted) == ({"n": 0}, {"n": 1, "__interrupt__": ()}, True)


def test_an_unknown_mode_says_nothing() -> None:
    assert Speech().hear(((), "debug", {})) == ()
