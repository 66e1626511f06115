"""How often the process of an edge looks for garbage, and that a reload leaves none behind."""

import asyncio
import signal
from pathlib import Path

import pytest
from a2a.types.a2a_pb2 import CancelTaskRequest
from tests.e2e.conftest import Edge, connected, running_edge
from tests.e2e.test_official_client import answer, saying, text_of
from tests.e2e.test_restart import in_background

KNOT = """
import asyncio, gc, logging, weakref

class Knot:
    def __init__(self):
        self.me = self  # so that only a search for garbage finds it
        weakref.finalize(self, logging.getLogger("knot").warning, "a knot is gone").atexit = False

    async def __call__(self, prompt):
        if prompt == "wait":
            await asyncio.sleep(60)
        return f"{gc.get_threshold()[:2]} {gc.get_freeze_count() > 10_000}"

def make():
    return Knot()
"""


@pytest.fixture
def config(tmp_path: Path) -> Path:
    (tmp_path / "knot.py").write_text(KNOT)
    file = tmp_path / "edge.yaml"
    file.write_text(f"a2a: {{adapter: custom, target: '{tmp_path / 'knot.py'}:make'}}")
    return file


def replace_by_echo(config: Path, edge: Edge) -> None:
    config.write_text("a2a: {adapter: echo}")
    edge.process.send_signal(signal.SIGHUP)
    edge.await_line("configuration is taken")


def has_logged(edge: Edge, text: str) -> bool:
    return text in edge.log.read_text()


async def test_a_running_edge_looks_for_garbage_seldom_and_never_in_what_stays(config: Path, tmp_path: Path) -> None:
    with running_edge("--config", str(config), "--ephemeral", data=tmp_path / "data") as edge:
        async with asyncio.timeout(30), connected(edge.url, "1.0", streaming=False) as client:
            assert text_of((await answer(client, saying("hello"))).artifacts) == "(10000, 5) True"


async def test_an_agent_that_was_replaced_is_garbage_as_soon_as_its_runs_have_ended(
    config: Path, tmp_path: Path
) -> None:
    with running_edge("--config", str(config), "--ephemeral", data=tmp_path / "data") as edge:
        async with asyncio.timeout(30), connected(edge.url, "1.0", streaming=False) as client:
            task_id = await in_background(client, "wait", "c1")
            await asyncio.to_thread(replace_by_echo, config, edge)
            assert text_of((await answer(client, saying("hello"))).artifacts) == "hello"
            assert not has_logged(edge, "a knot is gone")
            await client.cancel_task(CancelTaskRequest(id=task_id))
            await asyncio.to_thread(edge.await_line, "a knot is gone")
