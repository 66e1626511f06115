"""A command takes turns as an agent, one process a turn."""

import asyncio
import json
import logging
import os
from collections.abc import Sequence
from contextlib import aclosing, suppress
from pathlib import Path

import pytest
from tests.unit.adapters.process.commands import (
    a_message,
    a_turn,
    agent_of,
    children,
    python,
    said,
    sh,
    text_of,
)
from tests.unit.adapters.process.commands import end_of as end_of_process

from llamon_agent.adapters.process.agent import ProcessAgent, end_of, prompt_of
from llamon_agent.domain.errors import AgentError
from llamon_agent.domain.events import (
    AgentEvent,
    Complete,
    Delta,
    Error,
    Interrupt,
    Progress,
    Question,
    SeedOutcome,
    Started,
)
from llamon_agent.domain.message import Data, Message, Part, Raw, Role, Text, Url
from llamon_agent.runs.ports.agent import Agent, Turn

HISTORY = [a_message("one"), a_message("two", Role.AGENT)]


async def failure(agent: ProcessAgent, turn: Turn | None = None) -> str:
    with pytest.raises(AgentError) as caught:
        await said(agent, turn)
    return caught.value.public


def lines_of(*events: object) -> str:
    """A shell script that says these."""
    return "\n".join(f"echo '{json.dumps(event)}'" for event in events)


async def test_what_it_writes_is_the_answer() -> None:
    agent: Agent = agent_of("cat")
    assert [event async for event in agent.run(a_turn("hello\n"))] == [Started(), Delta(text="hello"), Complete()]


async def test_pieces_are_passed_on_as_they_come(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "go")
    events = agent_of(sh("printf one; read -r word <go; printf two"), folder=tmp_path).run(a_turn())
    async with asyncio.timeout(5):
        assert [await anext(events), await anext(events)] == [Started(), Delta(text="one")]
        (tmp_path / "go").write_text("now\n")
        assert [event async for event in events] == [Delta(text="two"), Complete()]


async def test_a_character_that_is_cut_by_the_pipe_is_whole() -> None:
    assert text_of(await said(agent_of("cat"), a_turn("한" * 100_000))) == "한" * 100_000


async def test_the_prompt_can_be_an_argument() -> None:
    agent = agent_of(sh('printf "%s|" "$@"; cat', "-x", "--", "{prompt}"))
    assert text_of(await said(agent, a_turn("- a 'list' $(id); {task_id}"))) == "-x|--|- a 'list' $(id); {task_id}|"


async def test_it_gets_the_ids_in_its_arguments_and_its_environment() -> None:
    ids = sh('echo "$@" $LLAMON_CONTEXT_ID $LLAMON_SESSION_ID $LLAMON_TASK_ID', "{session_id}", "{thread_id}")
    assert text_of(await said(agent_of(ids))) == "session-c thread-c c session-c t"


async def test_it_sees_no_other_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LLAMON_A2A__BEARER_TOKEN", "secret")
    agent = agent_of("env", environment={"PATH": os.environ["PATH"], "LANG": "C"})
    names = {line.partition("=")[0] for line in text_of(await said(agent)).splitlines()}
    assert names == {"PATH", "LANG", "LLAMON_CONTEXT_ID", "LLAMON_SESSION_ID", "LLAMON_TASK_ID"}


async def test_lone_surrogates_do_not_keep_it_from_starting() -> None:
    assert text_of(await said(agent_of("cat"), a_turn("a\ud800"))) == "a\ufffd"
    assert text_of(await said(agent_of(sh('echo "$LLAMON_CONTEXT_ID"')), a_turn(context_id="a\ud800"))) == "a\ufffd"


async def test_events_are_lines_of_json() -> None:
    script = lines_of({"progress": "looking"}, {"delta": "a"}, {"delta": "b"})
    assert await said(agent_of(sh(script), output="jsonl")) == [
        Started(),
        Progress(text="looking"),
        Delta(text="a"),
        Delta(text="b"),
        Complete(),
    ]


async def test_the_last_line_needs_no_newline() -> None:
    assert text_of(await said(agent_of(sh("""printf '{"delta": "a"}'"""), output="jsonl"))) == "a"


async def test_a_question_ends_the_process_and_the_answer_starts_the_next() -> None:
    agent = agent_of(sh('read -r prompt; test "$prompt" = yes && ' + lines_of({"complete": "done"}) + "\n"
                        'test "$prompt" = yes || ' + lines_of({"interrupt": "sure?"})), output="jsonl")  # fmt: skip
    asked = Interrupt(text="sure?", questions=(Question(id="id-1", value="sure?"),))
    assert await said(agent, a_turn("delete")) == [Started(), asked]
    assert await said(agent, a_turn("yes", answers=True)) == [Started(), Complete(text="done")]


async def test_an_answer_by_data_becomes_json() -> None:
    turn = a_turn("", parts=[Data(data={"ok": True})], answers=True)
    assert text_of(await said(agent_of("cat"), turn)) == '{"ok":true}'


async def test_abandoning_a_question_leaves_nothing_to_do() -> None:
    await agent_of("cat").close_turn("c")


# --- how a run ends ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("script", "public"),
    [
        ("echo half; exit 3", "The command ended with code 3."),
        ("kill -SEGV $$", "The command was ended by the signal SIGSEGV."),
        (lines_of({"complete": "all"}) + "\nexit 1", "The command ended with code 1."),
        (lines_of({"interrupt": "sure?"}) + "\nexit 1", "The command ended with code 1."),
        (lines_of({"error": "No such order."}) + "\nexit 1", "No such order."),
        (lines_of({"error": "No such order."}), "No such order."),
    ],
)
async def test_a_run_that_fails_says_why(script: str, public: str) -> None:
    assert await failure(agent_of(sh(script), output="jsonl")) == public


@pytest.mark.parametrize(
    ("said_last", "ending"),
    [
        ({"complete": "all"}, Complete(text="all")),
        ({"interrupt": "sure?"}, Interrupt(text="sure?", questions=(Question(id="id-1", value="sure?"),))),
    ],
)
@pytest.mark.parametrize("then", ["exec sleep 600", "trap '' TERM; while :; do sleep 600; done", "cat /dev/zero"])
async def test_a_command_that_has_said_its_end_and_does_not_exit_is_stopped(
    said_last: object, ending: AgentEvent, then: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = children()
    monkeypatch.setattr("llamon_agent.adapters.process.agent.EXIT_WITHIN_S", 0.0)
    agent = agent_of(sh(lines_of(said_last) + "\n" + then), output="jsonl")
    assert await said(agent) == [Started(), ending]
    assert children() == before


def test_an_unknown_signal_is_reported_by_number() -> None:
    with pytest.raises(AgentError) as caught:
        end_of(None, -99)
    assert caught.value.public == "The command was ended by the signal 99."


def test_the_commands_own_reason_comes_before_its_code() -> None:
    with pytest.raises(AgentError) as caught:
        end_of(Error(public="No such order."), -9)
    assert caught.value.public == "No such order."


async def test_its_stderr_is_for_the_log_only(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "llamon_agent"):
        assert text_of(await said(agent_of(sh("echo seen; echo secret >&2; printf end >&2")))) == "seen"
    assert [record.getMessage() for record in caplog.records] == ["task t: stderr: secret", "task t: stderr: end"]


async def test_a_command_that_is_gone_by_now_fails_the_run(tmp_path: Path) -> None:
    agent = agent_of("cat", folder=tmp_path / "gone")
    assert await failure(agent) == "The agent's command could not be started."


async def test_a_prompt_that_fits_no_argument_fails_the_run() -> None:
    public = "The prompt is too long for this agent's command line."
    assert await failure(agent_of("echo {prompt}"), a_turn("x" * 3_000_000)) == public


@pytest.mark.parametrize("turn", [a_turn("a\0b"), a_turn(context_id="a\0b")], ids=["argument", "environment"])
async def test_a_nul_fails_the_run(turn: Turn) -> None:
    public = "The message holds a character that this agent's command cannot be given."
    assert await failure(agent_of("echo {prompt}"), turn) == public


@pytest.mark.parametrize("output", ["text", "jsonl"])
async def test_a_flood_is_stopped_at_the_limit(output: str) -> None:
    before = children()
    agent = agent_of("cat /dev/zero", output=output, max_output_bytes=1_000_000)
    events = agent.run(a_turn())
    told = 0

    async def listen() -> None:
        nonlocal told
        async for event in events:
            told += len(event.text) if isinstance(event, Delta) else 0

    with pytest.raises(AgentError) as caught:
        await listen()
    assert caught.value.public == "The command wrote more than 1000000 bytes."
    assert told <= 1_000_000
    assert children() == before


async def test_an_answer_as_long_as_the_limit_is_whole() -> None:
    agent = agent_of("head -c 2000 /dev/zero", max_output_bytes=2_000)
    assert len(text_of(await said(agent))) == 2_000


# --- what is left of a run: nothing -----------------------------------------------------------------------------------

FAMILY = "sleep 1000 & echo $!; echo $$; wait"


def pids_of(events: Sequence[AgentEvent]) -> list[int]:
    return [int(word) for word in text_of(events).split()]


async def test_a_cancelled_run_takes_its_whole_group_along() -> None:
    heard: list[AgentEvent] = []
    both = asyncio.Event()

    async def listen() -> None:
        async for event in agent_of(sh(FAMILY)).run(a_turn()):
            heard.append(event)
            if len(text_of(heard).split()) == 2:
                both.set()

    before = children()
    listening = asyncio.create_task(listen())
    async with asyncio.timeout(5):
        await both.wait()
        listening.cancel()
        with pytest.raises(asyncio.CancelledError):
            await listening
    assert children() == before
    for pid in pids_of(heard):
        await end_of_process(pid)


async def test_a_run_that_is_closed_between_two_events_ends_its_command() -> None:
    before = children()
    events = agent_of(sh("echo one; exec sleep 1000")).run(a_turn())
    async with asyncio.timeout(5):
        assert [await anext(events), await anext(events)] == [Started(), Delta(text="one")]
        assert children() > before
        await events.aclose()
    assert children() == before


async def test_a_run_that_is_closed_at_its_start_starts_nothing() -> None:
    before = children()
    events = agent_of("cat").run(a_turn())
    assert await anext(events) == Started()
    await events.aclose()
    assert children() == before


@pytest.mark.parametrize("steps", range(12))
async def test_a_run_may_be_cancelled_at_any_moment(steps: int) -> None:
    before = children()
    running = asyncio.create_task(said(agent_of(sh("echo one; cat; exec >&-; sleep 0.01"))))
    for _ in range(steps):
        await asyncio.sleep(0)
    running.cancel()
    async with asyncio.timeout(5):
        await asyncio.wait([running])
    assert children() == before


async def test_after_five_hundred_runs_nothing_is_left() -> None:
    """A third of them completes, a third fails, and a third is stopped in the middle."""
    before, open_before = children(), len(os.listdir("/proc/self/fd"))
    agent = agent_of(sh("read -r number; echo $number; case $number in 1) exit 1;; 2) exec sleep 1000;; esac"))

    async def one_run(number: int) -> None:
        with suppress(AgentError):
            async with aclosing(agent.run(a_turn(f"{number % 3}\n"))) as events:
                async for event in events:
                    if event == Delta(text="2"):
                        return

    async with asyncio.timeout(50):
        for start in range(0, 500, 20):
            await asyncio.gather(*(one_run(number) for number in range(start, start + 20)))
    assert children() == before
    assert len(os.listdir("/proc/self/fd")) == open_before


# --- history ----------------------------------------------------------------------------------------------------------


async def test_history_comes_before_a_contexts_first_prompt_only() -> None:
    agent = agent_of("cat")
    first = await said(agent, a_turn("three", history=HISTORY))
    assert first[0] == Started(history=SeedOutcome(seeded=2, skipped=0, reason="cold_start"))
    assert text_of(first) == "User: one\nAgent: two\n\nthree"
    second = await said(agent, a_turn("four", history=HISTORY))
    assert second[0] == Started(history=SeedOutcome(seeded=0, skipped=2, reason="thread_not_empty"))
    assert text_of(second) == "four"
    other = await said(agent, a_turn("five", history=HISTORY, context_id="d"))
    assert text_of(other) == "User: one\nAgent: two\n\nfive"


async def test_a_forgotten_thread_gets_its_history_again() -> None:
    agent = agent_of("cat")
    turn = a_turn("three", history=HISTORY)
    first = await said(agent, turn)
    await agent.delete_thread(turn.thread_id)
    assert await said(agent, turn) == first


async def test_history_is_no_part_of_an_answer() -> None:
    events = await said(agent_of("cat"), a_turn("yes", history=HISTORY, answers=True))
    assert events[0] == Started(history=SeedOutcome(seeded=0, skipped=2, reason="pending_interrupt"))
    assert text_of(events) == "yes"


async def test_the_output_of_a_python_program_that_flushes_comes_at_once() -> None:
    events = agent_of(python("import time; print('one', flush=True); time.sleep(1000)")).run(a_turn())
    async with asyncio.timeout(5):
        assert [await anext(events), await anext(events)] == [Started(), Delta(text="one")]
        await events.aclose()


def test_without_history_the_prompt_is_all() -> None:
    assert prompt_of(a_turn("hello\nyou"), ()) == "hello\nyou"


def test_history_stands_in_front_in_order() -> None:
    parts = (Text.of("a "), Data(data=1), Text.of("b"))
    history = [a_message("hi"), a_message("hello?", Role.AGENT), Message(message_id="h", role=Role.USER, parts=parts)]
    assert prompt_of(a_turn("go on"), history) == "User: hi\nAgent: hello?\nUser: a b\n\ngo on"


def test_data_comes_as_json_after_the_text() -> None:
    data = (Data(data={"ok": True}), Data(data=None))
    assert prompt_of(a_turn("look", parts=(Text.of("look"), *data)), ()) == 'look\n{"ok":true}\nnull'
    assert prompt_of(a_turn("", parts=data), ()) == '{"ok":true}\nnull'


def test_an_empty_message_is_an_empty_prompt() -> None:
    assert prompt_of(a_turn(""), ()) == ""


@pytest.mark.parametrize("file", [Raw(data=b"x"), Url(url="file:///x")])
def test_a_file_is_refused_rather_than_dropped(file: Part) -> None:
    with pytest.raises(AgentError) as caught:
        prompt_of(a_turn("look", parts=(Text.of("look"), file)), ())
    assert caught.value.public == "This agent takes text and data, but no files."
