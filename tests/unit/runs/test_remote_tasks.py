import asyncio
from collections.abc import AsyncIterator

import msgspec
import pytest
from tests.unit.runs.living import live_of, task_of
from tests.unit.runs.serving import heard

from llamon_agent.domain.errors import BackendError, LlamonError, TaskNotFound
from llamon_agent.domain.events import Snapshot, StatusUpdate
from llamon_agent.domain.task import Task, TaskState
from llamon_agent.runs.remote_tasks import RemoteTasks


class Records:
    """What another process records, one after the other; the last one stays."""

    def __init__(self, *records: Task | LlamonError) -> None:
        self.records = list(records)
        self.reads = 0

    async def read(self, _task: Task) -> Task:
        self.reads += 1
        record = self.records.pop(0) if len(self.records) > 1 else self.records[0]
        if isinstance(record, LlamonError):
            raise record
        return record


@pytest.fixture
async def group() -> AsyncIterator[asyncio.TaskGroup]:
    async with asyncio.timeout(5), asyncio.TaskGroup() as group:
        yield group


def following(group: asyncio.TaskGroup, records: Records) -> RemoteTasks:
    return RemoteTasks(group, live_of, records.read, every_s=0.001)


def ended(seq: int = 9) -> Task:
    return task_of(state=TaskState.COMPLETED, seq=seq)


async def test_every_reader_hears_how_it_ends_and_the_store_is_asked_once_for_all(group: asyncio.TaskGroup) -> None:
    records = Records(task_of(), task_of(seq=5), BackendError(), ended())
    remote = following(group, records)
    readers = [remote.follow(task_of(), ends_at_pause=False) for _ in range(3)]
    for reader in readers:
        events = await heard(reader)
        assert events[0] == Snapshot(task=task_of())
        assert events[-1] == StatusUpdate(seq=9, status=ended().status)
        reader.close()
    assert records.reads == 4


async def test_a_reader_that_comes_later_is_given_what_is_known_by_then(group: asyncio.TaskGroup) -> None:
    remote = following(group, Records(ended()))
    first = remote.follow(task_of(), ends_at_pause=False)
    later = remote.follow(task_of(seq=5), ends_at_pause=False)
    assert (await anext(later))[0] == Snapshot(task=task_of(seq=5))
    for reader in (first, later):
        reader.close()


async def test_nobody_asks_when_nobody_reads(group: asyncio.TaskGroup) -> None:
    remote = following(group, Records(task_of()))
    for _ in range(2):
        remote.follow(task_of(), ends_at_pause=False).close()
    assert remote._followed == {}


async def test_a_stream_may_end_at_a_pause(group: asyncio.TaskGroup) -> None:
    asked = task_of(state=TaskState.INPUT_REQUIRED, seq=3)
    reader = following(group, Records(asked)).follow(task_of(), ends_at_pause=True)
    assert (await heard(reader))[-1] == StatusUpdate(seq=3, status=asked.status)
    reader.close()


async def test_a_task_that_is_gone_ends_its_streams(group: asyncio.TaskGroup) -> None:
    reader = following(group, Records(TaskNotFound())).follow(task_of(), ends_at_pause=False)
    assert await heard(reader) == [Snapshot(task=task_of())]
    assert reader.is_cut_off


async def test_closing_ends_every_stream_and_those_that_are_asked_for_later(group: asyncio.TaskGroup) -> None:
    remote = following(group, Records(task_of()))
    before = remote.follow(task_of(), ends_at_pause=False)
    remote.close()
    after = remote.follow(msgspec.structs.replace(task_of(), seq=2), ends_at_pause=False)
    assert [len(await heard(reader)) for reader in (before, after)] == [1, 1]
    assert before.is_cut_off
    assert after.is_cut_off
