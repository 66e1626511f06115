import json
from typing import Any

import pytest
from a2a.client.card_resolver import parse_agent_card
from a2a.client.client_factory import ClientFactory
from a2a.compat.v0_3 import types as sdk03
from a2a.types import a2a_pb2 as pb
from google.protobuf.json_format import MessageToDict, ParseDict

from llamon_agent.domain.profile import HISTORY_SEEDING, ExtendedFields, Extension, Profile, Provider, Skill
from llamon_agent.inbound.a2a.cards.card import Flavour, Interfaces, card_of, etag, public_base, write_card

URL = "https://agents.example.com/a2a"
BARE = Profile(name="Demo", description="Answers questions.", version="1.2.3")
FULL = Profile(
    name="Demo",
    description="Answers questions.",
    version="1.2.3",
    skills=(Skill(id="math", name="Math", description="Adds.", tags=("numbers",), examples=("1+1?",)),),
    provider=Provider(organization="Acme", url="https://acme.example.com"),
    documentation_url="https://acme.example.com/docs",
    icon_url="https://acme.example.com/icon.png",
    input_modes=("text/plain", "application/json"),
    output_modes=("text/plain",),
    bearer=True,
)
ONLY_10 = {"supportedInterfaces", "securityRequirements"}
ONLY_03 = {
    "url",
    "preferredTransport",
    "protocolVersion",
    "additionalInterfaces",
    "supportsAuthenticatedExtendedCard",
    "security",
}


SEEDING = {
    "uri": "https://llamon-agent.example/extensions/history-seeding/v1",
    "description": HISTORY_SEEDING.description,
    "params": {"maxTurns": 10, "metadataKey": "history"},
}
FLAVOURS: list[Flavour] = ["hybrid", "1.0", "0.3"]


def card(profile: Profile, flavour: Flavour, **interfaces: Any) -> Any:
    """The card as its reader has it."""
    return json.loads(write_card(card_of(profile, Interfaces(url=URL, **interfaces), flavour)))


def test_the_pure_1_0_card_to_the_letter() -> None:
    assert card(FULL, "only-1.0") == {
        "name": "Demo",
        "description": "Answers questions.",
        "version": "1.2.3",
        "supportedInterfaces": [
            {"url": URL, "protocolBinding": "JSONRPC", "protocolVersion": "1.0"},
            {"url": URL, "protocolBinding": "HTTP+JSON", "protocolVersion": "1.0"},
        ],
        "provider": {"organization": "Acme", "url": "https://acme.example.com"},
        "documentationUrl": "https://acme.example.com/docs",
        "iconUrl": "https://acme.example.com/icon.png",
        "capabilities": {
            "streaming": True,
            "pushNotifications": False,
            "extensions": [SEEDING],
            "extendedAgentCard": False,
        },
        "defaultInputModes": ["text/plain", "application/json"],
        "defaultOutputModes": ["text/plain"],
        "skills": [{"id": "math", "name": "Math", "description": "Adds.", "tags": ["numbers"], "examples": ["1+1?"]}],
        "securitySchemes": {"bearer": {"httpAuthSecurityScheme": {"scheme": "Bearer"}}},
        "securityRequirements": [{"schemes": {"bearer": {}}}],
    }


def test_the_pure_0_3_card_to_the_letter() -> None:
    assert card(FULL, "0.3") == {
        "protocolVersion": "0.3.0",
        "name": "Demo",
        "description": "Answers questions.",
        "version": "1.2.3",
        "url": URL,
        "preferredTransport": "JSONRPC",
        "additionalInterfaces": [
            {"url": URL, "transport": "JSONRPC"},
            {"url": URL, "transport": "HTTP+JSON"},
        ],
        "supportsAuthenticatedExtendedCard": False,
        "provider": {"organization": "Acme", "url": "https://acme.example.com"},
        "documentationUrl": "https://acme.example.com/docs",
        "iconUrl": "https://acme.example.com/icon.png",
        "capabilities": {
            "streaming": True,
            "pushNotifications": False,
            "extensions": [SEEDING],
            "stateTransitionHistory": False,
        },
        "defaultInputModes": ["text/plain", "application/json"],
        "defaultOutputModes": ["text/plain"],
        "skills": [{"id": "math", "name": "Math", "description": "Adds.", "tags": ["numbers"], "examples": ["1+1?"]}],
        "securitySchemes": {"bearer": {"type": "http", "scheme": "Bearer"}},
        "security": [{"bearer": []}],
    }


def test_the_hybrid_card_is_both_with_1_0_first() -> None:
    hybrid, new, old = (card(FULL, flavour) for flavour in ("hybrid", "1.0", "0.3"))
    assert set(hybrid) == set(new) | set(old)
    assert hybrid["supportedInterfaces"] == [
        {"url": URL, "protocolBinding": "JSONRPC", "protocolVersion": "1.0"},
        {"url": URL, "protocolBinding": "HTTP+JSON", "protocolVersion": "1.0"},
        {"url": URL, "protocolBinding": "JSONRPC", "protocolVersion": "0.3"},
        {"url": URL, "protocolBinding": "HTTP+JSON", "protocolVersion": "0.3"},
    ]
    assert hybrid["capabilities"] == new["capabilities"] | old["capabilities"]
    assert hybrid["securitySchemes"]["bearer"] == new["securitySchemes"]["bearer"] | old["securitySchemes"]["bearer"]
    shared = set(new) & set(old) - {"capabilities", "securitySchemes"}
    assert {key: hybrid[key] for key in shared} == {key: new[key] for key in shared}


def test_the_card_for_clients_of_1_0_lists_the_interfaces_of_0_3_too() -> None:
    """The official client for JavaScript looks there for them, where it may speak the older version."""
    both = card(FULL, "1.0")
    assert both["supportedInterfaces"] == card(FULL, "hybrid")["supportedInterfaces"]
    assert {**both, "supportedInterfaces": []} == {**card(FULL, "only-1.0"), "supportedInterfaces": []}


def test_a_pure_card_has_no_key_of_the_other_version() -> None:
    assert not ONLY_03 & set(card(FULL, "1.0"))
    assert not ONLY_10 & set(card(FULL, "0.3"))


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_an_open_agent_asks_for_no_security(flavour: Flavour) -> None:
    assert not {"security", "securityRequirements", "securitySchemes"} & set(card(BARE, flavour))


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_an_agent_without_skills_has_one_from_its_description(flavour: Flavour) -> None:
    """A2A 1.0 §5.7: a required array has an element."""
    skill = {"id": "default", "name": "Demo", "description": "Answers questions.", "tags": ["default"]}
    assert card(BARE, flavour)["skills"] == [skill]


# Where an agent is called.


def test_every_version_has_json_rpc_first_and_1_0_comes_before_0_3() -> None:
    ways = card(BARE, "hybrid", grpc="a.example:50051")["supportedInterfaces"]
    assert [(way["protocolBinding"], way["protocolVersion"]) for way in ways] == [
        ("JSONRPC", "1.0"),
        ("HTTP+JSON", "1.0"),
        ("GRPC", "1.0"),
        ("JSONRPC", "0.3"),
        ("HTTP+JSON", "0.3"),
        ("GRPC", "0.3"),
    ]
    assert [way["url"] for way in ways[:3]] == [URL, URL, "a.example:50051"]


@pytest.mark.parametrize(
    ("scheme", "url"),
    [
        (None, "a.example:50051"),
        ("http", "http://a.example:50051"),
        ("https", "https://a.example:50051"),
    ],
)
def test_0_3_gives_the_address_of_grpc_as_it_is_dialled_or_as_a_url(scheme: Any, url: str) -> None:
    ways = card(BARE, "0.3", grpc="a.example:50051", grpc_scheme=scheme)["additionalInterfaces"]
    assert ways == [
        {"url": URL, "transport": "JSONRPC"},
        {"url": URL, "transport": "HTTP+JSON"},
        {"url": url, "transport": "GRPC"},
    ]


def test_1_0_never_gives_the_address_of_grpc_as_a_url() -> None:
    ways = card(BARE, "hybrid", grpc="a.example:50051", grpc_scheme="https")["supportedInterfaces"]
    assert [way["url"] for way in ways if way["protocolBinding"] == "GRPC"] == ["a.example:50051"] * 2


def test_grpc_stays_out_of_a_card_unless_it_is_wanted() -> None:
    assert "GRPC" not in json.dumps([card(BARE, flavour) for flavour in FLAVOURS])


def test_an_agent_that_shares_the_grpc_port_is_named_by_a_tenant_which_0_3_has_not() -> None:
    hybrid = card(BARE, "hybrid", grpc="a.example:50051", grpc_tenant="other")
    shared = [way for way in hybrid["supportedInterfaces"] if way["protocolBinding"] == "GRPC"]
    assert shared == [
        {"url": "a.example:50051", "protocolBinding": "GRPC", "tenant": "other", "protocolVersion": "1.0"}
    ]
    assert [way["transport"] for way in hybrid["additionalInterfaces"]] == ["JSONRPC", "HTTP+JSON"]


def test_rest_paths_follow_without_a_second_slash() -> None:
    root = card_of(BARE, Interfaces(url="https://a.example/"), "only-1.0")["supportedInterfaces"]
    assert [way["url"] for way in root] == ["https://a.example/", "https://a.example"]


# What an agent can do.


@pytest.mark.parametrize("flavour", FLAVOURS)
@pytest.mark.parametrize("able", [True, False])
def test_a_card_promises_what_is_kept(flavour: Flavour, able: bool) -> None:
    profile = Profile(name="Demo", description="d", version="1", streaming=able, push=able)
    capabilities = card(profile, flavour)["capabilities"]
    assert (capabilities["streaming"], capabilities["pushNotifications"]) == (able, able)


@pytest.mark.parametrize("extended_fields", [None, ExtendedFields()])
def test_a_card_says_whether_there_is_another_for_authenticated_callers(extended_fields: ExtendedFields | None) -> None:
    profile = Profile(name="Demo", description="d", version="1", extended_fields=extended_fields)
    there = extended_fields is not None
    hybrid, new, old = (card(profile, flavour) for flavour in FLAVOURS)
    assert hybrid["capabilities"]["extendedAgentCard"] is new["capabilities"]["extendedAgentCard"] is there
    assert hybrid["supportsAuthenticatedExtendedCard"] is old["supportsAuthenticatedExtendedCard"] is there


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_extensions_are_declared_without_what_says_nothing(flavour: Flavour) -> None:
    own = (Extension(uri="urn:a"), Extension(uri="urn:b", description="B.", required=True, params={"x": [1, None]}))
    profile = Profile(name="Demo", description="d", version="1", extensions=own)
    assert card(profile, flavour)["capabilities"]["extensions"] == [
        {"uri": "urn:a"},
        {"uri": "urn:b", "description": "B.", "required": True, "params": {"x": [1, None]}},
    ]
    none = Profile(name="Demo", description="d", version="1", extensions=())
    assert "extensions" not in card(none, flavour)["capabilities"]


# Read by the official parsers.

RICH: dict[str, Any] = {"grpc": "agents.example.com:50051", "grpc_tenant": "demo"}


@pytest.mark.parametrize("profile", [BARE, FULL])
@pytest.mark.parametrize("interfaces", [{}, RICH])
def test_the_pure_1_0_card_passes_the_sdks_strict_parser(profile: Profile, interfaces: dict[str, Any]) -> None:
    parsed = ParseDict(card(profile, "1.0", **interfaces), pb.AgentCard(), ignore_unknown_fields=False)
    assert [extension.uri for extension in parsed.capabilities.extensions] == [HISTORY_SEEDING.uri]
    assert [way.tenant for way in parsed.supported_interfaces if way.protocol_binding == "GRPC"] in ([], ["demo"])


def test_the_pure_1_0_card_holds_nothing_that_the_sdk_would_leave_out() -> None:
    """What a signature is made over is then what is served."""
    served = card(FULL, "1.0", **RICH)
    assert MessageToDict(ParseDict(served, pb.AgentCard())) == served


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_the_sdk_1_x_finds_the_endpoint_and_the_scheme_in_every_card(flavour: Flavour) -> None:
    parsed = parse_agent_card(card(FULL, flavour, **RICH))
    best = ClientFactory._find_best_interface(list(parsed.supported_interfaces), protocol_bindings=["JSONRPC"])
    assert best is not None
    assert (best.url, best.protocol_version) == (URL, "0.3.0" if flavour == "0.3" else "1.0")
    assert parsed.security_schemes["bearer"].http_auth_security_scheme.scheme == "Bearer"
    assert [list(needed.schemes) for needed in parsed.security_requirements] == [["bearer"]]
    assert parsed.capabilities.streaming


@pytest.mark.parametrize("flavour", ["hybrid", "0.3"])
def test_the_sdk_0_3_models_find_the_endpoint_and_the_scheme(flavour: Flavour) -> None:
    parsed = sdk03.AgentCard.model_validate(card(FULL, flavour, **RICH))
    assert parsed.capabilities.extensions is not None
    assert [extension.uri for extension in parsed.capabilities.extensions] == [HISTORY_SEEDING.uri]
    assert (parsed.url, parsed.preferred_transport, parsed.protocol_version) == (URL, "JSONRPC", "0.3.0")
    assert parsed.security_schemes is not None
    assert isinstance(parsed.security_schemes["bearer"].root, sdk03.HTTPAuthSecurityScheme)
    assert parsed.security == [{"bearer": []}]


# ETag.


def test_an_etag_is_strong_and_changes_with_the_card() -> None:
    first, second = (etag(write_card(card_of(BARE, Interfaces(url=url), "1.0"))) for url in ("http://a", "http://b"))
    assert first != second
    assert first == etag(write_card(card_of(BARE, Interfaces(url="http://a"), "1.0")))
    assert first.startswith('"')
    assert first.endswith('"')


# Where the agent is.

FORWARDED = {
    "host": "10.0.0.7:8000",
    "x-forwarded-host": "agents.example.com",
    "x-forwarded-proto": "https",
    "x-forwarded-prefix": "/team/one/",
}


def base(headers: dict[str, str], *, configured: str | None = None, trusted: int = False) -> str:
    return public_base(headers, configured=configured, trusted=trusted)


def test_a_configured_address_wins_over_every_header() -> None:
    assert base(FORWARDED, configured="https://my.example.com/", trusted=True) == "https://my.example.com"


def test_forwarded_headers_count_only_from_a_trusted_proxy() -> None:
    assert base(FORWARDED) == "http://10.0.0.7:8000"
    assert base(FORWARDED, trusted=True) == "https://agents.example.com/team/one"


def test_the_connections_scheme_is_kept_where_no_proxy_says_otherwise() -> None:
    assert public_base({"host": "a"}, configured=None, trusted=True, scheme="https") == "https://a"


@pytest.mark.parametrize(
    "host", ["localhost:8000", "127.0.0.1", "a-b.example.com:443", "[::1]:8000", "[::ffff:1.2.3.4]", "my_edge:80", "a."]
)
def test_a_host_is_taken_as_the_caller_wrote_it(host: str) -> None:
    assert base({"host": host}) == f"http://{host}"


@pytest.mark.parametrize(
    "host",
    ["", "a b", "a/b", "a@b", 'a"b', "a\nb", "a?b", "a#b", "a:b", "::1", "[::1", "a:123456", "안녕", "a" * 300, "a,"],
)
def test_a_host_that_is_more_than_a_host_is_passed_over(host: str) -> None:
    assert base({"host": host}) == "http://localhost"
    assert base({"host": "a", "x-forwarded-host": host}, trusted=True) == "http://a"


@pytest.mark.parametrize("host", ["[:::::]", "[::1%eth0]", "[1.2.3.4]", "[]", "..", ".a", "a..b", "a:0", "a:65536"])
def test_a_host_that_no_url_can_name_is_passed_over(host: str) -> None:
    assert base({"host": host}) == "http://localhost"
    assert base({"host": "a", "x-forwarded-host": host}, trusted=True) == "http://a"


def test_no_host_at_all_is_this_machine() -> None:
    assert base({}) == "http://localhost"


@pytest.mark.parametrize(
    "prefix", ["", "/", "team", "//evil.example.com", "/a//b", '/"', "/a b", "/a?b", "/..", "/../a", "/a/.."]
)
def test_a_prefix_that_is_no_path_is_passed_over(prefix: str) -> None:
    assert base({"host": "a", "x-forwarded-prefix": prefix}, trusted=True) == "http://a"


def test_a_proto_that_is_no_web_scheme_is_passed_over() -> None:
    assert base({"host": "a", "x-forwarded-proto": "javascript"}, trusted=True) == "http://a"
    assert base({"host": "a", "x-forwarded-proto": "HTTPS"}, trusted=True) == "https://a"


def test_of_several_forwarded_values_the_nearest_proxys_counts() -> None:
    headers = {
        "host": "a",
        "x-forwarded-host": "evil.example.com, agents.example.com",
        "x-forwarded-proto": "http, https",
    }
    assert base(headers, trusted=True) == "https://agents.example.com"


@pytest.mark.parametrize(
    ("hosts", "proxies", "host"),
    [
        ("evil.example, agents.example.com, inner", 2, "agents.example.com"),
        ("evil.example, agents.example.com, inner", 1, "inner"),
        ("agents.example.com, inner", 3, "agents.example.com"),
        ("agents.example.com", 2, "agents.example.com"),
    ],
)
def test_with_several_proxies_what_the_first_of_them_wrote_counts(hosts: str, proxies: int, host: str) -> None:
    assert base({"host": "a", "x-forwarded-host": hosts}, trusted=proxies) == f"http://{host}"
