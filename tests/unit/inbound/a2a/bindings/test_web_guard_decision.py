from typing import Any

import pytest

from llamon_agent.inbound.a2a.bindings.web_guard import (
    BrowserHeaders,
    KnownHosts,
    decide_refusal,
    known_hosts,
    read_browser_headers,
)

KNOWN = known_hosts(
    listen="MyBox", public_url="https://Agents.example.com/team", allowed=("edge", "edge.default.svc.cluster.local.")
)
HERE = "127.0.0.1:8000"


def is_refused(known: KnownHosts = KNOWN, *, is_public: bool = False, **asked: Any) -> bool:
    return decide_refusal(BrowserHeaders(**asked), known, is_public=is_public) is not None


@pytest.mark.parametrize(
    "host",
    [
        "localhost",
        "localhost:8000",
        "LOCALHOST.:8000",
        "agents.localhost:8000",
        "127.0.0.1",
        "127.0.0.1:8000",
        "192.168.1.7:8000",
        "0.0.0.0:8000",
        "8.8.8.8",
        "[::1]",
        "[::1]:8000",
        "[fe80::1:2]:8000",
        "[::ffff:127.0.0.1]:8000",
        "mybox:8000",
        "agents.example.com",
        "AGENTS.example.com:443",
        "agents.example.com.",
        "edge:8000",
        "edge.default.svc.cluster.local:8000",
    ],
)
def test_no_page_of_a_stranger_can_be_at_home_at_a_known_host(host: str) -> None:
    assert not is_refused(hosts=(host,))


@pytest.mark.parametrize(
    "host",
    [
        "evil.test",
        "evil.test:8000",
        "localhost.evil.test",
        "127.0.0.1.evil.test:8000",
        "127.0.0.1.nip.io",
        "notlocalhost",
        "evil-agents.example.com",
        "agents.example.com.evil.test",
        "edge.evil.test",
        "127.1",
        "2130706433",
        "0x7f000001",
        "127.0.0.1@evil.test",
        "evil.test@127.0.0.1",
        "127.0.0.1, evil.test",
        "127.0.0.1:8000:8000",
        "127.0.0.1/",
        "[::1",
        "[127.0.0.1]",
        "[]",
        "::1",
        "[::1%25lo]",
        "localhöst",
        "localhost ",
        ".",
        ":8000",
    ],
)
@pytest.mark.parametrize("is_public", [True, False])
def test_a_host_that_is_not_known_is_refused_for_whatever_is_asked(host: str, is_public: bool) -> None:
    assert is_refused(hosts=(host,), is_public=is_public)
    assert is_refused(hosts=(HERE, host), is_public=is_public)
    assert is_refused(hosts=(host, HERE), is_public=is_public)


def test_a_request_without_a_host_is_no_browsers() -> None:
    assert not is_refused(hosts=())


@pytest.mark.parametrize(
    ("site", "refused"),
    [
        (None, False),
        ("none", False),
        ("same-origin", False),
        ("same-site", True),
        ("cross-site", True),
        ("same-origin, cross-site", True),
        ("something new", True),
        ("", True),
    ],
)
def test_a_browser_shows_whether_a_page_asks_and_of_which_origin(site: str | None, refused: bool) -> None:
    assert is_refused(hosts=(HERE,), site=site) is refused
    assert is_refused(hosts=(HERE,), origin=f"http://{HERE}", site=site) is refused
    assert not is_refused(hosts=(HERE,), site=site, is_public=True)


@pytest.mark.parametrize(
    ("origin", "refused"),
    [
        (None, False),
        ("http://127.0.0.1:8000", False),
        ("HTTP://127.0.0.1:8000", False),
        ("https://agents.example.com", False),
        ("https://agents.example.com:443", False),
        ("https://127.0.0.1:8000", True),
        ("http://127.0.0.1", True),
        ("http://127.0.0.1:8001", True),
        ("http://localhost:8000", True),
        ("http://agents.example.com", True),
        ("https://evil.test", True),
        ("http://127.0.0.1:8000, https://evil.test", True),
        ("http://127.0.0.1:8000.evil.test", True),
        ("http://127.0.0.1:99999", True),
        ("http://[::1", True),
        ("null", True),
        ("", True),
        ("file://", True),
        ("chrome-extension://abcdef", True),
    ],
)
def test_the_origin_of_a_page_must_be_the_edges_own(origin: str | None, refused: bool) -> None:
    assert is_refused(hosts=(HERE,), origin=origin) is refused
    assert not is_refused(hosts=(HERE,), origin=origin, is_public=True)


@pytest.mark.parametrize(
    ("origin", "host"),
    [("http://localhost", "localhost:80"), ("http://localhost:80", "localhost"), ("http://[::1]:8", "[::1]:8")],
)
def test_a_port_that_is_left_out_is_the_usual_one(origin: str, host: str) -> None:
    assert not is_refused(hosts=(host,), origin=origin)


def test_without_anything_configured_only_addresses_and_localhost_are_known() -> None:
    known = known_hosts(listen="127.0.0.1", public_url=None, allowed=())
    assert not is_refused(known, hosts=("localhost",))
    assert is_refused(known, hosts=("edge",))
    assert is_refused(known, hosts=(), origin="http://")


def test_the_headers_of_a_proxy_count_besides_the_clients_and_only_if_it_is_trusted() -> None:
    headers = {
        b"host": b"10.0.0.7:8000",
        b"x-forwarded-host": b"one.example, agents.example.com",
        b"x-forwarded-proto": b"HTTPS",
        b"origin": b"https://agents.example.com",
        b"sec-fetch-site": b"same-origin",
    }
    read = read_browser_headers(headers, scheme="http", trusted=True)
    assert read.hosts == ("10.0.0.7:8000", "agents.example.com")
    assert read.schemes == ("http", "https")
    assert (read.origin, read.site) == ("https://agents.example.com", "same-origin")
    assert read_browser_headers(headers, scheme="http", trusted=False).hosts == ("10.0.0.7:8000",)
    known = known_hosts(listen="127.0.0.1", public_url=None, allowed=("agents.example.com",))
    assert decide_refusal(read, known) is None
    assert decide_refusal(read_browser_headers({}, scheme="http", trusted=True), known) is None


def test_a_refusal_names_the_host_and_what_to_do() -> None:
    refusal = decide_refusal(BrowserHeaders(hosts=("x" * 500,)), KNOWN)
    assert refusal is not None
    assert f"'{'x' * 64}'" in refusal.public
    assert all(key in refusal.public for key in ("a2a.public_url", "a2a.allowed_hosts", "a2a.bearer_token"))
    refusal = decide_refusal(BrowserHeaders(origin="null"), KNOWN)
    assert refusal is not None
    assert "a2a.bearer_token" in refusal.public
