from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from llamon_agent.config.edge import A2aConfig
from llamon_agent.config.values import (
    AgentName,
    ExtensionUri,
    HostPort,
    JsonObject,
    KeyId,
    Mode,
    PublicUrl,
    RpcPath,
    Seconds,
    SessionTemplate,
    Tenant,
    is_import_path,
    read_duration_s,
)

FITS: list[tuple[Any, list[Any]]] = [
    (HostPort, ["127.0.0.1:8000", "localhost:0", "[::1]:65535", "my-host.example:1"]),
    (RpcPath, ["/a2a", "/", "/a/b-c.d_e~f"]),
    (PublicUrl, ["https://agents.example.com", "http://10.0.0.1:8080/prefix", "http://[::1]:8000"]),
    (SessionTemplate, ["{context_id}", "s-{context_id}-{context_id}", "constant"]),
    (AgentName, ["demo", "a", "0-a_b", "a" * 63]),
    (Mode, ["text/plain", "Image/PNG", "image/*", "*/*", "application/vnd.acme.v1+json"]),
    (Seconds, [0.1, 1, 86_400]),
    (ExtensionUri, ["urn:llamon-agent:x:v1", "https://a.example/x?y=1#z"]),
    (Tenant, ["acme", "Acme/EU", "한국", "*"]),
    (KeyId, ["main", "2026-01_a.b", "k" * 128]),
    (JsonObject, [{}, {"a": [None, True, 1.5, -(2**53) + 1, {"b": "x"}]}]),
]
FITS_NOT: list[tuple[Any, list[Any]]] = [
    (HostPort, ["", "8000", ":8000", "localhost", "h:65536", "h:-1", "::1:8000", "h o:1", "http://h:1", "h:1\n"]),
    (
        RpcPath,
        [
            "",
            "a2a",
            "/a b",
            "/a?b",
            "/a//b",
            "/{x}",
            "/.well-known/a",
            "/health",
            "/health/x",
            "/healthz",
            "/livez",
            "/readyz",
            "/a\n",
        ],
    ),
    (
        PublicUrl,
        ["", "agents.example.com", "ftp://h", "http://", "http://u@h", "http://h/?q", "http://h:x", "http://[::"],
    ),
    (SessionTemplate, ["", "{thread}", "{", "{{context_id}}", "{context_id!r}"]),
    (Mode, ["", "text", "*", "*/png", "image/", "im*/png", "text/plain; charset=utf-8", "a/b/c"]),
    (AgentName, ["", "Demo", "-a", "a b", "a/b", "a" * 64, "a\n", "tasks", "v1"]),
    (Tenant, ["", "tasks", "v1"]),
    (Seconds, [0, -1, 86_401, float("inf"), float("nan")]),
    (ExtensionUri, ["", "x", "urn:", "urn:a b", "urn:a,b", ":x", "urn:a\n", "urn:\u00e9"]),
    (KeyId, ["", "a b", "k" * 129, "a\n"]),
    (JsonObject, [{"a": float("nan")}, {"a": [{"b": 2**53}]}, {1: 2}, {"a": {1: 2}}, {"a": date(2026, 1, 1)}, []]),
]


@pytest.mark.parametrize(("kind", "value"), [(kind, value) for kind, values in FITS for value in values])
def test_these_fit(kind: Any, value: object) -> None:
    kept = TypeAdapter(kind).validate_python(value)
    assert TypeAdapter(kind).validate_python(kept) == kept


@pytest.mark.parametrize(("kind", "value"), [(kind, value) for kind, values in FITS_NOT for value in values])
def test_these_do_not(kind: Any, value: object) -> None:
    with pytest.raises(ValidationError):
        TypeAdapter(kind).validate_python(value)


@pytest.mark.parametrize(("path", "kept"), [("/a2a/", "/a2a"), ("/", "/"), ("/a/b//", "/a/b")])
def test_a_slash_at_the_end_of_a_path_is_dropped(path: str, kept: str) -> None:
    assert TypeAdapter(RpcPath).validate_python(path) == kept


def test_a_slash_at_the_end_of_the_public_url_is_dropped() -> None:
    assert TypeAdapter(PublicUrl).validate_python("https://h.example/x/") == "https://h.example/x"


@pytest.mark.parametrize("target", ["m:g", "a.b.c:make", "./agents/my agent.py:graph", "C:/x/y.py:a.b"])
def test_these_are_import_paths(target: str) -> None:
    assert is_import_path(target)


@pytest.mark.parametrize("target", ["", "graph", "m:", ":g", "m:1g", "m:g()"])
def test_these_are_no_import_paths(target: str) -> None:
    assert not is_import_path(target)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90s", 90),
        ("10m", 600),
        ("24h", 86_400),
        ("30d", 2_592_000),
        ("2w", 1_209_600),
        ("1.5h", 5_400),
        ("0.001s", 0.001),
    ],
)
def test_a_number_and_a_unit_are_a_length_of_time(text: str, seconds: float) -> None:
    assert read_duration_s(text) == seconds


@pytest.mark.parametrize(
    "text", ["", "h", "10", "10 m", "-1h", "1h30m", "1H", "0s", "0.0d", "1e3s", "٣d", "1.2345s", "1d\n"]
)
def test_anything_else_is_none(text: str) -> None:
    assert read_duration_s(text) is None


@given(st.text())
def test_any_text_is_one_or_the_other(text: str) -> None:
    seconds = read_duration_s(text)
    assert seconds is None or seconds > 0


@pytest.mark.parametrize(
    ("written", "proxies"), [(True, 1), (False, 0), ("true", 1), ("false", 0), (0, 0), (1, 1), ("2", 2), (10, 10)]
)
def test_a_proxy_is_trusted_or_so_many_of_them_are(written: object, proxies: int) -> None:
    assert A2aConfig.model_validate({"trust_proxy": written}).trust_proxy == proxies


@pytest.mark.parametrize("written", [-1, 11, "yes please", 1.5, None])
def test_a_number_of_proxies_that_is_none_is_one_error_at_its_key(written: object) -> None:
    with pytest.raises(ValidationError) as caught:
        A2aConfig.model_validate({"trust_proxy": written})
    assert [error["loc"] for error in caught.value.errors()] == [("trust_proxy",)]


@pytest.mark.parametrize("origin", ["https://host.example/", "host.example", "https://host.example/a", "*", "null"])
def test_an_origin_is_a_scheme_and_a_host(origin: str) -> None:
    with pytest.raises(ValidationError):
        A2aConfig.model_validate({"cors_origins": [origin]})
    assert A2aConfig.model_validate({"cors_origins": ["HTTPS://Host.example:8443"]}).cors_origins == (
        "https://host.example:8443",
    )
