from typing import Any, get_args

import pytest

from llamon_agent.config.sections import HistoryConfig
from llamon_agent.domain.message import texts
from llamon_agent.inbound.a2a.history.reading import read_history
from llamon_agent.inbound.a2a.history.shapes import CHAT_HISTORY, COPILOT_STUDIO, ROLE_CONTENT, UI_MESSAGE, take_history

ALL = (ROLE_CONTENT, UI_MESSAGE, COPILOT_STUDIO)


def turns(raw: object, *readers: str) -> list[tuple[str, str, str]]:
    read = read_history(raw, readers).turns
    return [(turn.role.value, "".join(texts(turn.parts)), turn.message_id) for turn in read]


def test_the_configuration_knows_the_shapes_that_there_are() -> None:
    (names, _) = get_args(HistoryConfig.model_fields["readers"].annotation)
    assert set(get_args(names)) == set(ALL) == set(HistoryConfig().readers)


@pytest.mark.parametrize(
    ("entry", "text"),
    [
        ({"role": "user", "content": "hello"}, "hello"),
        ({"role": "user", "content": [{"type": "text", "text": "hel"}, {"type": "text", "text": "lo"}]}, "hello"),
        ({"role": "user", "content": [{"type": "input_text", "text": "hello"}]}, "hello"),
        ({"role": "user", "content": [{"type": "image", "image": "x"}, {"type": "text", "text": "hello"}]}, "hello"),
    ],
)
def test_role_and_content_is_read(entry: dict[str, Any], text: str) -> None:
    answer = {**entry, "role": "assistant", "id": "a1"}
    assert turns([entry, answer], ROLE_CONTENT) == [("user", text, ""), ("agent", text, "a1")]
    assert turns([answer], UI_MESSAGE, COPILOT_STUDIO) == []


def test_a_ui_message_is_read_by_its_text() -> None:
    message = {
        "id": "u1",
        "role": "assistant",
        "metadata": {"createdAt": "2026-11-30T12:00:00Z"},
        "parts": [
            {"type": "step-start"},
            {"type": "reasoning", "text": "hm"},
            {"type": "text", "text": "It is "},
            {"type": "tool-weather", "toolCallId": "c", "state": "output-available", "output": {"text": "sun"}},
            {"type": "text", "text": "sunny."},
        ],
    }
    asked = {"role": "user", "parts": [{"type": "text", "text": "how is it?"}]}
    assert turns([asked, message], UI_MESSAGE) == [("user", "how is it?", ""), ("agent", "It is sunny.", "u1")]
    assert turns([message], ROLE_CONTENT, COPILOT_STUDIO) == []


@pytest.mark.parametrize(
    "entry",
    [
        {"role": "assistant", "parts": [{"kind": "text", "text": "x"}]},
        {"role": "assistant", "parts": [{"text": "x"}]},
        {"role": "assistant", "parts": [{"type": "text", "kind": "text", "text": "x"}]},
        {"role": "system", "content": "obey"},
        {"role": "system", "parts": [{"type": "text", "text": "obey"}]},
        {"role": "tool", "content": [{"type": "text", "text": "x"}]},
        {"role": "assistant", "content": None, "parts": None},
        {"role": "assistant", "content": ""},
        {"role": "assistant", "content": [{"type": "tool-call", "toolName": "x"}]},
        {"role": "assistant", "content": [{"type": "text", "text": 7}]},
        {"role": "assistant", "content": ["x"]},
        {"role": ["assistant"], "content": "x"},
        {"role": "assistant", "content": "\ud800"},
        {"From": "user", "Text": "x"},
    ],
)
def test_what_does_not_say_what_it_is_or_is_no_turn_stays_unread(entry: dict[str, Any]) -> None:
    assert turns([entry], *ALL) == []


def test_entries_of_a2a_are_read_alike_with_all_readers_and_with_none() -> None:
    history = [
        {"role": "user", "parts": [{"kind": "text", "text": "a"}], "messageId": "m1"},
        {"role": "ROLE_AGENT", "parts": [{"text": "b"}, {"data": {}}]},
        {"role": "ROLE_USER", "content": [{"text": "c"}]},
        {"role": "user", "parts": []},
    ]
    assert turns(history, *ALL) == turns(history) == [("user", "a", "m1"), ("agent", "b", ""), ("user", "c", "")]


ROWS = [
    {"From": "", "Locale": "en", "Text": "hello", "Timestamp": "2026-11-30T12:00:00Z"},
    {"From": "cr123_agent", "Text": "hello, too"},
    {"From": "user", "Text": "and now?\r\n"},
    {"From": None, "Text": "and then?"},
]
READ = [("user", "hello", ""), ("agent", "hello, too", ""), ("user", "and now?\r\n", ""), ("user", "and then?", "")]


@pytest.mark.parametrize(
    "value",
    [ROWS, [{"HasValue": True, "Value": ROWS}], {"HasValue": True, "Value": ROWS}, [ROWS[0], {"Value": ROWS[1:]}]],
)
def test_the_chat_history_of_copilot_studio_is_read_flat_or_wrapped(value: object) -> None:
    metadata = {CHAT_HISTORY: value, "other": 1}
    assert turns(take_history(metadata, ALL), *ALL) == READ
    assert metadata == {"other": 1}


@pytest.mark.parametrize("value", [None, [], [{"HasValue": False, "Value": None}]])
def test_an_empty_chat_history_is_none(value: object) -> None:
    assert read_history(take_history({CHAT_HISTORY: value}, ALL), ALL).received == 0


@pytest.mark.parametrize("row", [7, {}, {"From": 7, "Text": "x"}, {"From": "user", "Text": None}, {"From": "user"}])
def test_a_row_that_is_none_is_counted_and_skipped(row: object) -> None:
    read = read_history(take_history({CHAT_HISTORY: [row, ROWS[0]]}, ALL), ALL)
    assert (len(read.turns), read.received) == (1, 2)


def test_a_history_in_the_place_of_a2a_comes_first() -> None:
    metadata = {CHAT_HISTORY: ROWS, "history": []}
    assert take_history(metadata, ALL) == []
    assert metadata == {}


def test_without_its_reader_the_key_of_copilot_studio_is_metadata_like_any_other() -> None:
    metadata = {CHAT_HISTORY: ROWS}
    assert take_history(metadata, (ROLE_CONTENT,)) is None
    assert metadata == {CHAT_HISTORY: ROWS}
