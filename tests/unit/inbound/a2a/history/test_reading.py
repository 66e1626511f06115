import logging
from typing import Any

import pytest

from llamon_agent.domain.message import Message, Role, Text
from llamon_agent.inbound.a2a.history.reading import Reading, drop_current, read_history


def entry(role: object = "user", *parts: object, **more: object) -> dict[str, Any]:
    return {"role": role, "parts": list(parts) or [{"kind": "text", "text": "hi"}], **more}


def turns(raw: object) -> list[tuple[str, str, str]]:
    reading = read_history(raw)
    return [
        (turn.message_id, turn.role.value, part.text)
        for turn in reading.turns
        for part in turn.parts
        if isinstance(part, Text)
    ]


@pytest.mark.parametrize(
    ("role", "expected"), [("user", "user"), ("ROLE_USER", "user"), ("agent", "agent"), ("ROLE_AGENT", "agent")]
)
def test_both_dialects_roles_are_read(role: str, expected: str) -> None:
    assert turns([entry(role)]) == [("", expected, "hi")]


@pytest.mark.parametrize("part", [{"kind": "text", "text": "x"}, {"text": "x"}, {"text": "x", "metadata": {"a": 1}}])
def test_both_dialects_text_parts_are_read(part: dict[str, Any]) -> None:
    assert turns([entry("user", part)]) == [("", "user", "x")]


def test_text_parts_are_concatenated_without_a_separator() -> None:
    assert turns([entry("agent", {"text": "Hel"}, {"text": "lo"}, {"text": ""})]) == [("", "agent", "Hello")]


def test_order_and_ids_are_kept() -> None:
    raw = [entry("agent", messageId="b"), entry("user"), entry("user", messageId="a", kind="message", taskId="t")]
    assert [turn[0] for turn in turns(raw)] == ["b", "", "a"]


@pytest.mark.parametrize(
    "part",
    [
        {"kind": "file", "file": {"uri": "https://example.com/x"}},
        {"kind": "data", "data": {"a": 1}},
        {"raw": "aGk="},
        {"url": "https://example.com/x"},
        {"data": None},
    ],
)
def test_file_and_data_parts_are_passed_over_silently(part: dict[str, Any], caplog: pytest.LogCaptureFixture) -> None:
    assert turns([entry("user", part, {"text": "x"})]) == [("", "user", "x")]
    assert caplog.records == []


@pytest.mark.parametrize(
    "bad",
    [
        None,
        7,
        "x",
        [],
        {},
        {1: "role"},
        entry("system"),
        entry("assistant"),
        entry("User"),
        entry(None),
        entry(["user"]),
        {"role": "user"},
        {"role": "user", "parts": "hi"},
        {"role": "user", "parts": {}},
        {"role": "user", "parts": []},
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": "hi"},
        {"role": "user", "content": [{"kind": "video"}]},
        entry("user", {"text": ""}),
        entry("user", {"text": " \n"}),
        entry("user", {"text": None}),
        entry("user", {"text": "\ud800"}),
        entry("user", {"kind": "data", "data": {}}),
        entry("user", {"kind": ["text"], "text": "x"}),
        entry("user", {"kind": "video"}),
        entry("user", "text"),
    ],
)
def test_an_entry_that_is_no_turn_is_skipped_with_a_warning(bad: object, caplog: pytest.LogCaptureFixture) -> None:
    reading = read_history([entry("user", messageId="1"), bad, entry("agent", messageId="3")])
    assert [turn.message_id for turn in reading.turns] == ["1", "3"]
    assert reading.received == 3
    assert [record.levelno for record in caplog.records] == [logging.WARNING]
    assert "metadata.history: [1] " in caplog.text


def test_a_bad_part_costs_only_itself(caplog: pytest.LogCaptureFixture) -> None:
    assert turns([entry("user", {"kind": "video"}, 7, {"text": "x"})]) == [("", "user", "x")]
    assert len(caplog.records) == 1


def test_an_id_that_is_no_string_is_none() -> None:
    assert turns([entry("user", messageId=7), entry("user", messageId="\ud800")]) == [("", "user", "hi")] * 2


@pytest.mark.parametrize("raw", ["[]", 7, True, {}, (1, 2), object(), b"[]"])
def test_what_is_no_list_is_no_history_and_says_so(raw: object, caplog: pytest.LogCaptureFixture) -> None:
    assert read_history(raw) == Reading(received=1)
    assert len(caplog.records) == 1


def test_an_absent_history_says_nothing(caplog: pytest.LogCaptureFixture) -> None:
    assert read_history(None) == Reading()
    assert caplog.records == []


def test_a_host_can_neither_fill_the_log_nor_hold_up_the_edge(caplog: pytest.LogCaptureFixture) -> None:
    reading = read_history([entry("user")] * 4000 + [entry("system")] * 999 + [entry("agent", messageId="last")])
    assert [turn.message_id for turn in reading.turns] == ["last"]
    assert reading.received == 5000
    assert len(caplog.records) == 1
    assert "[4000] is skipped, its role" in caplog.text
    assert "and 996 more" in caplog.text


class Hostile(dict[str, Any]):
    """Raises whatever is asked of it."""

    def get(self, *_args: object) -> Any:
        raise RuntimeError

    def __getattribute__(self, name: str) -> Any:
        raise RuntimeError


def test_foreign_objects_and_cycles_are_skipped() -> None:
    cyclic: list[Any] = []
    cyclic.append(cyclic)
    cyclic.append({"role": "user", "parts": cyclic})
    cyclic.append(Hostile(role="user"))
    assert read_history(cyclic) == Reading(received=3)


@pytest.mark.parametrize("role", ["ROLE_USER", "user"])
def test_the_protobuf_of_0_3_calls_the_parts_content(role: str) -> None:
    assert turns([{"role": role, "content": [{"text": "a"}, {"data": {"data": {}}}, {"text": "b"}]}]) == [
        ("", "user", "ab")
    ]


def said(role: Role, text: str, message_id: str = "") -> Message:
    return Message(message_id=message_id, role=role, parts=(Text.of(text),))


def reading(*turns: Message) -> Reading:
    return Reading(turns=turns, received=len(turns) + 1)


CURRENT = said(Role.USER, "and now?", "m1")
BEFORE = (said(Role.USER, "hello"), said(Role.AGENT, "hello, too"))


@pytest.mark.parametrize("message_id", ["m1", "m7", ""])
@pytest.mark.parametrize("text", ["and now?", "and now?\r\n"])
def test_a_trailing_copy_of_the_message_is_the_message_whatever_its_id(message_id: str, text: str) -> None:
    copied = reading(*BEFORE, said(Role.USER, text, message_id))
    assert drop_current(copied, CURRENT) == Reading(turns=BEFORE, received=4, has_current=True)


@pytest.mark.parametrize(
    "last",
    [
        said(Role.AGENT, "and now?", "m1"),
        said(Role.USER, "and then?", "m1"),
        said(Role.USER, "and now? and then?"),
    ],
)
def test_another_turn_is_no_copy_of_the_message_even_with_its_id(last: Message) -> None:
    assert drop_current(reading(*BEFORE, last), CURRENT) == reading(*BEFORE, last)


def test_only_the_last_turn_is_dropped_as_a_copy() -> None:
    twice = reading(CURRENT, *BEFORE)
    assert drop_current(twice, CURRENT) == twice
    assert drop_current(reading(), CURRENT) == reading()


def test_a_message_of_parts_is_compared_as_the_history_joins_it() -> None:
    parts = Message(message_id="m", role=Role.USER, parts=(Text.of("and"), Text.of(" now?")))
    assert drop_current(reading(CURRENT), parts).turns == ()
