"""LangChain messages on their way to a remote agent, and answers on their way back."""

import pytest
from langchain_core.messages import HumanMessage

from llamon_agent.client.answers import Answer
from llamon_agent.client.langgraph.content import message_of, parts_of, without_text
from llamon_agent.domain.message import Data, Part, Raw, Text, Url
from llamon_agent.domain.task import Artifact, TaskState


@pytest.mark.parametrize(
    ("block", "part"),
    [
        ("hi", Text.of("hi")),
        ({"type": "text", "text": "hi"}, Text.of("hi")),
        ({"type": "image", "base64": "AP8=", "mime_type": "image/png"}, Raw(data=b"\x00\xff", media_type="image/png")),
        (
            {"type": "file", "url": "https://a.example/x", "mime_type": "application/pdf", "extras": {"filename": "x"}},
            Url(url="https://a.example/x", media_type="application/pdf", filename="x"),
        ),
        ({"type": "image", "base64": "no base64"}, Data(data={"type": "image", "base64": "no base64"})),
        ({"type": "other", "a": 1}, Data(data={"type": "other", "a": 1})),
    ],
)
def test_every_block_becomes_a_part(block: str | dict[str, object], part: Part) -> None:
    assert parts_of(HumanMessage([block])) == (part,)


def test_plain_text_is_one_part() -> None:
    assert parts_of(HumanMessage("hi")) == (Text.of("hi"),)


def answered(text: str, *artifacts: Artifact) -> Answer:
    return Answer(text=text, state=TaskState.COMPLETED, artifacts=artifacts, task_id="t1", context_id="c1")


def test_the_message_says_where_it_came_from() -> None:
    message = message_of(answered("hi", Artifact(artifact_id="a", parts=(Text.of("hi"),))), "m1")
    assert (message.content, message.id) == ("hi", "m1")
    assert message.response_metadata == {"a2a": {"task_id": "t1", "context_id": "c1"}}
    assert message.additional_kwargs == {}


def test_artifacts_that_are_more_than_text_come_along_whole() -> None:
    parts = (
        Text.of("x"),
        Data(data=1),
        Raw(data=b"\xff", filename="f"),
        Url(url="https://a.example", media_type="a/b"),
    )
    message = message_of(answered("x", Artifact(artifact_id="a", name="n", parts=parts)), "m1")
    assert message.additional_kwargs["a2a"]["artifacts"] == [
        {
            "name": "n",
            "parts": [
                {"text": "x"},
                {"data": 1},
                {"bytes": "/w==", "filename": "f"},
                {"url": "https://a.example", "media_type": "a/b"},
            ],
        }
    ]


def test_beside_the_text_is_what_is_none() -> None:
    artifact = Artifact(artifact_id="a", name="n", parts=(Text.of("x"), Data(data=1)))
    assert without_text(artifact) == Artifact(artifact_id="a", name="n", parts=(Data(data=1),))


def test_an_answer_of_data_alone_is_no_empty_message() -> None:
    assert message_of(answered("", Artifact(artifact_id="a", parts=(Data(data={"a": 1}),))), "m1").content == '{"a":1}'
