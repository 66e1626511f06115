from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.contract.graph_store import KINDS, Opener

from llamon_agent.adapters.langgraph.stores.owned import Table


@pytest.fixture(params=KINDS)
def opener(request: pytest.FixtureRequest, tmp_path: Path) -> Opener:
    url = request.getfixturevalue("database_url") if request.param == "postgres" else ""
    return Opener(request.param, tmp_path, url)


@pytest.fixture
async def table(opener: Opener) -> AsyncIterator[Table]:
    async with opener() as opened:
        yield opened
