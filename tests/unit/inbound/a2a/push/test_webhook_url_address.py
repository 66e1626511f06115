"""A webhook's URL is taken apart in one way only."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llamon_agent.domain.errors import BadParams
from llamon_agent.inbound.a2a.push.webhook_url import MAX_URL_CHARACTERS, WebhookUrl, read_webhook_url


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("https://hooks.example/a?b=c#d", WebhookUrl("https", "hooks.example", 443, b"/a?b=c")),
        ("http://HOOKS.example", WebhookUrl("http", "hooks.example", 80, b"/")),
        ("http://localhost:8080/a b/ü", WebhookUrl("http", "localhost", 8080, b"/a%20b/%C3%BC")),
        ("http://münchen.example/", WebhookUrl("http", "xn--mnchen-3ya.example", 80, b"/")),
        ("http://93.184.216.34:81/", WebhookUrl("http", "93.184.216.34", 81, b"/")),
        ("http://[2001:4860:4860::8888]/", WebhookUrl("http", "2001:4860:4860::8888", 80, b"/")),
        ("http://127。0。0。1/", WebhookUrl("http", "127.0.0.1", 80, b"/")),
        ("http://h/%0d%0aX: y", WebhookUrl("http", "h", 80, b"/%0d%0aX:%20y")),
        ("http://a_b.hooks.example.:80/", WebhookUrl("http", "a_b.hooks.example.", 80, b"/")),
    ],
)
def test_a_url_is_read_into_its_parts(url: str, address: WebhookUrl) -> None:
    assert read_webhook_url(url) == address


@pytest.mark.parametrize(
    "url",
    [
        *("", "hooks.example", "//hooks.example/x", "/x", "http:", "http://", "http:///x", "https:hooks.example"),
        *("file:///etc/passwd", "ftp://hooks.example/", "gopher://hooks.example/", "ws://hooks.example/"),
        *("http://user:word@hooks.example/", "http://user@hooks.example/", "http://hooks.example\\@evil.example/"),
        *("http://hooks.example:0/", "http://hooks.example:65536/", "http://hooks.example:x/", "http://[::1"),
        *("http://hooks.example\r\nX: y/", "http://hooks.example\t/", "http://hooks.example\x00/", "http://a b/"),
        *("http://2130706433/", "http://0x7f000001/", "http://0x7f.1/", "http://127.1/", "http://0177.0.0.1/"),
        *("http://127.0.0.1./", "http://127.0.0.256/", "http://1.2.3/", "http://hooks.0x/", "http://hooks.1/"),
        *("http://[fe80::1%25lo]/", "http://①②⑦.0.0.1/", "http://localhost%00.hooks.example/", "http://a..b/"),
        *("http://" + "a" * 64 + ".example/", "https://hooks.example/" + "a" * MAX_URL_CHARACTERS),
    ],
)
def test_what_is_no_webhooks_url_is_refused_by_its_field(url: str) -> None:
    with pytest.raises(BadParams) as raised:
        read_webhook_url(url)
    assert raised.value.public.startswith("url must")


def test_a_host_is_a_literal_address_or_a_name() -> None:
    assert str(read_webhook_url("http://[::1]/").literal) == "::1"
    assert str(read_webhook_url("http://10.0.0.1/").literal) == "10.0.0.1"
    assert read_webhook_url("http://hooks.example/").literal is None


@given(st.one_of(st.text(max_size=30), st.text("0123456789abcdefx.:/@%[]", max_size=20).map("http://".__add__)))
def test_any_text_is_an_address_or_a_refusal(url: str) -> None:
    try:
        address = read_webhook_url(url)
    except BadParams:
        return
    assert address.scheme in ("http", "https")
    assert address.host.isascii()
    assert 0 < address.port < 65536
    assert address.target.startswith(b"/")
    assert not set(address.target + address.host.encode()) & set(b" \r\n\x00")
