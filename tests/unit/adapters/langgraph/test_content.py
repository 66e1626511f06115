from typing import Any

import pytest

from llamon_agent.adapters.langgraph.content import content_of
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
    ],
)
def test_a_file_is_a_block_beside_the_text(part: Part, block: Any) -> None:
    assert content(Text.of("see"), part, prompt="see") == [{"type": "text", "text": "see"}, block]
