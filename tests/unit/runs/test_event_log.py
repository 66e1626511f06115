import asyncio

import pytest

from llamon_agent.domain.errors import Gone
from llamon_agent.domain.events import ArtifactUpdate, StatusUpdate, Update
from llamon_agent.domain.message import Raw, Text, Url
from llamon_agent.domain.task import TaskState, TaskStatus
from llamon_agent.runs.event_log import EventLog


def chunk(seq: int, text: str = "x") -> ArtifactUpdate:
    return ArtifactUpdate(seq=seq, artifact_id="a", parts=(Text.of(text),), append=seq > 1)


def test_updates_come_back_in_order_from_any_place() -> None:
    broadcast = EventLog(4, window_bytes=10_000)
    updates: list[Update] = [
        chunk(5),
        chunk(6),
        StatusUpdate(seq=7, status=TaskStatus(state=TaskState.COMPLETED, at_ms=1)),
    ]
    for update in updates:
        broadcast.publish(update)
    assert broadcast.after(4) == updates
    assert broadcast.after(6) == updates[2:]
    assert broadcast.after(7) == []
    assert (broadcast.first, broadcast.seq) == (5, 7)


def test_a_place_before_the_window_is_gone() -> None:
    broadcast = EventLog(0, window_bytes=3_000)
    for seq in range(1, 31):
        broadcast.publish(chunk(seq, "x" * 400))
    assert broadcast.first > 1
    assert broadcast.after(broadcast.first - 1)[0].seq == broadcast.first
    with pytest.raises(Gone):
        broadcast.after(broadcast.first - 2)


def test_one_huge_update_does_not_stay_behind_in_a_full_window() -> None:
    broadcast = EventLog(0, window_bytes=1_000)
    broadcast.publish(chunk(1, "x" * 5_000))
    assert broadcast.after(1) == []
    assert broadcast.seq == 1
    broadcast.publish(ArtifactUpdate(seq=2, artifact_id="b", parts=(Url(url="https://a/b"),), append=False))
    assert [update.seq for update in broadcast.after(1)] == [2]


def test_a_file_counts_by_its_bytes() -> None:
    broadcast = EventLog(0, window_bytes=1_000)
    parts = (Raw(data=b"x" * 5_000),)
    broadcast.publish(ArtifactUpdate(seq=1, artifact_id="b", parts=parts, append=False))
    assert broadcast.first == 2


async def test_every_waiting_reader_wakes_and_a_cancelled_one_harms_nobody() -> None:
    broadcast = EventLog(0, window_bytes=1_000)
    async with asyncio.timeout(5), asyncio.TaskGroup() as group:
        readers = [group.create_task(broadcast.changed()) for _ in range(3)]
        await asyncio.sleep(0)
        readers[0].cancel()
        await asyncio.sleep(0)
        broadcast.publish(chunk(1))
    assert readers[0].cancelled()
    assert all(reader.done() and not reader.cancelled() for reader in readers[1:])


async def test_closing_wakes_who_waits() -> None:
    broadcast = EventLog(0, window_bytes=1_000)
    async with asyncio.timeout(5), asyncio.TaskGroup() as group:
        group.create_task(broadcast.changed())
        await asyncio.sleep(0)
        broadcast.close()
    assert broadcast.closed
