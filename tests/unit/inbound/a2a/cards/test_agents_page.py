from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest
from starlette.applications import Starlette

from llamon_agent.inbound.a2a.cards.agents_page import AgentListing, AgentsSite, agents_routes, unknown_path_route

AGENTS = (
    AgentListing(name="demo", title="Demo <b>agent</b>", description='Shows "it" & more.', path="/a2a/demo"),
    AgentListing(name="other", title="Other", description="Does else.", path="/a2a/other"),
)


@asynccontextmanager
async def site(**more: Any) -> AsyncIterator[httpx2.AsyncClient]:
    app = Starlette(
        routes=[
            *agents_routes(AgentsSite(agents=AGENTS, **more)),
            unknown_path_route("/a2a", agents=[agent.name for agent in AGENTS]),
        ]
    )
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app=app), base_url="https://edge:8443") as client:
        yield client


async def test_programs_get_a_list_with_addresses_that_work() -> None:
    async with site() as http:
        response = await http.get("/agents")
    assert response.headers["content-type"] == "application/json"
    assert response.headers["access-control-allow-origin"] == "*"
    first, second = response.json()["agents"]
    assert first == {
        "name": "demo",
        "title": "Demo <b>agent</b>",
        "description": 'Shows "it" & more.',
        "url": "https://edge:8443/a2a/demo",
        "card": "https://edge:8443/a2a/demo/.well-known/agent-card.json",
        "default": True,
    }
    assert (second["name"], second["default"]) == ("other", False)


@pytest.mark.parametrize(
    ("more", "url"),
    [
        ({"public_url": "https://p.example/base"}, "https://p.example/base/a2a/demo"),
        ({"trusted": True}, "https://proxy.example/pre/a2a/demo"),
        ({}, "https://edge:8443/a2a/demo"),
    ],
)
async def test_the_addresses_are_the_ones_that_callers_use(more: dict[str, Any], url: str) -> None:
    headers = {"x-forwarded-proto": "https", "x-forwarded-host": "proxy.example", "x-forwarded-prefix": "/pre"}
    async with site(**more) as http:
        assert (await http.get("/agents", headers=headers)).json()["agents"][0]["url"] == url


async def test_a_forwarded_header_that_came_twice_is_believed_as_the_nearest_proxy_wrote_it() -> None:
    headers = [("x-forwarded-host", "evil.example"), ("x-forwarded-host", "proxy.example")]
    async with site(trusted=True) as http:
        response = await http.get("/agents", headers=headers)
    assert response.json()["agents"][0]["url"] == "https://proxy.example/a2a/demo"
    assert "X-Forwarded-Host" in response.headers["vary"]


@pytest.mark.parametrize(
    ("accept", "media_type"),
    [
        ("text/html,application/xhtml+xml,*/*;q=0.8", "text/html"),
        ("application/json", "application/json"),
        ("*/*", "text/plain"),
        ("", "text/plain"),
    ],
)
async def test_the_root_lists_the_agents_in_what_the_caller_accepts(accept: str, media_type: str) -> None:
    async with site() as http:
        response = await http.get("/", headers={"accept": accept})
    assert response.headers["content-type"].startswith(media_type)
    assert "https://edge:8443/a2a/other" in response.text
    assert "Accept" in response.headers["vary"]


async def test_the_page_shows_what_cards_say_and_runs_none_of_it() -> None:
    async with site() as http:
        response = await http.get("/", headers={"accept": "text/html"})
    assert "Demo &lt;b&gt;agent&lt;/b&gt;" in response.text
    assert "Shows &quot;it&quot; &amp; more." in response.text
    assert "<b>" not in response.text
    assert "<script" not in response.text
    assert response.headers["content-security-policy"].startswith("default-src 'none'")
    assert response.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize("path", ["/a2a/nobody", "/a2a/nobody/", "/a2a/nobody/.well-known/agent-card.json"])
async def test_the_error_for_an_unknown_agent_says_where_to_look(method: str, path: str) -> None:
    async with site() as http:
        response = await http.request(method, path)
    assert response.status_code == 404
    error = response.json()["error"]
    assert error["message"] == "There is no agent 'nobody' here; /agents lists those that there are."
    assert (error["code"], error["details"][0]["reason"]) == (404, "METHOD_NOT_FOUND")


@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_a_path_below_an_agent_that_is_there_is_not_called_an_unknown_agent(method: str) -> None:
    async with site() as http:
        response = await http.request(method, f"/a2a/{AGENTS[1].name}/nothing")
    assert response.status_code == 404
    assert response.json()["error"]["message"] == f"There is nothing at '/a2a/{AGENTS[1].name}/nothing'."


@pytest.mark.parametrize("path", ["/a2a/nobody/v1/message:send", "/a2a/nobody/v1/tasks", "/a2a/nobody/v1"])
async def test_a_caller_of_0_3_gets_its_own_shape(path: str) -> None:
    async with site() as http:
        error = (await http.post(path)).json()
    assert (error["code"], error["type"]) == (-32601, "MethodNotFoundError")
    assert "nobody" in error["message"]


async def test_a_long_name_is_not_echoed_in_full() -> None:
    async with site() as http:
        assert len((await http.get("/a2a/" + "x" * 5000)).json()["error"]["message"]) < 150


@pytest.mark.parametrize("path", ["/", "/agents", "/agents/"])
async def test_a_browser_may_ask_first_whether_it_may_read(path: str) -> None:
    async with site() as http:
        response = await http.options(path)
    assert (response.status_code, response.headers["access-control-allow-origin"]) == (204, "*")
    assert "GET" in response.headers["access-control-allow-methods"]


async def test_the_list_is_also_there_with_a_slash() -> None:
    async with site() as http:
        assert (await http.get("/agents/")).json() == (await http.get("/agents")).json()
