"""What the clients read in our cards, and what they choose by them."""

import pytest
from tests.e2e.clients.catalogue import BINDINGS, CHOOSERS, CLIENTS, Client
from tests.e2e.clients.conftest import Connections
from tests.e2e.clients.running import Remote
from tests.e2e.clients.shapes import answer_of
from tests.e2e.conftest import Edge


def test_the_card_tells_the_agent(remote: Remote) -> None:
    card = remote.card()
    assert (card["name"], card["version"]) == ("Everything", "1.2.3")
    assert card["description"] == "Does whatever an agent can do."
    assert card["capabilities"]["streaming"] is True
    assert [skill["name"] for skill in card["skills"]]


@pytest.mark.parametrize("remote", CHOOSERS, indirect=True, ids=str)
def test_a_client_that_chooses_by_the_whole_card_gets_through(remote: Remote) -> None:
    assert answer_of(remote.task("hello")) == "You said: hello "


@pytest.mark.parametrize("client", [*CHOOSERS, *(each for each in CLIENTS if each.version == "0.2")], ids=str)
def test_an_agent_is_found_by_its_own_address(client: Client, connections: Connections, open_edge: Edge) -> None:
    """With the slash at its end, without which JavaScript's SDKs drop the address's last segment."""
    remote = connections.to(client, f"{open_edge.url}/a2a/everything/")
    assert "/a2a/everything" in str(remote.card())
    assert answer_of(remote.task("hello")) == "You said: hello "


@pytest.mark.parametrize(
    "remote", [each for each in CLIENTS if each.sdk == "py1" and each.binding == "JSONRPC"], indirect=True, ids=str
)
def test_the_interfaces_of_a_version_are_all_on_its_card(remote: Remote) -> None:
    listed = remote.card()["supportedInterfaces"]
    version = remote.client.version
    told = [one["protocolBinding"] for one in listed if one["protocolVersion"].startswith(version)]
    assert list(dict.fromkeys(told)) == list(BINDINGS)
