"""One site with the conformance agent for all tests, on which each test is a principal of its own."""

from collections.abc import AsyncIterator
from inspect import iscoroutinefunction
from itertools import count
from pathlib import Path

import pytest
import pytest_asyncio
from tests.conformance.sites import BINDINGS, HTTP_BINDINGS, Host, Site, site

_HERE = Path(__file__).parent
_numbers = count()

TOKENS = {f"principal-{number}": f"token-{number}" for number in range(400)}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The site lives on one loop, so its tests share that."""
    for item in items:
        if _HERE in item.path.parents and isinstance(item, pytest.Function) and iscoroutinefunction(item.function):
            item.add_marker(pytest.mark.asyncio(loop_scope="session"), append=False)


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def at() -> AsyncIterator[Site]:
    async with site({"bearer_token": TOKENS}) as opened:
        yield opened


@pytest.fixture
def token() -> str:
    """The token of a principal that has no tasks yet."""
    return TOKENS[f"principal-{next(_numbers)}"]


@pytest.fixture
def strangers_token() -> str:
    """The token of another one."""
    return TOKENS[f"principal-{next(_numbers)}"]


@pytest.fixture(params=HTTP_BINDINGS, ids=lambda binding: binding.name)
def http_host(request: pytest.FixtureRequest, at: Site, token: str) -> Host:
    """A host over each binding that says in JSON what protobuf cannot say at all."""
    made: Host = request.param(at, token=token)
    return made


@pytest.fixture(params=BINDINGS, ids=lambda binding: binding.name)
def host(request: pytest.FixtureRequest, at: Site, token: str) -> Host:
    """A host over each binding: what holds over one holds over all (A2A 1.0 §5.1)."""
    made: Host = request.param(at, token=token)
    return made
