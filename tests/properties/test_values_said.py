"""What agents and callers say over the wire has the same result on edges with each kind of store, and is no outage."""

import asyncio
import json
import re
from collections.abc import Iterator
from contextlib import AsyncExitStack
from itertools import count
from pathlib import Path
from typing import Any

import httpx2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.postgres_server import PostgresServer
from tests.properties import odd_agents
from tests.properties.odd_agents import NODES, WAYS
from tests.properties.odd_values import SAID, TEXTS, VALUES, nested

from llamon_agent.app import open_edge
from llamon_agent.config.edge import EdgeConfig
from llamon_agent.domain.errors import BackendError

AGENTS = Path(odd_agents.__file__)
_ids = count(1)
_MADE = re.compile(r'"(?:[0-9a-f]{32}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|\d{4}-\d\d-\d\dT[\d:.]+Z)(?=")')


def config_of(data: Any) -> EdgeConfig:
    says = {"adapter": "custom", "target": f"{AGENTS}:says", "direct_messages": True}
    graph = {
        "adapter": "langgraph",
        "target": f"{AGENTS}:graph",
        "langgraph": {"input_key": "q", "output_key": "out"},
    }
    a2a = {"push": {"allow": ["hooks.example"]}, "tenants": ["blue"]}
    return EdgeConfig.model_validate({"a2a": a2a, "agents": {"says": says, "graph": graph}, "data": data})


class Edges:
    """An edge for each kind of store, and what each answers to the same calls."""

    def __init__(self, runner: asyncio.Runner, clients: list[httpx2.AsyncClient]) -> None:
        self._runner = runner
        self._clients = clients

    def same(self, agent: str, *bodies: bytes, headers: dict[str, str] | None = None) -> list[Any]:
        """What all the edges answer, one body after the other, but for the ids and times that they made."""
        first, *others = [self._runner.run(self._answers(http, agent, bodies, headers)) for http in self._clients]
        for other in others:
            assert other == first
        return first

    async def _answers(
        self, http: httpx2.AsyncClient, agent: str, bodies: tuple[bytes, ...], headers: dict[str, str] | None
    ) -> list[Any]:
        found = []
        for body in bodies:
            answer = await http.post(f"/a2a/{agent}", content=body, headers=headers)
            assert BackendError.public not in answer.text
            found.append(json.loads(_MADE.sub('"made', answer.text)))
        ready = await http.get("/readyz")
        assert ready.status_code == 200, ready.text
        return found


@pytest.fixture(scope="module")
def edges(postgres: PostgresServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Edges]:
    name = postgres.make_database()
    with asyncio.Runner() as runner:
        opened = AsyncExitStack()

        async def start(data: Any) -> httpx2.AsyncClient:
            edge = await opened.enter_async_context(open_edge(config_of(data)))
            http = httpx2.AsyncClient(
                base_url="http://localhost", transport=httpx2.ASGITransport(edge), headers={"A2A-Version": "1.0"}
            )
            return await opened.enter_async_context(http)

        kinds: list[Any] = [
            {"ephemeral": True},
            {"folder": str(tmp_path_factory.mktemp("data"))},
            {"postgres": {"url": postgres.url(name), "pool_min": 1}},
        ]
        yield Edges(runner, [runner.run(start(data)) for data in kinds])
        runner.run(opened.aclose())
    postgres.drop_database(name)


def sent(text: str, context: str, **more: Any) -> bytes:
    message = {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": text}], "contextId": context, **more}
    return json.dumps(call("SendMessage", {"message": message})).encode()


def call(method: str, params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}


def state_of(answer: Any) -> str:
    return str(answer["result"]["task"]["status"]["state"])


@settings(max_examples=60)
@given(st.sampled_from([("says", way) for way in WAYS] + [("graph", way) for way in NODES]), VALUES)
def test_what_an_agent_says_has_the_same_result_and_its_context_goes_on(
    edges: Edges, where: tuple[str, str], value: Any
) -> None:
    agent, way = where
    SAID[0] = value
    context = f"context {next(_ids)}"
    *_, last = edges.same(agent, sent(way, context), sent("hello", context), sent("hello", context))
    assert state_of(last) == "TASK_STATE_COMPLETED"


@pytest.mark.parametrize("depth", [99, 300, 930, 960, 990])
@pytest.mark.parametrize("way", ["data", "artifact", "ask", "reply"])
def test_a_value_that_is_too_deep_is_the_agents_failure(edges: Edges, way: str, depth: int) -> None:
    SAID[0] = nested(depth)
    context = f"context {next(_ids)}"
    first, last = edges.same("says", sent(way, context), sent("hello", context))
    assert state_of(last) == "TASK_STATE_COMPLETED"
    assert (depth > 99) == ("nests deeper than 100 levels" in json.dumps(first))
    if depth > 99:
        status = first["result"]["task"]["status"]
        assert status["state"] == "TASK_STATE_FAILED"
        assert status["message"]["parts"] == [{"text": "The agent gave a value that nests deeper than 100 levels."}]


@pytest.mark.parametrize("depth", [300, 930, 990])
@pytest.mark.parametrize("way", NODES)
def test_a_graphs_value_that_is_too_deep_is_no_outage(edges: Edges, way: str, depth: int) -> None:
    SAID[0] = nested(depth)
    context = f"context {next(_ids)}"
    *_, last = edges.same("graph", sent(way, context), sent("hello", context))
    assert state_of(last) == "TASK_STATE_COMPLETED"


ODD = st.sampled_from(
    [
        rb'"\u0000"', rb'"\ud800"', rb'"\ud83d\ude00"', b'"\xff"', b"1e999", b"-1e999", b"NaN", b"1" * 401,
        b"1" * 5000, b"[" * 80 + b"]" * 80, b"[" * 10_000 + b"]" * 10_000, b'{"\\u0000":1}', b'{"\\ud800":1}',
        b"-9223372036854775809", b"18446744073709551616", b"1.0", b'"' + b"long " * 20_000 + b'"', b'""', b"null",
        rb'"\u001f%00/\\0"',
    ]
)  # fmt: skip


def sending(
    *, part: bytes = b'{"text":"a"}', message_id: bytes = b'"m"', message: bytes = b"", params: bytes = b""
) -> bytes:
    """A message with a place for a value, and one after it for the context."""
    return (b'"method":"SendMessage","params":{%b"message":{"messageId":%b,"role":"ROLE_USER","parts":[%b],%b%%s}}') % (
        params,
        message_id,
        part,
        message,
    )


CALLS = (
    sending(part=b'{"text":%s}'),
    sending(part=b'{"data":%s}'),
    sending(part=b'{"url":%s}'),
    sending(part=b'{"raw":%s}'),
    sending(part=b'{"text":"a","metadata":{"k":%s}}'),
    sending(part=b'{"raw":"YQ==","filename":%s}'),
    sending(part=b'{"raw":"YQ==","mediaType":%s}'),
    sending(message_id=b"%s"),
    sending(message=b'"metadata":{"k":%s},'),
    sending(message=b'"taskId":%s,'),
    sending(message=b'"extensions":[%s],'),
    sending(message=b'"referenceTaskIds":[%s],'),
    sending(params=b'"metadata":{"k":%s},'),
    sending(params=b'"metadata":{"history":[{"role":"user","content":%s}]},'),
    sending(params=b'"tenant":%s,'),
    *[
        sending(params=b'"configuration":{"taskPushNotificationConfig":{%b}},' % webhook)
        for webhook in (
            b'"url":%s',
            b'"url":"https://hooks.example/","id":%s',
            b'"url":"https://hooks.example/","token":%s',
            b'"url":"https://hooks.example/","authentication":{"scheme":"Bearer","credentials":%s}',
        )
    ],
)

READS = (
    b'"method":"GetTask","params":{"id":%s}',
    b'"method":"ListTasks","params":{"contextId":%s}',
    b'"method":"ListTasks","params":{"contextId":"nowhere","pageToken":%s}',
    b'"method":"ListTasks","params":{"contextId":"nowhere","pageSize":%s}',
    b'"method":"CancelTask","params":{"id":%s}',
    b'"method":"ListTaskPushNotificationConfigs","params":{"taskId":%s}',
    b'"method":"DeleteTaskPushNotificationConfig","params":{"taskId":"t","id":%s}',
)


def body(inner: bytes) -> bytes:
    return b'{"jsonrpc":"2.0","id":1,' + inner + b"}"


@settings(max_examples=80)
@given(st.sampled_from(["says", "graph"]), st.sampled_from(CALLS), ODD)
def test_what_a_caller_sends_has_the_same_result_and_its_context_goes_on(
    edges: Edges, agent: str, inner: bytes, odd: bytes
) -> None:
    context = f"context {next(_ids)}"
    made = body(inner.replace(b"%s", odd, 1).replace(b"%s", b'"contextId":"%b"' % context.encode()))
    *_, last = edges.same(agent, made, sent("hello", context))
    assert state_of(last) == "TASK_STATE_COMPLETED"


@settings(max_examples=40)
@given(st.sampled_from(READS), ODD.filter(lambda odd: odd not in (b'""', b"null")))  # which name no context
def test_what_a_caller_asks_for_has_the_same_result(edges: Edges, inner: bytes, odd: bytes) -> None:
    edges.same("says", body(inner.replace(b"%s", odd)))


@settings(max_examples=25)
@given(TEXTS, st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=5))
def test_names_of_a_callers_own_have_the_same_result(edges: Edges, context: str, key: str) -> None:
    context = f"{next(_ids)} {context}"
    headers = {"Idempotency-Key": f"{next(_ids)} {key}"}
    edges.same("graph", sent("hello", context), sent("hello", context), headers=headers)
    edges.same("graph", sent("other", context), headers=headers)
