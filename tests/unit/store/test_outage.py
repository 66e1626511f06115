"""The log hears of an outage, and not of each call that it fails."""

import logging

import pytest

from llamon_agent.store.outage import Outage

Log = pytest.LogCaptureFixture

log = logging.getLogger("llamon_agent.store.test")
BROKEN = ValueError("secret")


class Clock:
    now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def outage(clock: Clock, caplog: Log) -> Outage:
    caplog.set_level(logging.INFO)
    return Outage("the shelf", "filled", log, clock_s=clock)


def test_many_failures_are_one_line_and_their_end_another(outage: Outage, caplog: Log) -> None:
    for _ in range(3):
        outage.failed("it is full; empty it", BROKEN)
    outage.over()
    outage.over()
    assert caplog.messages == [
        "the shelf cannot be filled: it is full; empty it",
        "the shelf can be filled again; failed meanwhile: 3",
    ]
    assert "secret" not in caplog.text


def test_an_outage_that_lasts_is_logged_each_minute(outage: Outage, caplog: Log, clock: Clock) -> None:
    for clock.now_s in (0, 59, 60, 61, 120):
        outage.failed("it is full", BROKEN)
    assert len(caplog.messages) == 3


def test_an_outage_that_comes_and_goes_is_logged_once_a_minute(outage: Outage, caplog: Log, clock: Clock) -> None:
    for clock.now_s in (0, 1, 2):
        outage.failed("it is full", BROKEN)
        outage.over()
    assert len(caplog.messages) == 2
    clock.now_s = 60
    outage.failed("it is full", BROKEN)
    assert len(caplog.messages) == 3


def test_an_unknown_failure_is_logged_each_time_with_its_traceback(outage: Outage, caplog: Log) -> None:
    for _ in range(2):
        outage.failed(None, BROKEN)
    outage.over()
    assert caplog.messages == ["the shelf cannot be filled"] * 2
    assert [record.exc_info and record.exc_info[1] for record in caplog.records] == [BROKEN] * 2


def test_it_is_on_from_a_failure_that_is_known_until_it_works(outage: Outage) -> None:
    told = [outage.is_on]
    outage.failed(None, BROKEN)
    told.append(outage.is_on)
    for _ in range(2):  # also within the minute in which it is not told again
        outage.failed("it is full", BROKEN)
        told.append(outage.is_on)
        outage.over()
        told.append(outage.is_on)
    assert told == [False, False, True, False, True, False]


def test_the_causes_are_logged_at_debug(outage: Outage, caplog: Log) -> None:
    caplog.set_level(logging.DEBUG, "llamon_agent.store.test")
    outage.failed("it is full", BROKEN)
    assert caplog.records[-1].exc_info == (ValueError, BROKEN, BROKEN.__traceback__)
