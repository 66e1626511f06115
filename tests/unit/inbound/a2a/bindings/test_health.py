from collections.abc import AsyncIterator

import httpx2
import pytest
from starlette.applications import Starlette

from llamon_agent.inbound.a2a.bindings.health import health_routes


class Failing:
    """What fails at the moment."""

    def __init__(self) -> None:
        self.now: tuple[str, ...] = ()

    async def __call__(self) -> tuple[str, ...]:
        return self.now


@pytest.fixture
def failing() -> Failing:
    return Failing()


@pytest.fixture
async def http(failing: Failing) -> AsyncIterator[httpx2.AsyncClient]:
    transport = httpx2.ASGITransport(app=Starlette(routes=health_routes(failing)))
    async with httpx2.AsyncClient(transport=transport, base_url="http://10.1.2.3:8000") as made:
        yield made


@pytest.mark.parametrize("path", ["/livez", "/healthz", "/health"])
async def test_a_process_that_answers_lives_whatever_fails(
    http: httpx2.AsyncClient, failing: Failing, path: str
) -> None:
    failing.now = ("store",)
    response = await http.get(path)
    assert (response.status_code, response.json()) == (200, {"status": "ok"})


async def test_a_process_is_ready_if_nothing_fails(http: httpx2.AsyncClient) -> None:
    response = await http.get("/readyz")
    assert (response.status_code, response.json()) == (200, {"status": "ok"})


async def test_what_fails_is_named(http: httpx2.AsyncClient, failing: Failing) -> None:
    failing.now = ("store",)
    response = await http.get("/readyz")
    assert (response.status_code, response.json()) == (503, {"status": "unavailable", "failing": ["store"]})


@pytest.mark.parametrize("path", ["/livez", "/healthz", "/health", "/readyz"])
async def test_no_cache_keeps_an_answer_and_head_is_enough(http: httpx2.AsyncClient, path: str) -> None:
    for response in (await http.get(path), await http.head(path)):
        assert (response.status_code, response.headers["cache-control"]) == (200, "no-store")
