import asyncio
from typing import Any

import pytest
from tests.unit.inbound.a2a.edges import chunks_of, edge, events_in, message_03, message_10, results_of

from llamon_agent.domain.errors import BackendError, TaskNotFound
from llamon_agent.domain.events import Complete, Delta, Interrupt, Progress, Question
from llamon_agent.domain.task import Task
from llamon_agent.inbound.a2a.bindings.jsonrpc.binding import RpcEnvelope
from llamon_agent.inbound.a2a.bindings.streaming import Artifacts, Frames, Stream, StreamOptions
from llamon_agent.runs.ports.run import Limits
from llamon_agent.runs.subscription import Subscription
from llamon_agent.testing.scripted import Gate, Step
from llamon_agent.wire.sse import CUT_OFF, PING
from llamon_agent.wire.v10.codec import V10

ANSWER: list[Step] = [Delta(text="Hel"), Delta(text="lo"), Complete()]
QUESTION = Interrupt(text="Sure?", questions=(Question(id="q", value="Sure?"),))


def kinds(results: list[Any]) -> list[str]:
    """What a 0.x stream says, in words."""
    return [result["kind"] + (" final" if result.get("final") else "") for result in results]


def text_of(result: Any) -> str:
    return "".join(part["text"] for part in result["artifact"]["parts"])


async def test_a_0_3_stream_is_the_task_then_updates_and_one_final_event() -> None:
    async with edge(ANSWER) as it:
        results = await results_of(await it.open("message/stream", message_03()))
    assert kinds(results) == ["task", "artifact-update", "artifact-update", "status-update final"]
    assert [text_of(result) for result in results[1:3]] == ["Hel", "lo"]
    assert [result["append"] for result in results[1:3]] == [False, True]
    assert not any(result["lastChunk"] for result in results[1:3])


async def test_a_1_0_stream_is_the_task_then_updates_then_nothing() -> None:
    async with edge(ANSWER) as it:
        results = await results_of(await it.open("SendStreamingMessage", message_10()))
    assert [next(iter(result)) for result in results] == ["task", "artifactUpdate", "artifactUpdate", "statusUpdate"]
    assert results[-1]["statusUpdate"]["status"]["state"] == "TASK_STATE_COMPLETED"


async def test_a_send_stream_ends_at_a_pause() -> None:
    async with edge([QUESTION]) as it:
        results = await results_of(await it.open("message/stream", message_03()))
    assert kinds(results) == ["task", "status-update final"]
    assert results[-1]["status"]["state"] == "input-required"


async def test_every_frame_bears_the_calls_id_and_the_tasks_seq() -> None:
    async with edge(ANSWER) as it:
        frames = await it.open("message/stream", message_03())
        events = events_in(b"".join(await chunks_of(frames)))
    assert [response["id"] for _, response in events] == [1] * 4
    assert [seq for seq, _ in events] == ["1", "2", "3", "4"]


async def test_events_at_hand_are_one_chunk() -> None:
    async with edge([Delta(text=str(n)) for n in range(50)]) as it:
        chunks = await chunks_of(await it.open("message/stream", message_03()))
    assert len(chunks) < 5


async def test_history_length_trims_the_first_task() -> None:
    async with edge(ANSWER) as it:
        params = message_10() | {"configuration": {"historyLength": 0}}
        results = await results_of(await it.open("SendStreamingMessage", params))
    assert "history" not in results[0]["task"]


@pytest.mark.parametrize(
    ("artifacts", "texts"),
    [(Artifacts.APPEND, ["Hel", "lo"]), (Artifacts.WHOLE_LAST, ["Hel", "lo", "Hello"]), (Artifacts.SINGLE, ["Hello"])],
)
async def test_an_agents_mode_decides_how_its_artifacts_are_sent(artifacts: Artifacts, texts: list[str]) -> None:
    async with edge(ANSWER, artifacts=artifacts) as it:
        results = await results_of(await it.open("message/stream", message_03()))
    assert [text_of(result) for result in results if result["kind"] == "artifact-update"] == texts
    assert kinds(results)[-1] == "status-update final"


WITHDRAWING: list[Step] = [Delta(text="Hel"), Delta(text="lo"), Complete(text="")]


@pytest.mark.parametrize("artifacts", [Artifacts.APPEND, Artifacts.WHOLE_LAST])
async def test_a_text_that_is_no_answer_is_withdrawn(artifacts: Artifacts) -> None:
    async with edge(WITHDRAWING, artifacts=artifacts) as it:
        results = await results_of(await it.open("message/stream", message_03()))
    update = results[-2]
    assert (update["append"], update["lastChunk"]) == (False, True)
    assert update["artifact"]["parts"] == [{"kind": "text", "text": ""}]
    assert update["artifact"]["metadata"] == {"withdrawn": True}


async def test_a_stream_without_chunks_hears_nothing_of_a_text_that_is_no_answer() -> None:
    async with edge(WITHDRAWING, artifacts=Artifacts.SINGLE) as it:
        results = await results_of(await it.open("message/stream", message_03()))
    assert kinds(results) == ["task", "status-update final"]


async def test_a_stream_without_chunks_takes_back_what_its_first_snapshot_has_shown() -> None:
    gate = Gate()
    script = [*WITHDRAWING[:2], gate, *WITHDRAWING[2:]]
    async with edge(script, artifacts=Artifacts.SINGLE) as it, asyncio.timeout(5):
        begun = await it.open("message/stream", message_03())
        await gate.reached()
        frames = await it.open("tasks/resubscribe", {"id": it.agent.turns[0].task_id})
        gate.open()
        results = await results_of(frames)
        await chunks_of(begun)
    assert results[0]["artifacts"]
    assert results[1]["artifact"]["metadata"] == {"withdrawn": True}
    assert kinds(results[2:]) == ["status-update final"]


async def test_a_chunk_of_events_that_a_mode_does_not_tell_is_not_the_streams_end() -> None:
    gates = [Gate(), Gate()]
    script: list[Step] = [gates[0], Delta(text="Hel"), Delta(text="lo"), gates[1], Complete()]
    async with edge(script, artifacts=Artifacts.SINGLE) as it, asyncio.timeout(5):
        delivery = asyncio.create_task(chunks_of(await it.open("message/stream", message_03())))
        for gate in gates:
            await gate.reached()
            gate.open()
        events = events_in(b"".join(await delivery))
    assert kinds([response["result"] for _, response in events]) == ["task", "artifact-update", "status-update final"]


ADK_PARTS = [{"text": "hi", "metadata": {"is_user_input": True}}]


@pytest.mark.parametrize("said", [{"parts": ADK_PARTS}, {"metadata": {"adk_session_id": "s"}}])
async def test_adk_gets_the_whole_text_last_by_itself(said: dict[str, Any]) -> None:
    """Python's marks parts, JavaScript's the message."""
    async with edge(ANSWER) as it:
        results = await results_of(await it.open("SendStreamingMessage", message_10(**said)))
    last = results[-2]["artifactUpdate"]
    assert (text_of(last), last.get("append", False), last["lastChunk"]) == ("Hello", False, True)


async def test_adk_gets_the_whole_text_last_on_its_answer_to_a_question_too() -> None:
    """There it marks no part."""
    async with edge([QUESTION], ANSWER) as it:
        await results_of(await it.open("SendStreamingMessage", message_10(parts=ADK_PARTS)))
        answer = message_10(parts=[{"text": "yes"}], taskId=await it.only_task())
        results = await results_of(await it.open("SendStreamingMessage", answer))
    last = results[-2]["artifactUpdate"]
    assert (text_of(last), last.get("append", False), last["lastChunk"]) == ("Hello", False, True)


async def test_a_quiet_stream_is_kept_open_by_pings_and_loses_nothing() -> None:
    """A proxy closes a stream that sends nothing for long."""
    gate = Gate()
    chunks: list[bytes] = []

    async def write(chunk: bytes) -> None:
        chunks.append(chunk)
        if chunks.count(PING) == 3:
            gate.open()

    async with edge([Progress(text="thinking"), gate, *ANSWER], ping_s=0.01) as it, asyncio.timeout(5):
        await (await it.open("message/stream", message_03())).deliver(write)
    events = events_in(b"".join(chunks))
    assert [seq for seq, _ in events] == ["1", "2", "3", "4", "5"]


class Ticks:
    """Stands in for asyncio.sleep: time passes as fast as the loop turns, and a test waits for it by counting."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._sleep = asyncio.sleep
        self._ticked = asyncio.Condition()
        self.count = 0
        monkeypatch.setattr(asyncio, "sleep", self)

    async def __call__(self, _delay_s: float) -> None:
        await self._sleep(0)
        async with self._ticked:
            self.count += 1
            self._ticked.notify_all()

    async def more(self, count: int) -> None:
        until = self.count + count
        async with self._ticked:
            await self._ticked.wait_for(lambda: self.count >= until)


class Tap:
    """A reader that takes a chunk of one kind only when told."""

    def __init__(self, slow: str) -> None:
        self.log: list[str] = []
        self.reached = asyncio.Event()
        self.go_on = asyncio.Event()
        self._slow = slow

    async def write(self, chunk: bytes) -> None:
        kind = "ping" if chunk == PING else "chunk"
        self.log.append(f"{kind} begins")
        if kind == self._slow:
            self.reached.set()
            await self.go_on.wait()
        self.log.append(f"{kind} ends")


async def test_no_ping_gets_into_a_write_that_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    tap, ticks = Tap("chunk"), Ticks(monkeypatch)
    async with edge(ANSWER) as it, asyncio.timeout(5):
        delivery = asyncio.create_task((await it.open("message/stream", message_03())).deliver(tap.write))
        await tap.reached.wait()
        await ticks.more(20)
        assert tap.log == ["chunk begins"]
        tap.go_on.set()
        await delivery


async def test_a_chunk_waits_for_a_ping_that_is_on_its_way(monkeypatch: pytest.MonkeyPatch) -> None:
    gate, tap = Gate(), Tap("ping")
    Ticks(monkeypatch)
    async with edge([gate, *ANSWER]) as it, asyncio.timeout(5):
        frames = await it.open("message/stream", message_03())
        other = await it.open("tasks/resubscribe", {"id": await it.only_task()})
        delivery = asyncio.create_task(frames.deliver(tap.write))
        await tap.reached.wait()
        gate.open()
        await results_of(other)
        assert tap.log == ["chunk begins", "chunk ends", "ping begins"]
        tap.go_on.set()
        await delivery
    assert tap.log[3:5] == ["ping ends", "chunk begins"]


async def test_a_reader_that_hangs_up_leaves_the_run_alone() -> None:
    gate = Gate()
    told = asyncio.Event()

    async def write(_chunk: bytes) -> None:
        told.set()

    async with edge([gate, *ANSWER]) as it, asyncio.timeout(5):
        delivery = asyncio.create_task((await it.open("message/stream", message_03())).deliver(write))
        await told.wait()
        await gate.reached()
        delivery.cancel()
        await asyncio.gather(delivery, return_exceptions=True)
        following = await it.open("tasks/resubscribe", {"id": await it.only_task()})
        gate.open()
        results = await results_of(following)
    assert it.agent.cancelled == []
    assert results[-1]["status"]["state"] == "completed"


async def test_what_the_writer_raises_ends_the_subscription_and_comes_out() -> None:
    async def write(_chunk: bytes) -> None:
        raise ConnectionResetError

    async with edge([Gate()]) as it:
        frames = await it.open("message/stream", message_03())
        with pytest.raises(ExceptionGroup) as caught:
            await frames.deliver(write)
        assert caught.group_contains(ConnectionResetError)
        with pytest.raises(StopAsyncIteration):
            await anext(frames._stream)


async def test_a_reader_that_lost_events_sees_an_id_only_when_it_has_all_of_it() -> None:
    script: list[Step] = [Delta(text="x" * 2000) for _ in range(20)]
    gate = Gate()
    async with edge([*script, gate], limits=Limits(window_bytes=3000)) as it, asyncio.timeout(5):
        frames = await it.open("message/stream", message_03())
        await gate.reached()
        gate.open()
        stream = b"".join(await chunks_of(frames))
    seqs = [line for line in stream.split(b"\n") if line.startswith(b"id:")]
    assert len(seqs) == len(set(seqs))
    assert len(seqs) < len(events_in(stream))


class BrokenSubscription(Subscription):
    """Says one thing, then fails."""

    def __init__(self, task: Task, error: Exception) -> None:
        self.error = error
        self.first = task
        self.closed = False

    @property
    def task(self) -> Task:
        return self.first

    async def __anext__(self) -> Any:
        if self.closed:
            raise StopAsyncIteration
        raise self.error

    def close(self) -> None:
        self.closed = True


@pytest.mark.parametrize(
    ("error", "code", "is_logged"),
    [(RuntimeError("secret"), -32603, True), (BackendError(), -32603, True), (TaskNotFound(), -32001, False)],
)
async def test_a_failure_in_the_middle_is_the_last_frame(
    error: Exception, code: int, is_logged: bool, caplog: pytest.LogCaptureFixture
) -> None:
    async with edge(ANSWER) as it:
        task = await it.runs.get("default", "echo", (await it.ask("message/send", message_03()))["id"])
    stream = Stream(BrokenSubscription(task, error), StreamOptions(dialect=V10))
    frames = Frames(stream, RpcEnvelope(b"7"), ping_s=15)
    [(_, response)] = events_in(b"".join(await chunks_of(frames)))
    assert response["id"] == 7
    assert response["error"]["code"] == code
    assert "secret" not in str(response)
    assert ("a stream broke" in caplog.text) is is_logged


async def test_a_stream_that_ends_before_its_task_says_so_in_a_comment() -> None:
    async with edge([QUESTION]) as it:
        asked = await it.ask("message/send", message_03())
        following = [await it.open("tasks/resubscribe", {"id": asked["id"]}) for _ in range(2)]
        await it.runs.drain(0)
        assert [(await chunks_of(frames))[-1] for frames in following] == [CUT_OFF, CUT_OFF]


async def test_a_stream_that_ends_with_its_task_has_no_such_comment() -> None:
    async with edge(ANSWER) as it:
        assert CUT_OFF not in await chunks_of(await it.open("message/stream", message_03()))
