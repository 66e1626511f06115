"""Our client against an agent on the server of a2a-sdk 0.3, over both of its bindings."""

import asyncio
import json
import subprocess
import sys
import sysconfig
from collections.abc import Iterator

import pytest
from tests.e2e.clients.catalogue import ENVIRONMENTS, PROGRAMS

from llamon_agent.cli.exits import Exit
from llamon_agent.client.agent_url import AgentUrl
from llamon_agent.client.answers import Answer, Begun
from llamon_agent.client.errors import NoSuchTask, TaskEnded, TaskFailed
from llamon_agent.client.remote_agent import RemoteAgent
from llamon_agent.client.rpc import connect, new_message
from llamon_agent.client.task_view import AnswerText, TaskView
from llamon_agent.domain.events import Delta, Progress
from llamon_agent.domain.message import Data, Raw, Text
from llamon_agent.domain.task import TaskState

PYTHON = ENVIRONMENTS / "sdk03" / "bin" / "python"


@pytest.fixture(scope="module", params=["JSONRPC", "HTTP+JSON"])
def old_agent(request: pytest.FixtureRequest) -> Iterator[str]:
    """The agent's URL."""
    if not PYTHON.exists():
        pytest.fail("the environment of a2a-sdk 0.3 is missing; `make clients` builds it", pytrace=False)
    command = [str(PYTHON), str(PROGRAMS / "sdk03_server.py"), request.param, sysconfig.get_path("purelib")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
        process.terminate()


def llamon(*arguments: str, said: str = "") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "llamon_agent", *arguments]
    return subprocess.run(command, input=said, capture_output=True, text=True, timeout=30, check=False)


@pytest.mark.parametrize("streaming", [[], ["--stream"]])
def test_send_prints_the_answer(old_agent: str, streaming: list[str]) -> None:
    done = llamon("send", old_agent, "hello", *streaming)
    assert (done.returncode, done.stdout) == (Exit.OK, "You said hello\n"), done.stderr
    assert "--context" in done.stderr


def test_send_prints_a_reply_without_a_task(old_agent: str) -> None:
    done = llamon("send", old_agent, "reply")
    assert (done.returncode, done.stdout) == (Exit.OK, "Just this\n"), done.stderr


def test_a_question_is_answered_and_a_failure_told(old_agent: str) -> None:
    asked = llamon("send", old_agent, "ask")
    assert (asked.returncode, asked.stdout) == (Exit.ASKS, "Which one?\n"), asked.stderr
    task_id = asked.stderr.split()[-1]
    done = llamon("send", old_agent, "the first", "--task", task_id)
    assert (done.returncode, done.stdout) == (Exit.OK, "You said the first\n"), done.stderr
    failed = llamon("send", old_agent, "fail")
    assert (failed.returncode, "out of paper" in failed.stderr) == (Exit.ENDED_BADLY, True), failed.stderr


def test_a_task_in_the_background_is_looked_at_and_canceled(old_agent: str) -> None:
    begun = llamon("send", old_agent, "hold", "--background", "--json")
    assert begun.returncode == Exit.OK, begun.stderr
    told = json.loads(begun.stdout)
    task_id = (told.get("task") or told)["id"]
    working = llamon("get", old_agent, task_id)
    assert (working.returncode, "is working" in working.stderr) == (Exit.UNREACHED, True), working.stderr
    canceled = llamon("tasks", "cancel", task_id, "--url", old_agent)
    assert canceled.returncode == Exit.OK, canceled.stderr
    assert llamon("get", old_agent, task_id).returncode == Exit.ENDED_BADLY
    again = llamon("tasks", "cancel", task_id, "--url", old_agent)
    assert (again.returncode, "refused the call" in again.stderr) == (Exit.PROTOCOL, True), again.stderr


def test_chat_streams_and_answers(old_agent: str) -> None:
    talk = llamon("chat", old_agent, said="hello\nask\nthe first\n")
    assert talk.stdout == "You said hello\nWhich one?\nYou said the first\n", talk.stderr
    assert talk.returncode == Exit.OK


async def test_a_host_follows_a_stream(old_agent: str) -> None:
    *events, answer = [event async for event in RemoteAgent(old_agent).stream("hello", context_id="c1")]
    assert isinstance(answer, Answer)
    assert events == [
        Begun(task_id=answer.task_id or "", context_id="c1"),
        Progress(text="Reading"),
        Delta(text="You said "),
        Delta(text="hello"),
    ]
    assert (answer.text, answer.state) == ("You said hello", TaskState.COMPLETED)


async def test_a_host_gets_files_and_data(old_agent: str) -> None:
    [artifact] = (await RemoteAgent(old_agent).ask("file")).artifacts
    file = Raw(data=b"\x00\x01\xff", media_type="application/pdf", filename="a.pdf")
    assert (artifact.name, artifact.parts) == ("made", (file, Data(data={"n": 1})))


async def test_a_host_answers_and_learns_how_a_task_ended(old_agent: str) -> None:
    agent = RemoteAgent(old_agent)
    asked = await agent.ask("ask")
    assert asked.asks
    assert (await agent.answer(asked, "the first")).text == "You said the first"
    with pytest.raises(TaskFailed) as failed:
        await agent.ask("fail")
    assert failed.value.said == "out of paper"
    with pytest.raises(NoSuchTask):
        await agent.cancel("no-such")
    with pytest.raises(TaskEnded):
        await agent.cancel(failed.value.answer.task_id or "")


async def test_a_task_is_followed_and_canceled(old_agent: str) -> None:
    view = TaskView(AnswerText())
    async with asyncio.timeout(30), connect(AgentUrl(old_agent), None) as agent:
        message = new_message((Text.of("hold"),), context_id=None, task_id=None)
        [begun] = [reply async for reply in agent.send(message, stream=False, blocking=False)]
        task_id = begun.event.task_id
        assert task_id is not None
        following = agent.subscribe(task_id)
        assert Progress(text="Still reading") in list(view.apply((await anext(following)).event))
        await following.aclose()
        list(view.apply((await agent.cancel(task_id)).event))
    assert view.state is TaskState.CANCELED
