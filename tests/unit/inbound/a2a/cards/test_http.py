from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx2
import pytest
from starlette.applications import Starlette
from tests.card_keys import key_of

from llamon_agent.domain.profile import Profile
from llamon_agent.inbound.a2a.cards.http import card_routes, jwks_route
from llamon_agent.inbound.a2a.cards.site import Cards, CardSite, GrpcPort
from llamon_agent.wire.cards.signing import Signer

PROFILE = Profile(name="Echo", description="Says it again.", version="1.0.0")
CURRENT = "/.well-known/agent-card.json"
OLD = "/.well-known/agent.json"


@asynccontextmanager
async def site(
    *, public_url: str | None = None, trusted: bool = False, grpc: GrpcPort | None = None
) -> AsyncIterator[httpx2.AsyncClient]:
    cards = Cards(
        CardSite(
            profile=PROFILE,
            path="/a2a",
            public_url=public_url,
            trusted=trusted,
            grpc=grpc,
            started_s=1_764_500_000.0,
        )
    )
    app = Starlette(routes=[*card_routes(cards, under=""), *card_routes(cards, under="/a2a")])
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app=app), base_url="https://edge:8443") as client:
        yield client


@pytest.mark.parametrize("under", ["", "/a2a"])
async def test_the_card_is_at_both_well_known_places(under: str) -> None:
    async with site() as http:
        current, old = (await http.get(under + CURRENT)).json(), (await http.get(under + OLD)).json()
    assert current["supportedInterfaces"][0]["url"] == current["url"] == old["url"] == "https://edge:8443/a2a"
    assert "supportedInterfaces" not in old


@pytest.mark.parametrize(
    ("headers", "query", "is_pure"),
    [
        ({"A2A-Version": "1.0"}, "", True),
        ({"A2A-Version": "1.0.1"}, "", True),
        ({}, "?A2A-Version=1.0", True),
        ({"A2A-Version": "0.3"}, "", False),
        ({"A2A-Version": "99.0"}, "", False),
        ({}, "", False),
    ],
)
async def test_a_client_that_asks_for_1_0_gets_a_pure_1_0_card(
    headers: dict[str, str], query: str, is_pure: bool
) -> None:
    async with site() as http:
        card = (await http.get(CURRENT + query, headers=headers)).json()
    assert ("protocolVersion" not in card) is is_pure


async def test_a_card_can_be_read_by_browsers_and_kept_by_caches() -> None:
    async with site() as http:
        response = await http.get(CURRENT)
    assert response.headers["content-type"] == "application/json"
    assert response.headers["access-control-allow-origin"] == "*"
    assert response.headers["cache-control"] == "public, max-age=300"
    assert response.headers["last-modified"] == "Sun, 30 Nov 2025 10:53:20 GMT"
    assert response.headers["vary"] == "A2A-Version, Host"


async def test_a_browser_may_ask_before_it_gets() -> None:
    async with site() as http:
        asks = {"origin": "https://portal", "access-control-request-method": "GET"}
        response = await http.options(CURRENT, headers=asks)
    assert response.status_code == 204
    assert response.headers["access-control-allow-origin"] == "*"
    assert "A2A-Version" in response.headers["access-control-allow-headers"]


async def test_head_says_what_get_would() -> None:
    async with site() as http:
        get, head = await http.get(CURRENT), await http.head(CURRENT)
    assert head.status_code == 200
    assert head.headers["etag"] == get.headers["etag"]


async def test_a_client_that_names_its_cards_in_several_headers_gets_304() -> None:
    async with site() as http:
        tag = (await http.get(CURRENT)).headers["etag"]
        response = await http.get(CURRENT, headers=[("if-none-match", '"other"'), ("if-none-match", tag)])
    assert response.status_code == 304


@pytest.mark.parametrize("known", ["{tag}", "W/{tag}", '"other", {tag}', "*"])
async def test_a_client_that_has_the_card_gets_304(known: str) -> None:
    async with site() as http:
        tag = (await http.get(CURRENT)).headers["etag"]
        response = await http.get(CURRENT, headers={"if-none-match": known.format(tag=tag)})
    assert (response.status_code, response.content) == (304, b"")
    assert response.headers["etag"] == tag


async def test_a_client_with_another_card_gets_this_one() -> None:
    async with site() as http:
        old = (await http.get(OLD)).headers["etag"]
        assert (await http.get(CURRENT, headers={"if-none-match": old})).status_code == 200


FORWARDED = {"x-forwarded-proto": "https", "x-forwarded-host": "agents.example.com", "x-forwarded-prefix": "/one"}


@pytest.mark.parametrize(
    ("public_url", "trusted", "url"),
    [
        ("https://public.example.com/", False, "https://public.example.com/a2a"),
        ("https://public.example.com", True, "https://public.example.com/a2a"),
        (None, True, "https://agents.example.com/one/a2a"),
        (None, False, "https://edge:8443/a2a"),
    ],
)
async def test_the_address_in_the_card_is_the_one_that_callers_use(
    public_url: str | None, trusted: bool, url: str
) -> None:
    async with site(public_url=public_url, trusted=trusted) as http:
        response = await http.get(CURRENT, headers=FORWARDED)
    assert response.json()["url"] == url
    assert ("X-Forwarded-Host" in response.headers["vary"]) is trusted


async def test_a_forwarded_header_that_came_twice_is_believed_as_the_nearest_proxy_wrote_it() -> None:
    headers = [("x-forwarded-host", "evil.example"), ("x-forwarded-host", "proxy.example")]
    async with site(trusted=True) as http:
        assert (await http.get(CURRENT, headers=headers)).json()["url"] == "https://proxy.example/a2a"


async def test_a_host_that_is_none_gets_a_card_all_the_same() -> None:
    async with site(grpc=GrpcPort(port=8001)) as http:
        response = await http.get(CURRENT, headers={"host": "[:::::]"})
    assert response.json()["url"] == "https://localhost/a2a"


async def test_the_public_keys_are_for_everybody_and_may_be_kept() -> None:
    signer = Signer([key_of("new"), key_of("old", "EdDSA")])
    transport = httpx2.ASGITransport(app=Starlette(routes=[jwks_route(signer)]))
    async with httpx2.AsyncClient(transport=transport, base_url="https://edge") as http:
        response = await http.get("/.well-known/jwks.json")
        again = await http.get("/.well-known/jwks.json", headers={"if-none-match": response.headers["etag"]})
        asked = await http.options("/.well-known/jwks.json")
    assert [key["kid"] for key in response.json()["keys"]] == ["new", "old"]
    assert response.headers["content-type"] == "application/jwk-set+json"
    assert response.headers["cache-control"] == "public, max-age=300"
    assert response.headers["access-control-allow-origin"] == "*"
    assert (again.status_code, asked.status_code) == (304, 204)


async def test_a_signed_card_is_the_same_each_time() -> None:
    site = CardSite(
        profile=PROFILE, path="/a2a", public_url="https://a.example", started_s=0.0, signer=Signer([key_of()])
    )
    transport = httpx2.ASGITransport(app=Starlette(routes=card_routes(Cards(site), under="")))
    async with httpx2.AsyncClient(transport=transport, base_url="https://edge") as http:
        first, second = await http.get(CURRENT), await http.get(CURRENT)
    assert first.json()["signatures"]
    assert first.headers["etag"] == second.headers["etag"]
