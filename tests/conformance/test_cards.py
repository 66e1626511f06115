"""The card: where it is, what it declares, and that this is so."""

from typing import Any

import pytest
from a2a.types import a2a_pb2
from google.protobuf.json_format import ParseDict
from tests.conformance.sites import BINDINGS, Site, message, site

CARD = "/.well-known/agent-card.json"


async def card_of(at: Site, version: str = "", path: str = CARD) -> Any:
    response = await at.http.get(path, headers={"A2A-Version": version} if version else {})
    assert response.status_code == 200
    return response.json()


@pytest.mark.requirement("1.0/8.2-well-known")
@pytest.mark.requirement("0.3/5.3-well-known")
async def test_the_card_is_where_it_is_looked_for(at: Site) -> None:
    new, old = await card_of(at, "1.0"), await card_of(at, path="/.well-known/agent.json")
    assert ParseDict(new, a2a_pb2.AgentCard()).supported_interfaces
    assert (old["protocolVersion"], "supportedInterfaces" in old) == ("0.3.0", False)
    assert new.keys() <= (await card_of(at)).keys()


@pytest.mark.requirement("1.0/5.2-declared")
@pytest.mark.requirement("1.0/8.3.1-interfaces")
async def test_every_interface_of_1_0_answers_where_the_card_says() -> None:
    async with site({"grpc": {"card": True}}) as at:
        interfaces = (await card_of(at, "1.0"))["supportedInterfaces"]
        bindings = ["JSONRPC", "HTTP+JSON", "GRPC"]
        assert [interface["protocolBinding"] for interface in interfaces] == bindings * 2
        assert [interface["protocolVersion"] for interface in interfaces] == ["1.0"] * 3 + ["0.3"] * 3
        rpc, rest, channel = [interface["url"] for interface in interfaces[:3]]
        sent = message("tck-complete-task")
        body = {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": sent}
        headers = {"A2A-Version": "1.0"}
        assert "result" in (await at.http.post(rpc, json=body, headers=headers)).json()
        assert "task" in (await at.http.post(f"{rest}/message:send", json=sent, headers=headers)).json()
        assert channel == at.grpc_address


@pytest.mark.requirement("0.3/5.6-transports")
@pytest.mark.requirement("0.3/5.6.4-no-conflicts")
async def test_every_interface_of_0_3_answers_where_the_card_says(at: Site, token: str) -> None:
    card = await card_of(at, path="/.well-known/agent.json")
    assert (card["preferredTransport"], card["url"]) == ("JSONRPC", f"{at.url}/a2a")
    interfaces = {interface["transport"]: interface["url"] for interface in card["additionalInterfaces"]}
    assert interfaces["JSONRPC"] == card["url"]
    sent = {"message": {"messageId": "m", "role": "user", "parts": [{"kind": "text", "text": "x"}]}}
    headers = {"Authorization": f"Bearer {token}"}
    body = {"jsonrpc": "2.0", "id": 1, "method": "message/send", "params": sent}
    assert (await at.http.post(interfaces["JSONRPC"], json=body, headers=headers)).json()["result"]["kind"] == "task"
    rest = await at.http.post(f"{interfaces['HTTP+JSON']}/v1/message:send", json=sent, headers=headers)
    assert rest.json()["kind"] == "task"


@pytest.mark.requirement("1.0/3.1.11-extended-card")
@pytest.mark.requirement("0.3/7.10-extended-card")
async def test_the_extended_card_is_for_authenticated_callers() -> None:
    tokens, extended = {"bearer_token": {"alice": "a"}}, {"description": "For those who signed in."}
    async with site(tokens, extended=extended) as at:
        assert (await card_of(at, "1.0"))["capabilities"]["extendedAgentCard"] is True
        for host in (binding(at, token="a") for binding in BINDINGS):
            assert (await host.value("GetExtendedAgentCard"))["description"] == "For those who signed in."
        body = {"jsonrpc": "2.0", "id": 1, "method": "agent/getAuthenticatedExtendedCard"}
        for headers, status in (({}, 401), ({"Authorization": "Bearer a"}, 200)):
            response = await at.http.post("/a2a", json=body, headers=headers)
            assert response.status_code == status
        assert response.json()["result"]["description"] == "For those who signed in."
