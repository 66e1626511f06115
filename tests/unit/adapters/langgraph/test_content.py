import logging
from typing import Any

import pytest
from langchain_core.messages import AIMessage

from llamon_agent.adapters.langgraph.content import content_of, files_in
from llamon_agent.domain.message import Data, Message, Part, Raw, Role, Text, Url


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
def test_a_file_is_a_block_beside_the_text(part: Part, block: Any) -> None:
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

PNG = "data:image/png;base64,AP8="


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
        ({"type": "image_url", "image_url": {"url": PNG}}, Raw(data=b"\0\xff", media_type="image/png")),
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
