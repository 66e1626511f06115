import re

import pytest

from llamon_agent.domain.errors import BadParams, ContentTypeNotSupported
from llamon_agent.domain.message import Data, Part, Raw, Text, Url
from llamon_agent.inbound.a2a.media_types import Modes, check_files, check_output, objection

PNG = Raw(data=b"1234", media_type="image/png")
ADDRESS = Url(url="https://example.com/a.pdf", media_type="application/pdf")


# What an agent takes.


@pytest.mark.parametrize("mode", ["image/png", "image/*", "*/*"])
@pytest.mark.parametrize("said", ["image/png", "IMAGE/PNG", "image/png; profile=x"])
def test_a_file_is_taken_by_its_media_type_or_its_family(mode: str, said: str) -> None:
    check_files([Raw(data=b"", media_type=said)], Modes(takes=(mode,)))


@pytest.mark.parametrize("mode", ["image/jpeg", "audio/*", "imag/*", "text/plain"])
def test_another_media_type_is_refused_with_the_part_and_what_is_taken(mode: str) -> None:
    told = f"message.parts[1] is image/png; this agent takes text/x, {mode}."
    with pytest.raises(ContentTypeNotSupported, match=re.escape(told)):
        check_files([Text.of("see"), PNG], Modes(takes=("text/x", mode)))


def test_an_address_is_held_to_the_same_modes_as_bytes() -> None:
    check_files([ADDRESS], Modes(takes=("application/pdf",)))
    with pytest.raises(ContentTypeNotSupported, match="application/pdf"):
        check_files([ADDRESS], Modes())


def test_a_file_that_does_not_say_what_it_is_needs_an_agent_that_takes_any() -> None:
    check_files([Raw(data=b"")], Modes(takes=("*/*",)))
    check_files([Raw(data=b"")], Modes(takes=("application/octet-stream",)))
    with pytest.raises(ContentTypeNotSupported, match="octet-stream"):
        check_files([Raw(data=b"")], Modes(takes=("image/*",)))


def test_text_and_data_are_taken_unless_an_agent_says_otherwise() -> None:
    parts: list[Part] = [Text.of("x"), Data(data=None), Raw(data=b"n,1", media_type="text/plain")]
    check_files(parts, Modes())
    assert objection(parts, Modes()) is None


@pytest.mark.parametrize(
    ("takes", "told"),
    [
        ("application/json", "message.parts[0] is text/plain; this agent takes application/json."),
        ("text/*", "message.parts[1] is application/json; this agent takes text/*."),
    ],
)
def test_text_or_data_that_is_not_taken_is_an_objection_and_no_error(takes: str, told: str) -> None:
    parts: list[Part] = [Text.of("x"), Data(data=1), ADDRESS]
    assert objection(parts, Modes(takes=(takes,))) == told


# How much.


def test_a_file_may_be_as_large_as_the_limit_and_no_larger() -> None:
    check_files([PNG], Modes(takes=("*/*",), max_file_bytes=4))
    with pytest.raises(BadParams, match=re.escape("message.parts[1] is a file of more than 3 bytes.")):
        check_files([ADDRESS, PNG], Modes(takes=("*/*",), max_file_bytes=3))


def test_files_are_also_limited_together() -> None:
    check_files([PNG, PNG], Modes(takes=("*/*",), max_files_bytes=8))
    with pytest.raises(BadParams, match="more than 7 bytes together"):
        check_files([PNG, PNG], Modes(takes=("*/*",), max_files_bytes=7))


# Files inside their address.


def inline(url: str, media_type: str | None = None) -> Url:
    return Url(url=url, media_type=media_type)


@pytest.mark.parametrize("media_type", [None, "image/png", "IMAGE/png; x=y", "png"])
def test_a_data_url_is_a_file_of_its_own_media_type(media_type: str | None) -> None:
    part = inline("data:image/png;base64,aGk=", media_type)
    check_files([part], Modes(takes=("image/*",), max_file_bytes=2))
    with pytest.raises(ContentTypeNotSupported, match="is image/png"):
        check_files([part], Modes())
    with pytest.raises(BadParams, match="a file of more than 1 bytes"):
        check_files([part], Modes(takes=("image/*",), max_file_bytes=1))
    with pytest.raises(BadParams, match="more than 5 bytes together"):
        check_files([part, PNG], Modes(takes=("image/*",), max_files_bytes=5))


def test_a_data_url_that_does_not_say_what_it_is_is_what_the_part_says() -> None:
    check_files([inline("data:;base64,aGk=", "image/png")], Modes(takes=("image/png",)))
    check_files([inline("data:,hi")], Modes(takes=("text/plain",)))


def test_a_data_url_of_another_media_type_than_the_part_says_is_refused() -> None:
    with pytest.raises(BadParams, match="says that it is image/png, but its data: URL is text/html"):
        check_files([inline("data:text/html,hi", "image/png")], Modes(takes=("*/*",)))


# What a caller accepts.


@pytest.mark.parametrize(
    "accepted",
    [(), ("text/plain",), ("image/png", "TEXT/plain; charset=utf-8"), ("text",), ("text/*",), ("*/*",), ("*",)],
)
def test_a_caller_that_can_read_the_answer_may_ask(accepted: tuple[str, ...]) -> None:
    check_output(accepted, Modes())


@pytest.mark.parametrize("accepted", [("image/png",), ("text/html", "audio/*"), ("",)])
def test_the_error_for_a_caller_that_can_read_no_answer_says_what_there_is(accepted: tuple[str, ...]) -> None:
    with pytest.raises(ContentTypeNotSupported, match="it gives text/plain, image/jpeg"):
        check_output(accepted, Modes(gives=("text/plain", "image/jpeg")))


@pytest.mark.parametrize(("accepted", "given"), [("application/json", "text/plain"), ("text", "application/json")])
def test_text_and_data_are_the_same_to_a_caller(accepted: str, given: str) -> None:
    """CrewAI accepts application/json by default, as every response is, and reads text."""
    check_output([accepted], Modes(gives=(given, "image/jpeg")))


@pytest.mark.parametrize("accepted", ["text/plain", "application/json"])
def test_a_file_is_no_text(accepted: str) -> None:
    with pytest.raises(ContentTypeNotSupported):
        check_output([accepted], Modes(gives=("image/jpeg",)))


def test_an_agent_may_give_a_family_of_types() -> None:
    check_output(["image/png"], Modes(gives=("image/*",)))
    check_output(["data"], Modes(gives=("application/json",)))
