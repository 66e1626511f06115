import pytest
from a2a.compat.v0_3 import a2a_v0_3_pb2 as old
from google.protobuf.json_format import Parse

from llamon_agent.domain.profile import Profile
from llamon_agent.inbound.a2a.bindings.grpc.services import proto_card_03
from llamon_agent.inbound.a2a.cards.card import Interfaces, card_of, write_card


@pytest.mark.parametrize("bearer", [False, True])
def test_a_0_3_card_becomes_what_its_protobuf_knows(bearer: bool) -> None:
    profile = Profile(name="Echo", description="Says it again.", version="1.0.0", bearer=bearer)
    card = write_card(card_of(profile, Interfaces(url="http://edge/a2a"), "0.3"))
    written = Parse(proto_card_03(card), old.AgentCard())
    assert (written.name, written.url, written.preferred_transport) == ("Echo", "http://edge/a2a", "JSONRPC")
    assert written.capabilities.streaming
    assert [one.transport for one in written.additional_interfaces] == ["JSONRPC", "HTTP+JSON"]
    assert [list(one.schemes) for one in written.security] == ([["bearer"]] if bearer else [])
    assert dict(written.security_schemes).keys() == ({"bearer"} if bearer else set())
    if bearer:
        assert written.security_schemes["bearer"].http_auth_security_scheme.scheme == "Bearer"
