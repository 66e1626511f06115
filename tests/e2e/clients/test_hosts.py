"""Hosts that other people wrote do with our edge what docs/clients.md says of them."""

import pytest
from tests.e2e.clients.conftest import Edges, Programs
from tests.e2e.clients.hosts import LIGHT, NO_API, Host
from tests.e2e.clients.scenarios import SCENARIOS
from tests.e2e.clients.trying import verdict

CELLS = [(host, name) for host in LIGHT for name in SCENARIOS if host.expected(name) != NO_API]


@pytest.mark.parametrize(("host", "scenario"), CELLS, ids=str)
def test_a_host_does_what_the_page_says(host: Host, scenario: str, programs: Programs, edges: Edges) -> None:
    """A failure for which the page has a reason must fail, so that it is noticed once the client is mended."""
    found, why = verdict(host, programs.of(host.program), edges.of(host.config).url, scenario)
    assert found == host.expected(scenario), why or f"{scenario} works: the reason in hosts.py is out of date"
