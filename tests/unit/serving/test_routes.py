from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest
from starlette.applications import Starlette
from tests.card_keys import key_of
from tests.unit.inbound.a2a.edges import call, message_03

from llamon_agent.config.edge import A2aConfig, EdgeConfig
from llamon_agent.domain.events import Complete
from llamon_agent.runs.ports.run import Runtime
from llamon_agent.runs.service import RunService
from llamon_agent.serving.routes import AgentSet, EdgeServices, agent_path, build_routes
from llamon_agent.store.memory import MemoryTaskStore
from llamon_agent.testing.scripted import HandClock, ScriptedAgent, counting_ids
from llamon_agent.wire.cards.signing import Signer


@asynccontextmanager
async def site(
    a2a: dict[str, Any] | None = None,
    *,
    defaults: tuple[str, ...] = ("one",),
    gone: tuple[str, ...] = (),
    signer: Signer | None = None,
    **two: Any,
) -> AsyncIterator[httpx2.AsyncClient]:
    """Agents one and two, which are done at once."""
    sections = {"a2a": {"adapter": "custom", **(a2a or {})}, "agents": {"one": {}, "two": two}}
    config = EdgeConfig.model_validate(sections)
    spec = config.agent_specs()
    runtimes = {one.target.name: Runtime(one.target, ScriptedAgent([Complete(text="done")])) for one in spec}
    async with RunService(MemoryTaskStore(), runtimes, clock=HandClock(), new_id=counting_ids()) as runs:
        agent_set = AgentSet(agents=[(one, one.profile) for one in spec], defaults=defaults, gone=gone)
        services = EdgeServices(runs=runs, started_s=1_764_500_000.0, signer=signer)
        app = Starlette(routes=build_routes(config.a2a, agent_set, services).routes)
        async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app=app), base_url="http://edge") as http:
            yield http


async def code_of(http: httpx2.AsyncClient, path: str, method: str, params: object) -> int | None:
    """The code of the error that a call gets, None for none."""
    response = (await http.post(path, content=call(method, params))).json()
    code: int | None = response.get("error", {}).get("code")
    return code


@pytest.mark.parametrize(("path", "expected"), [("/a2a", "/a2a/one"), ("/", "/one"), ("/x/y", "/x/y/one")])
def test_an_agent_lives_below_the_default_path(path: str, expected: str) -> None:
    assert agent_path(A2aConfig(path=path), "one") == expected


async def test_probes_need_no_token() -> None:
    async with site({"bearer_token": "t"}) as http:
        for path, status in (("/livez", 200), ("/healthz", 200), ("/health", 200), ("/readyz", 503)):
            assert (await http.get(path)).status_code == status
        assert (await http.get("/readyz")).json()["failing"] == ["starting"]


async def test_every_agent_goes_by_its_own_modes() -> None:
    picture = {"kind": "file", "file": {"bytes": "aGk=", "mimeType": "image/png"}}
    async with site(input_modes=["text/plain", "image/*"]) as http:
        assert await code_of(http, "/a2a/one", "message/send", message_03(parts=[picture])) == -32005
        assert await code_of(http, "/a2a/two", "message/send", message_03(parts=[picture])) is None


async def test_a_chosen_agent_goes_by_its_own_modes_too() -> None:
    picture = {"kind": "file", "file": {"bytes": "aGk=", "mimeType": "image/png"}}
    naming = message_03(parts=[picture], metadata={"agent": "two"})
    async with site({"routing": {"allow": ["two"]}}, input_modes=["text/plain", "image/*"]) as http:
        assert await code_of(http, "/a2a", "message/send", naming) is None


async def test_one_agent_that_is_gone_has_an_endpoint_and_no_card() -> None:
    async with site(gone=("old",)) as http:
        assert await code_of(http, "/a2a/old", "message/send", message_03()) == -32004
        assert await code_of(http, "/a2a/old/", "tasks/get", {"id": "x"}) == -32001
        assert (await http.get("/a2a/old/.well-known/agent-card.json")).status_code == 404


async def test_the_tasks_of_an_agent_that_is_gone_are_there_for_each_tenant() -> None:
    async with site({"tenants": ["acme"]}, gone=("old",)) as http:
        assert (await http.get("/a2a/old/acme/tasks")).json()["tasks"] == []
        assert (await http.get("/a2a/old/other/tasks")).status_code == 400


async def test_tokens_and_the_largest_body_hold_at_every_path() -> None:
    async with site({"bearer_token": "s3cret", "max_body_bytes": 1024}, gone=("old",)) as http:
        for path in ("/a2a", "/a2a/one", "/a2a/two", "/a2a/old"):
            assert (await http.post(path, content=b"{}")).status_code == 401
            headers = {"authorization": "Bearer s3cret"}
            assert (await http.post(path, content=b"x" * 2000, headers=headers)).status_code == 413
        for path in ("/", "/agents", "/health", "/.well-known/agent-card.json", "/a2a/two/.well-known/agent.json"):
            assert (await http.get(path)).status_code == 200


async def test_cards_say_since_when_they_are_so() -> None:
    async with site() as http:
        response = await http.get("/a2a/two/.well-known/agent-card.json")
    assert response.headers["last-modified"] == "Sun, 30 Nov 2025 10:53:20 GMT"


async def test_the_default_agents_card_is_signed_once_for_all_its_places() -> None:
    async with site({"public_url": "https://agents.example"}, signer=Signer([key_of()])) as http:
        cards = [await http.get(f"{under}/.well-known/agent-card.json") for under in ("", "/a2a")]
    assert cards[0].json()["signatures"]
    assert cards[0].content == cards[1].content
    assert cards[0].headers["etag"] == cards[1].headers["etag"]


@pytest.mark.parametrize("path", ["/a2a", "/x/y", "/"])
async def test_json_rpc_is_taken_at_the_origin_too(path: str) -> None:
    async with site({"path": path}) as http:
        assert await code_of(http, "/", "message/send", message_03()) is None
        assert "text/plain" in (await http.get("/")).headers["content-type"]


@pytest.mark.parametrize("where", ["/a2a/v1/message:send", "/a2a/message:send", "/a2a/one/v1/message:stream"])
async def test_json_rpc_at_a_path_of_http_json_is_told_where_it_goes(where: str) -> None:
    async with site() as http:
        response = await http.post(where, content=call("message/send", message_03()))
        assert response.status_code == 400
        assert "This is a JSON-RPC request, and this path takes HTTP+JSON." in response.text


@pytest.mark.parametrize("method", ["GET", "POST", "PUT"])
async def test_a_path_where_nothing_is_says_where_calls_go_in_the_versions_shape(method: str) -> None:
    async with site() as http:
        old = await http.request(method, "/v1/message:send", content=b"{}")
        new = await http.request(method, "/message:send", content=b"{}")
        assert (old.status_code, new.status_code) == (404, 404)
        assert "A2A calls go to /a2a;" in old.json()["message"]
        assert "A2A calls go to /a2a;" in new.json()["error"]["message"]


async def test_an_answer_is_in_the_status_too_where_that_is_wanted() -> None:
    async with site(answer_in_status=True) as http:
        for path, told in (("/a2a/one", None), ("/a2a/two", "done")):
            task = (await http.post(path, content=call("message/send", message_03()))).json()["result"]
            assert task["artifacts"][0]["parts"][0]["text"] == "done"
            message = task["status"].get("message")
            assert (message and message["parts"][0]["text"]) == told


async def test_how_many_routes_are_tried_does_not_grow_with_the_agents() -> None:
    def tried(*names: str) -> int:
        sections = {"a2a": {"adapter": "custom"}, "agents": {name: {} for name in names}}
        config = EdgeConfig.model_validate(sections)
        services = EdgeServices(runs=runs, started_s=0)
        agent_set = AgentSet(agents=[(one, one.profile) for one in config.agent_specs()], gone=["old", "older"])
        return len(build_routes(config.a2a, agent_set, services).routes)

    async with RunService(MemoryTaskStore(), {}, clock=HandClock(), new_id=counting_ids()) as runs:
        assert tried("one") == tried(*[f"agent-{number}" for number in range(50)])


async def test_each_agent_answers_over_http_json_and_shows_its_card() -> None:
    async with site(gone=("old",)) as http:
        for name in ("one", "two"):
            assert (await http.get(f"/a2a/{name}/.well-known/agent-card.json")).status_code == 200
            assert (await http.get(f"/a2a/{name}/tasks")).json()["tasks"] == []
        assert (await http.get("/a2a/old/tasks")).status_code == 200
        assert (await http.get("/a2a/three/tasks")).status_code == 400  # a tenant of the default agent
