"""The process around the edge: what signals, stuck threads, exits and odd clients do to it."""

import asyncio
import json
import os
import select
import signal
import socket
from http.client import HTTPResponse
from pathlib import Path

import httpx
import pytest
from tests.e2e.conftest import Edge, connected, running_edge
from tests.e2e.test_official_client import answer, saying, text_of, text_of_message
from tests.e2e.test_restart import in_background

ODD = """
import asyncio, sys, time
from langchain_core.messages import AIMessage
from langgraph.graph import START, MessagesState, StateGraph

def node(state):
    text = state["messages"][-1].text
    if text == "exit":
        sys.exit(3)
    if text == "block":
        time.sleep(60)
    return {"messages": [AIMessage(f"said {text}")]}

async def leave(state):
    if state["messages"][-1].text == "said interrupt":
        raise KeyboardInterrupt
    if state["messages"][-1].text == "said stop the loop":
        asyncio.get_running_loop().call_soon(sys.exit)
        await asyncio.Event().wait()
    if state["messages"][-1].text == "said block the loop":
        time.sleep(4)

graph = StateGraph(MessagesState)
graph.add_node("node", node)
graph.add_node("leave", leave)
graph.add_edge(START, "node")
graph.add_edge("node", "leave")
"""


@pytest.fixture
def odd(tmp_path: Path) -> str:
    (tmp_path / "odd.py").write_text(ODD)
    return f"{tmp_path / 'odd.py'}:graph"


async def test_a_node_that_exits_fails_its_own_task_only(tmp_path: Path, odd: str) -> None:
    with running_edge(odd, "--ephemeral", data=tmp_path / "data") as edge:
        async with asyncio.timeout(30), connected(edge.url, "1.0", streaming=False) as client:
            for text in ("exit", "interrupt"):
                assert text_of_message(await answer(client, saying(text))) == "The agent failed."
                assert text_of((await answer(client, saying("hello"))).artifacts) == "said hello"


async def test_an_edge_whose_loop_is_stopped_by_an_agent_ends_with_an_error(tmp_path: Path, odd: str) -> None:
    with running_edge(odd, "--ephemeral", data=tmp_path / "data") as edge:
        async with connected(edge.url, "1.0", streaming=False) as client:
            await in_background(client, "stop the loop", "c1")
        assert edge.process.wait(20) == 1
        assert "an agent's code has stopped the event loop of this process (SystemExit" in edge.log.read_text()


async def test_an_agent_that_blocks_the_loop_is_named_in_the_log(tmp_path: Path, odd: str) -> None:
    with running_edge(odd, "--ephemeral", data=tmp_path / "data") as edge:
        async with connected(edge.url, "1.0", streaming=False) as client:
            assert text_of((await answer(client, saying("block the loop"))).artifacts) == "said block the loop"
        await asyncio.to_thread(edge.await_line, "the event loop was blocked for")
        [line] = [line for line in edge.log.read_text().splitlines() if "has been blocked" in line]
        assert "odd.py:21; agents at work: odd" in line


async def test_a_thread_that_does_not_end_does_not_keep_the_process(tmp_path: Path, odd: str) -> None:
    quick = {"LLAMON_A2A__DRAIN_S": "0"}
    with running_edge(odd, "--ephemeral", data=tmp_path / "data", env=quick) as edge:
        async with connected(edge.url, "1.0", streaming=False) as client:
            await in_background(client, "block", "c1")
        edge.process.send_signal(signal.SIGTERM)
        assert edge.process.wait(20) == 0


async def test_a_second_signal_ends_the_process_at_once(tmp_path: Path) -> None:
    with running_edge("./examples/demo_agent.py:graph", "--ephemeral", data=tmp_path / "data") as edge:
        async with connected(edge.url, "1.0", streaming=False) as client:
            await in_background(client, "count slowly to 100", "c1")
        edge.process.send_signal(signal.SIGTERM)
        await asyncio.to_thread(edge.await_line, "stopping")
        edge.process.send_signal(signal.SIGTERM)
        assert edge.process.wait(3) == 128 + signal.SIGTERM


async def test_a_command_does_not_outlive_an_edge_that_is_ended_at_once(tmp_path: Path) -> None:
    (tmp_path / "stubborn.sh").write_text("trap '' TERM; echo $$ > pid; echo working; while :; do sleep 1; done")
    config = tmp_path / "edge.yaml"
    config.write_text(
        "a2a: {adapter: process, target: sh stubborn.sh}\n"
        f"agents: {{stubborn: {{process: {{folder: {json.dumps(str(tmp_path))}}}}}}}\n"
    )
    with running_edge("--config", str(config), "--ephemeral", data=tmp_path / "data") as edge:
        async with asyncio.timeout(20), connected(edge.url, "1.0", streaming=True) as client:
            async for event in client.send_message(saying("go")):
                if event.HasField("artifact_update"):
                    break
        command = os.pidfd_open(int((tmp_path / "pid").read_text()))
        edge.process.send_signal(signal.SIGTERM)
        await asyncio.to_thread(edge.await_line, "stopping")
        edge.process.send_signal(signal.SIGTERM)
        assert edge.process.wait(3) == 128 + signal.SIGTERM
        ended, _, _ = select.select([command], [], [], 5)
        os.close(command)
    assert ended


async def test_a_body_that_is_half_there_does_not_keep_a_stopping_edge_nor_break_it(tmp_path: Path) -> None:
    with running_edge("./examples/demo_agent.py:graph", "--ephemeral", data=tmp_path / "data") as edge:
        host, port = edge.url.removeprefix("http://").split(":")
        _answer, writer = await asyncio.open_connection(host, int(port))
        writer.write(b"POST /a2a HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{")
        await writer.drain()
        healthy, other = await asyncio.open_connection(host, int(port))
        other.write(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
        await healthy.readuntil(b"}")  # the edge has heard the first one by then
        edge.process.send_signal(signal.SIGTERM)
        assert edge.process.wait(20) == 0
        writer.close()
        other.close()
    assert "Traceback" not in edge.log.read_text()
    assert "Cancel" not in edge.log.read_text()


@pytest.mark.parametrize("upgrade", ["h2c", "websocket"])
def test_an_offer_to_upgrade_is_passed_over_and_the_call_is_answered(edge: Edge, upgrade: str) -> None:
    """What Java's HTTP client sends on a plain connection. Source: RFC 9110 §7.8."""
    message = {"role": "user", "messageId": "m", "parts": [{"kind": "text", "text": "hello"}]}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "message/send", "params": {"message": message}}).encode()
    head = (
        "POST /a2a HTTP/1.1\r\nConnection: Upgrade, HTTP2-Settings\r\n"
        f"Content-Length: {len(body)}\r\nHost: localhost\r\nHTTP2-Settings: AAEAAEAAAAIAAAABAAMAAABk\r\n"
        f"Upgrade: {upgrade}\r\nContent-Type: application/json\r\n\r\n"
    )
    host, port = edge.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=10) as connection:
        connection.sendall(head.encode() + body)
        response = HTTPResponse(connection)
        response.begin()
        assert (response.status, b'"completed"' in response.read()) == (200, True)


async def failing(http: httpx.AsyncClient) -> list[str]:
    """What /readyz says."""
    response = await http.get("/readyz")
    assert response.status_code == (503 if "failing" in response.json() else 200)
    return response.json().get("failing", [])  # type: ignore[no-any-return]


async def test_an_edge_that_stops_is_not_ready_while_it_listens_and_lets_its_runs_finish(tmp_path: Path) -> None:
    with running_edge("./examples/demo_agent.py:graph", data=tmp_path / "data") as edge:
        async with (
            asyncio.timeout(60),
            connected(edge.url, "1.0", streaming=False) as client,
            httpx.AsyncClient(base_url=edge.url) as http,
        ):
            assert await failing(http) == []
            await in_background(client, "research whales", "c1")
            edge.process.send_signal(signal.SIGTERM)
            await asyncio.to_thread(edge.await_line, "stopping")
            async with httpx.AsyncClient(base_url=edge.url) as newcomer:  # it still listens
                assert await failing(newcomer) == ["stopping"]
                assert (await newcomer.get("/livez")).status_code == 200
        assert edge.process.wait(20) == 0


async def test_an_edge_may_go_on_taking_work_until_its_balancer_has_seen_that_it_stops(tmp_path: Path) -> None:
    env = {"LLAMON_A2A__UNREADY_S": "60"}
    with running_edge("--adapter", "echo", data=tmp_path / "data", env=env) as edge:
        async with (
            asyncio.timeout(30),
            connected(edge.url, "1.0", streaming=False) as client,
            httpx.AsyncClient(base_url=edge.url) as http,
        ):
            edge.process.send_signal(signal.SIGTERM)
            await asyncio.to_thread(edge.await_line, "stopping")
            assert await failing(http) == ["stopping"]
            assert text_of((await answer(client, saying("still there"))).artifacts) == "still there"
        edge.process.send_signal(signal.SIGTERM)
        assert edge.process.wait(3) == 128 + signal.SIGTERM
