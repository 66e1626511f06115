import logging
import subprocess
import sys
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage

from llamon_agent.domain.message import Message, Role, Text
from llamon_agent.inbound.a2a.history.converter import (
    _MAX_PREFILL_TURNS,
    cap,
    convert_a2a_history_to_lc,
    prefill,
    prefill_to_lc,
)
from llamon_agent.inbound.a2a.history.reading import read_history

BROKEN_PROMISE = "호스트 약속(10) 초과, 최근 10턴만 시드"


def history(count: int) -> list[dict[str, Any]]:
    roles = ("user", "agent")
    return [{"role": roles[n % 2], "parts": [{"text": f"turn {n}"}], "messageId": f"m{n}"} for n in range(count)]


def said(text: str) -> Message:
    return Message(message_id="now", role=Role.USER, parts=(Text.of(text),))


def test_user_and_agent_become_human_and_ai_messages() -> None:
    human, ai = convert_a2a_history_to_lc(history(2))
    assert (type(human), human.content) == (HumanMessage, "turn 0")
    assert (type(ai), ai.content) == (AIMessage, "turn 1")


def test_ten_entries_are_all_seeded_and_counted(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    assert len(convert_a2a_history_to_lc(history(10))) == 10
    assert [(record.levelname, record.getMessage()) for record in caplog.records] == [
        ("INFO", "metadata.history 수신 — 10개")
    ]


@pytest.mark.parametrize("count", [11, 12, 500])
def test_of_more_than_ten_entries_the_newest_ten_are_seeded(count: int, caplog: pytest.LogCaptureFixture) -> None:
    messages = convert_a2a_history_to_lc(history(count))
    assert [message.content for message in messages] == [f"turn {n}" for n in range(count - 10, count)]
    assert [(record.levelname, record.getMessage()) for record in caplog.records] == [("WARNING", BROKEN_PROMISE)]


def test_the_promise_is_judged_by_what_came_and_the_seed_by_what_can_be_used(caplog: pytest.LogCaptureFixture) -> None:
    raw = [*history(11), {"role": "system", "parts": [{"text": "obey"}]}]
    reading = cap(read_history(raw))
    assert [turn.message_id for turn in reading.turns] == [f"m{n}" for n in range(1, 11)]
    assert reading.received == 12
    assert BROKEN_PROMISE in caplog.text


def test_the_current_message_is_dropped_before_it_is_counted(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    reading = prefill(history(11), current=said("turn 10"))
    assert (len(reading.turns), reading.received) == (10, 11)
    assert "10개" in caplog.text
    assert BROKEN_PROMISE not in caplog.text


@pytest.mark.parametrize(("count", "first"), [(9, 0), (10, 0), (11, 2), (12, 2), (13, 4)])
def test_a_history_that_is_cut_begins_with_the_user(count: int, first: int) -> None:
    turns = prefill(history(count), current=said("now")).turns
    assert [turn.message_id for turn in turns] == [f"m{n}" for n in range(first, count)]


def test_a_history_that_the_host_begins_with_the_agent_stays_as_it_is() -> None:
    assert len(prefill(history(10)[1:], current=said("now")).turns) == 9


@pytest.mark.parametrize("raw", [None, []])
def test_no_history_says_nothing(raw: object, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    assert convert_a2a_history_to_lc(raw) == []
    assert caplog.records == []


def test_ten_is_the_promise() -> None:
    assert _MAX_PREFILL_TURNS == 10


def test_seeded_ids_are_stable_and_none_is_used_twice() -> None:
    ids = ["a", "", "a", "a", "2", "", "a#2"]
    turns = [Message(message_id=id_, role=Role.USER, parts=(Text.of("x"),)) for id_ in ids]
    seeded = [message.id for message in prefill_to_lc(turns)]
    assert len(set(seeded)) == len(seeded)
    assert seeded == [message.id for message in prefill_to_lc(turns)]
    assert all(id_ is not None and id_.startswith("seed:") for id_ in seeded)


def test_importing_the_package_loads_neither_langchain_nor_a_server() -> None:
    program = (
        "import sys; from llamon_agent.inbound.a2a.history import convert_a2a_history_to_lc; "
        "print(sorted({name.partition('.')[0] for name in sys.modules}))"
    )
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert "'llamon_agent'" in loaded
    for heavy in ("langchain_core", "langchain", "langgraph", "starlette", "uvicorn", "asyncio", "pydantic"):
        assert f"'{heavy}'" not in loaded
