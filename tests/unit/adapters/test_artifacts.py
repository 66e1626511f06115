import re
from dataclasses import dataclass
from typing import Any

import pytest
from pydantic import BaseModel

from llamon_agent.adapters.artifacts import artifact_made, read_artifact, read_reply
from llamon_agent.domain.errors import AgentError
from llamon_agent.domain.events import ArtifactMade, Reply
from llamon_agent.domain.message import Data, Part, Raw, Text, Url
from llamon_agent.domain.task import Artifact


class Model(BaseModel):
    x: int


@dataclass
class Point:
    x: int


class Touchy:
    """Cannot even be compared, as arrays cannot."""

    def __eq__(self, other: object) -> bool:
        raise AssertionError

    __hash__ = None  # type: ignore[assignment]

    def model_dump(self, mode: str) -> object:
        return {"mode": mode}


def part_of(**part: Any) -> Part:
    made = read_artifact({"parts": [part]}, new_id="new")
    return made.artifact.parts[0]


def test_an_artifact_has_a_name_a_description_and_parts_in_order() -> None:
    said = {"name": "report", "description": "What I found.", "parts": [{"text": "a"}, {"data": {"n": 1}}]}
    parts = (Text.of("a"), Data(data={"n": 1}))
    assert read_artifact(said, new_id="new") == ArtifactMade(
        artifact=Artifact(artifact_id="new", name="report", description="What I found.", parts=parts)
    )


def test_an_artifact_may_have_metadata_and_so_may_its_parts() -> None:
    said = {"metadata": {"point": Point(1)}, "parts": [{"text": "a", "metadata": {"page": 1}}]}
    assert read_artifact(said, new_id="new").artifact == Artifact(
        artifact_id="new", metadata={"point": {"x": 1}}, parts=(Text(text="a", metadata={"page": 1}),)
    )


@pytest.mark.parametrize(
    ("said", "append", "last"),
    [({}, False, True), ({"last": False}, False, False), ({"append": True}, True, True)],
)
def test_an_artifact_of_the_agents_own_id_may_come_in_pieces(said: Any, append: bool, last: bool) -> None:
    artifact = Artifact(artifact_id="log", parts=(Text.of("a"),))
    made = read_artifact({"id": "log", "parts": [{"text": "a"}], **said}, new_id="new")
    assert made == ArtifactMade(artifact=artifact, append=append, last=last)


def test_a_reply_has_parts_and_maybe_metadata() -> None:
    said = {"parts": [{"text": "see"}, {"bytes": b"x", "filename": "a"}], "metadata": {"point": Point(1)}}
    parts = (Text.of("see"), Raw(data=b"x", filename="a"))
    assert read_reply(said) == Reply(parts=parts, metadata={"point": {"x": 1}})
    assert read_reply({"parts": [{"data": None}]}) == Reply(parts=(Data(data=None),))


@pytest.mark.parametrize("raw", [b"\x00\xff", bytearray(b"\x00\xff"), "AP8=", "AP8"])
def test_bytes_are_bytes_or_base64(raw: object) -> None:
    assert part_of(bytes=raw, media_type="image/png", filename="a.png") == Raw(
        data=b"\x00\xff", media_type="image/png", filename="a.png"
    )


@pytest.mark.parametrize("raw", ["-_8=", "-_8", "+/8"])
def test_base64_may_be_url_safe_and_unpadded(raw: str) -> None:
    assert part_of(bytes=raw) == Raw(data=b"\xfb\xff")


@pytest.mark.parametrize("raw", ["A", "AP8==", "AP 8", "한글", 5, None])
def test_the_error_for_bad_bytes_names_their_place(raw: object) -> None:
    with pytest.raises(AgentError, match=r"not valid at parts\[0\]\.bytes"):
        part_of(bytes=raw)


def test_an_address_is_a_part_too() -> None:
    assert part_of(url="https://x/a.pdf", media_type="application/pdf") == Url(
        url="https://x/a.pdf", media_type="application/pdf"
    )


@pytest.mark.parametrize(
    ("value", "data"),
    [(None, None), (False, False), ([1], [1]), (Model(x=1), {"x": 1}), (Touchy(), {"mode": "json"})],
)
def test_data_is_any_value_that_has_a_json_form(value: object, data: object) -> None:
    assert part_of(data=value) == Data(data=data)


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("x", "that is not valid."),
        ({}, "that is not valid."),
        ({"parts": "x"}, "that is not valid at parts."),
        ({"parts": []}, "without parts."),
        ({"parts": [{"text": 1}]}, "that is not valid at parts[0].text."),
        ({"parts": [{"text": "a"}, {"bytes": "%%"}]}, "that is not valid at parts[1].bytes."),
        ({"parts": [{"text": "a", "mimetype": "x/y"}]}, "that is not valid at parts[0]."),
        ({"parts": [{"text": "a"}], "title": "x"}, "that is not valid."),
        ({"parts": [{"media_type": "x/y"}]}, "at parts[0]: exactly one of text, data, bytes, url."),
        ({"parts": [{"text": "a", "url": "b"}]}, "at parts[0]: exactly one of text, data, bytes, url."),
        ({"parts": [{"text": "a", "metadata": 1}]}, "that is not valid at parts[0].metadata."),
        ({"parts": [{"text": "a"}], "id": ""}, "that is not valid at id."),
    ],
)
def test_the_error_for_a_bad_artifact_is_in_our_words(said: object, told: str) -> None:
    with pytest.raises(AgentError, match=re.escape(told)) as raised:
        read_artifact(said, new_id="new")
    assert raised.value.public.startswith("The agent made an artifact ")


@pytest.mark.parametrize("said", [{"append": True}, {"last": False}])
def test_a_piece_names_its_artifact(said: Any) -> None:
    with pytest.raises(AgentError, match="a piece of an artifact without an id"):
        read_artifact({"parts": [{"text": "a"}], **said}, new_id="new")


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (5, "that is not valid."),
        ({"parts": []}, "without parts."),
        ({"parts": [{"text": "a"}], "name": "x"}, "that is not valid."),
        ({"parts": [{"bytes": 5}]}, "that is not valid at parts[0].bytes."),
    ],
)
def test_the_error_for_a_bad_reply_is_in_our_words(said: object, told: str) -> None:
    with pytest.raises(AgentError, match=re.escape(told)) as raised:
        read_reply(said)
    assert raised.value.public.startswith("The agent made a reply ")


@pytest.mark.parametrize("data", [object(), {"deep": {1, object()}}])
def test_an_artifact_that_has_no_form_on_the_wire_is_none(data: object) -> None:
    with pytest.raises(AgentError):
        artifact_made(Artifact(artifact_id="a", parts=(Data(data=data),)))
