import msgspec
import pytest

from llamon_agent.domain.message import Data, Part, Raw, Text, Url, emptied, essence, media_type_of, sound, texts


@pytest.mark.parametrize(
    ("part", "media_type"),
    [
        (Text.of("x"), "text/plain"),
        (Text(text="# x", media_type="text/markdown"), "text/plain"),
        (Data(data=1, media_type="application/vnd.acme+json"), "application/json"),
        (Raw(data=b"x", media_type="image/png"), "image/png"),
        (Url(url="https://x", media_type="IMAGE/PNG; q=1"), "image/png"),
        (Raw(data=b"x"), "application/octet-stream"),
        (Raw(data=b"x", media_type=""), "application/octet-stream"),
        (Url(url="https://x/a.png", media_type="png"), "application/octet-stream"),
    ],
)
def test_a_part_is_of_the_kind_that_it_says_or_is_known_to_be(part: Part, media_type: str) -> None:
    assert media_type_of(part) == media_type


@pytest.mark.parametrize("text", ["", "png", "image/", "/png", "image/*", "a/b/c", "im age/png", "image/" + "x" * 128])
def test_what_is_no_media_type_has_no_essence(text: str) -> None:
    assert essence(text) is None


def test_parameters_and_case_do_not_matter() -> None:
    assert essence(" Text/Plain ; charset=utf-8") == "text/plain"


def test_texts_are_those_of_text_parts_in_order() -> None:
    assert texts([Text.of("a"), Data(data="b"), Raw(data=b"c"), Url(url="d"), Text.of("")]) == ["a", ""]


@pytest.mark.parametrize(
    ("said", "written"),
    [
        ("", ""),
        ("plain", "plain"),
        ("한글 😀", "한글 😀"),
        ("half \ud83d of it", "half \ufffd of it"),
        ("\ud83d\ude00 \ude00\ud83d", "😀 \ufffd\ufffd"),
        ("\ud83d\ud83d\ude00", "\ufffd😀"),
    ],
)
def test_text_is_made_writable_and_otherwise_left_alone(said: str, written: str) -> None:
    assert sound(said) == written


class Words(str):
    def __str__(self) -> str:
        return "something else"


@pytest.mark.parametrize("said", ["plain", "한글"])
def test_a_text_of_a_class_of_its_own_is_a_plain_string(said: str) -> None:
    assert sound(Words(said)) == said
    assert type(sound(Words(said))) is str


@pytest.mark.parametrize(
    ("part", "left", "size_bytes"),
    [
        (Raw(data=b"\x00" * 300, filename="a.png", media_type="image/png"), Raw(data=b""), 300),
        (Url(url="data:image/png;base64,AAECAw=="), Url(url="data:image/png;base64,"), 4),
        (Url(url="DATA:,hello"), Url(url="DATA:,"), 5),
    ],
)
def test_a_file_that_is_sent_whole_is_emptied_and_says_of_how_much(part: Part, left: Part, size_bytes: int) -> None:
    before = msgspec.structs.replace(part, metadata={"mine": 1})
    emptied_part = emptied(before)
    assert emptied_part.metadata == {"mine": 1, "omittedBytes": size_bytes}
    assert msgspec.structs.replace(left, **{name: getattr(part, name) for name in ("filename", "media_type")}) == (
        msgspec.structs.replace(emptied_part, metadata=None)
    )
    assert before.metadata == {"mine": 1}


@pytest.mark.parametrize("part", [Text.of("x"), Data(data=b""), Url(url="https://h/data:,x"), Raw(data=b"")])
def test_what_has_no_bytes_stays_as_it_is(part: Part) -> None:
    assert emptied(part) is part
