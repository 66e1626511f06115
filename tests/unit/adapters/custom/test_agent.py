"""Any object or function takes turns as an agent."""

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any

import msgspec
import pytest

from llamon_agent.adapters.custom.agent import CustomAgent
from llamon_agent.domain.caller import Caller
from llamon_agent.domain.errors import AgentError, ConfigError
from llamon_agent.domain.events import (
    ArtifactMade,
    Complete,
    Delta,
    Interrupt,
    Progress,
    Question,
    Rejected,
    Reply,
    RunEvent,
    SeedOutcome,
    Started,
)
from llamon_agent.domain.message import Data, Message, Part, Raw, Role, Text
from llamon_agent.domain.task import Artifact
from llamon_agent.runs.ports.agent import Agent, Turn
from llamon_agent.testing.scripted import counting_ids

HISTORY = tuple(Message(message_id=text, role=Role.USER, parts=(Text.of(text),)) for text in ("one", "two"))


def a_turn(
    prompt: str = "hello", *, history: Sequence[Message] = (), thread_id: str = "c", answers: bool = False
) -> Turn:
    parts: tuple[Part, ...] = (Text.of(prompt),) if prompt else (Data(data={"ok": True}),)
    return Turn(
        task_id="t",
        context_id="c",
        thread_id=thread_id,
        session_id="s",
        message=Message(message_id="m", role=Role.USER, parts=parts),
        prompt=prompt,
        prefill=tuple(history),
        history_received=len(history),
        answers=answers,
        metadata={"source": "a2a"},
    )


def as_lc(history: Sequence[Message]) -> list[Any]:
    """Stands for the mapping to LangChain messages."""
    return [f"lc:{message.message_id}" for message in history]


def agent_of(target: object) -> Agent:
    return CustomAgent(target, prefill_to_lc=as_lc, new_id=counting_ids())


async def said(agent: Agent, turn: Turn) -> list[RunEvent]:
    async with asyncio.timeout(5):
        return [event async for event in agent.run(turn)]


async def outcome_of(agent: Agent, turn: Turn) -> SeedOutcome | None:
    started, *_ = await said(agent, turn)
    assert isinstance(started, Started)
    return started.history


class Invoked:
    def invoke(self, prompt: str) -> str:
        return prompt.upper()


class InvokedAsync:
    async def invoke(self, prompt: str) -> str:
        return prompt.upper()


class Streamed(Invoked):
    def stream(self, prompt: str) -> Iterator[str]:
        yield from (prompt[:2], prompt[2:])


class StreamedAsync(Invoked):
    async def stream(self, prompt: str) -> AsyncIterator[str]:
        yield prompt[:2]
        yield prompt[2:]


class StreamedLater(Invoked):
    async def stream(self, prompt: str) -> Iterator[str]:
        return iter([prompt[:2], prompt[2:]])


async def chunks(prompt: str) -> AsyncIterator[str]:
    yield prompt[:2]
    yield prompt[2:]


async def answer(prompt: str) -> str:
    return prompt.upper()


def answer_at_once(prompt: str) -> str:
    return prompt.upper()


@pytest.mark.parametrize("target", [Invoked(), InvokedAsync(), answer, answer_at_once], ids=repr)
async def test_a_returned_text_is_the_answer(target: object) -> None:
    assert await said(agent_of(target), a_turn()) == [Started(), Complete(text="HELLO")]


@pytest.mark.parametrize("target", [Streamed(), StreamedAsync(), StreamedLater(), chunks], ids=repr)
async def test_streamed_texts_are_the_answers_pieces(target: object) -> None:
    assert await said(agent_of(target), a_turn()) == [Started(), Delta(text="he"), Delta(text="llo"), Complete()]


async def test_everything_in_the_vocabulary_may_be_streamed() -> None:
    async def talk(prompt: str) -> AsyncIterator[object]:
        yield {"progress": "reading"}
        yield {"rows": 3}
        yield Delta(text="so")
        yield None
        yield {"delta": prompt}

    artifact = Artifact(artifact_id="id-1", parts=(Data(data={"rows": 3}),))
    assert await said(agent_of(talk), a_turn()) == [
        Started(),
        Progress(text="reading"),
        ArtifactMade(artifact=artifact),
        Delta(text="so"),
        Delta(text="hello"),
        Complete(),
    ]


@pytest.mark.parametrize(
    ("said", "event"),
    [
        ({"reply": "hi"}, Reply(parts=(Text.of("hi"),))),
        ({"reject": "not mine"}, Rejected(public="not mine")),
        ({"auth": "sign in"}, Interrupt.of("sign in", "id-1", auth=True)),
        ({"interrupt": "sure?"}, Interrupt.of("sure?", "id-1")),
    ],
    ids=repr,
)
async def test_what_ends_a_turn_may_be_returned_or_streamed_and_nothing_follows(said: object, event: RunEvent) -> None:
    async def give(prompt: str) -> object:
        return said

    async def talk(prompt: str) -> AsyncIterator[object]:
        yield said
        yield "more"

    for target in (give, talk):
        assert await said_by(target) == [Started(), event]


async def said_by(target: object) -> list[RunEvent]:
    return await said(agent_of(target), a_turn())


async def test_nothing_returned_is_an_empty_answer() -> None:
    def silent(prompt: str) -> None: ...

    assert await said(agent_of(silent), a_turn()) == [Started(), Complete()]


async def test_a_function_gets_what_it_names() -> None:
    def look(prompt: str, **asked: object) -> dict[str, Any]:
        return {key: str(value) for key, value in asked.items() if key != "message"}

    _, made, _ = await said(agent_of(look), a_turn(history=HISTORY))
    assert isinstance(made, ArtifactMade)
    assert made.artifact.parts == (
        Data(
            data={
                "answer": "None",
                "caller": str(Caller()),
                "context_id": "c",
                "thread_id": "c",
                "session_id": "s",
                "task_id": "t",
                "metadata": "{'source': 'a2a'}",
                "prefill_messages": "['lc:one', 'lc:two']",
            }
        ),
    )


async def test_a_function_may_see_the_whole_message() -> None:
    def look(prompt: str, message: Message) -> str:
        return message.message_id

    assert (await said(agent_of(look), a_turn()))[-1] == Complete(text="m")


# history


class Remembering:
    def __init__(self) -> None:
        self.seeds: list[list[str]] = []

    def invoke(self, prompt: str, prefill_messages: list[str]) -> str:
        self.seeds.append(prefill_messages)
        if prompt == "fail":
            raise ValueError
        return "ok"


async def test_history_is_handed_over_once_per_context() -> None:
    target = Remembering()
    agent = agent_of(target)
    assert await outcome_of(agent, a_turn(history=HISTORY)) == SeedOutcome(seeded=2, skipped=0, reason="cold_start")
    again = SeedOutcome(seeded=0, skipped=2, reason="thread_not_empty")
    assert await outcome_of(agent, a_turn(history=HISTORY)) == again
    await outcome_of(agent, a_turn(history=HISTORY, thread_id="another"))
    assert target.seeds == [["lc:one", "lc:two"], [], ["lc:one", "lc:two"]]


async def test_a_forgotten_thread_gets_its_history_again() -> None:
    target = Remembering()
    agent = agent_of(target)
    await said(agent, a_turn(history=HISTORY))
    await agent.delete_thread("c")
    await agent.delete_thread("unknown")
    await said(agent, a_turn(history=HISTORY))
    assert target.seeds == [["lc:one", "lc:two"], ["lc:one", "lc:two"]]


async def test_a_first_turn_without_history_fills_the_thread() -> None:
    target = Remembering()
    agent = agent_of(target)
    assert await outcome_of(agent, a_turn()) is None
    await said(agent, a_turn(history=HISTORY))
    assert target.seeds == [[], []]


async def test_a_first_turn_that_fails_fills_the_thread() -> None:
    target = Remembering()
    agent = agent_of(target)
    with pytest.raises(AgentError):
        await said(agent, a_turn("fail", history=HISTORY))
    await said(agent, a_turn(history=HISTORY))
    assert target.seeds == [["lc:one", "lc:two"], []]


async def test_an_answer_is_never_seeded() -> None:
    target = Remembering()
    outcome = await outcome_of(agent_of(target), a_turn(history=HISTORY, answers=True))
    assert outcome == SeedOutcome(seeded=0, skipped=2, reason="pending_interrupt")
    assert target.seeds == [[]]


async def test_an_agent_that_takes_no_history_is_called_anyway_and_warned_of_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    agent = agent_of(Invoked())
    await said(agent, a_turn())
    assert caplog.records == []
    for thread_id in ("a", "b"):
        started, done = await said(agent, a_turn(history=HISTORY, thread_id=thread_id))
        assert started == Started(history=SeedOutcome(seeded=0, skipped=2, reason="not_supported"))
        assert done == Complete(text="HELLO")
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "Invoked.invoke takes no prefill_messages" in caplog.text


# pauses


class Careful:
    def __init__(self) -> None:
        self.deleted: list[str] = []

    async def stream(self, prompt: str, answer: object) -> AsyncIterator[object]:
        if answer is None:
            yield Interrupt(text="Sure?", questions=(Question(id="q", value="Sure?"),))
            self.deleted.append(prompt)
        yield {"delta": f"{prompt}/{answer}"}


class CarefulThread:
    def __init__(self) -> None:
        self.deleted: list[str] = []

    def stream(self, prompt: str, answer: object) -> Iterator[object]:
        if answer is None:
            yield {"interrupt": "Sure?"}
            self.deleted.append(prompt)
        yield {"delta": f"{prompt}/{answer}"}


@pytest.mark.parametrize("target", [Careful(), CarefulThread()])
async def test_a_question_ends_the_turn_and_nothing_after_it_runs(target: Careful | CarefulThread) -> None:
    agent = agent_of(target)
    started, asked = await said(agent, a_turn())
    assert started == Started()
    assert isinstance(asked, Interrupt)
    assert asked.text == "Sure?"
    assert await said(agent, a_turn("yes", answers=True)) == [Started(), Delta(text="yes/yes"), Complete()]
    assert target.deleted == []


async def test_an_answer_without_text_is_its_data() -> None:
    *_, told, _ = await said(agent_of(Careful()), a_turn("", answers=True))
    assert told == Delta(text="{\"ok\":true}/{'ok': True}")


@pytest.mark.parametrize("data", [{"answers": {"q1": {"ok": True}}}, {"ok": True}])
async def test_an_answer_may_bear_its_questions_id(data: object) -> None:
    """The run service checks that the id is one that was asked."""
    turn = msgspec.structs.replace(
        a_turn("yes", answers=True),
        message=Message(message_id="m", role=Role.USER, parts=(Text.of("yes"), Data(data=data))),
    )
    *_, told, _ = await said(agent_of(Careful()), turn)
    assert isinstance(told, Delta)
    assert told.text.endswith("/{'ok': True}")


async def test_a_file_that_an_agent_cannot_see_does_not_vanish() -> None:
    parts = (Text.of("look"), Raw(data=b"x", media_type="image/png"))
    turn = msgspec.structs.replace(a_turn("look"), message=Message(message_id="m", role=Role.USER, parts=parts))
    with pytest.raises(AgentError, match="no files"):
        await said(agent_of(Invoked()), turn)


async def test_an_agent_that_takes_no_answer_gets_it_as_its_prompt() -> None:
    assert (await said(agent_of(Invoked()), a_turn("yes", answers=True)))[-1] == Complete(text="YES")


async def test_a_question_may_be_returned() -> None:
    def ask(prompt: str) -> dict[str, str]:
        return {"interrupt": "Sure?"}

    question = Question(id="id-1", value="Sure?")
    assert await said(agent_of(ask), a_turn()) == [Started(), Interrupt(text="Sure?", questions=(question,))]


async def test_a_pause_that_was_abandoned_leaves_the_next_turn_a_plain_call() -> None:
    agent = agent_of(Careful())
    asked = await said(agent, a_turn())
    await agent.close_turn("c")
    assert await said(agent, a_turn()) == asked


# failures


@pytest.mark.parametrize("error", [ValueError("secret"), SystemExit(3), ConfigError("secret"), StopIteration()])
@pytest.mark.parametrize("on_loop", [True, False])
async def test_whatever_the_code_raises_is_the_agents_failure(error: BaseException, on_loop: bool) -> None:
    def fail(prompt: str) -> None:
        raise error

    async def fail_async(prompt: str) -> None:
        raise error

    with pytest.raises(AgentError) as raised:
        await said(agent_of(fail_async if on_loop else fail), a_turn())
    assert raised.value.public == AgentError.public
    assert raised.value.__cause__ is not None


async def test_an_authors_own_error_keeps_its_text() -> None:
    async def fail(prompt: str) -> None:
        raise AgentError("The printer is out of paper.")

    with pytest.raises(AgentError, match="out of paper"):
        await said(agent_of(fail), a_turn())


async def test_a_value_that_cannot_be_sent_fails_the_turn() -> None:
    with pytest.raises(AgentError, match="neither text nor JSON"):
        await said(agent_of(lambda prompt: object()), a_turn())


async def test_a_cancelled_part_of_the_agent_is_its_failure_and_no_cancel() -> None:
    async def fail(prompt: str) -> None:
        part = asyncio.create_task(asyncio.sleep(5))
        await asyncio.sleep(0)
        part.cancel()
        await part

    with pytest.raises(AgentError):
        await said(agent_of(fail), a_turn())


# cancel


async def test_cancelling_stops_an_async_agent_and_closes_it() -> None:
    waiting, steps = asyncio.Event(), []

    async def work(prompt: str) -> AsyncIterator[str]:
        try:
            yield "a"
            waiting.set()
            await asyncio.Event().wait()
            steps.append("went on")
        finally:
            steps.append("closed")

    task = asyncio.create_task(said(agent_of(work), a_turn()))
    async with asyncio.timeout(5):
        await waiting.wait()
        task.cancel()
        await asyncio.wait([task])
    assert task.cancelled()
    assert steps == ["closed"]


async def test_closing_between_two_events_closes_the_agent() -> None:
    steps = []

    async def work(prompt: str) -> AsyncIterator[str]:
        try:
            yield "a"
            yield "b"
        finally:
            steps.append("closed")

    run = agent_of(work).run(a_turn())
    assert [await anext(run), await anext(run)] == [Started(), Delta(text="a")]
    await run.aclose()
    assert steps == ["closed"]


@pytest.mark.parametrize("is_async", [False, True])
async def test_a_cancel_of_an_agent_returns_when_its_thread_has_ended(is_async: bool) -> None:
    began, go, ended = asyncio.Event(), threading.Event(), threading.Event()
    loop = asyncio.get_running_loop()

    def work(prompt: str) -> str:
        loop.call_soon_threadsafe(began.set)
        assert go.wait(5)
        ended.set()
        return "late"

    async def work_elsewhere(prompt: str) -> str:
        return await asyncio.to_thread(work, prompt)

    task = asyncio.create_task(said(agent_of(work_elsewhere if is_async else work), a_turn()))
    async with asyncio.timeout(5):
        await began.wait()
    task.cancel()
    for _ in range(20):
        await asyncio.sleep(0)
    assert not task.done()
    go.set()
    await asyncio.wait([task], timeout=5)
    assert task.cancelled()
    assert ended.is_set()


# what is no agent


@pytest.mark.parametrize("target", [None, 7, "text", object(), {"invoke": answer}])
def test_a_thing_that_cannot_be_called_is_refused(target: object) -> None:
    with pytest.raises(ConfigError, match="is no agent"):
        agent_of(target)


async def test_two_turns_at_once_do_not_mix() -> None:
    async def work(prompt: str) -> AsyncIterator[str]:
        for letter in prompt:
            await asyncio.sleep(0)
            yield letter

    agent = agent_of(work)
    turns = [msgspec.structs.replace(a_turn(prompt), thread_id=prompt) for prompt in ("abc", "xyz")]
    for turn, events in zip(turns, await asyncio.gather(*(said(agent, turn) for turn in turns)), strict=True):
        assert "".join(event.text for event in events if isinstance(event, Delta)) == turn.prompt
