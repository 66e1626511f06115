import time

import pytest

from llamon_agent.inbound.a2a.bindings.asgi import Admission, Auth, Headers, extension_headers, read_headers

SCOPE = {"type": "http", "scheme": "https", "query_string": b""}


async def extensions(headers: Headers) -> frozenset[str]:
    return (await Admission(auth=Auth({})).read_head(SCOPE, headers, agent="a")).extensions


@pytest.mark.parametrize(
    ("headers", "uris"),
    [
        ({}, set()),
        ({b"a2a-extensions": b""}, set()),
        ({b"a2a-extensions": b"urn:a"}, {"urn:a"}),
        ({b"a2a-extensions": b"urn:a, urn:b ,,"}, {"urn:a", "urn:b"}),
        ({b"x-a2a-extensions": b"urn:a"}, {"urn:a"}),
        ({b"a2a-extensions": b"urn:a", b"x-a2a-extensions": b"urn:b"}, {"urn:a", "urn:b"}),
    ],
)
async def test_extensions_are_named_in_either_spelling(headers: Headers, uris: set[str]) -> None:
    assert await extensions(headers) == uris


async def test_a_header_that_comes_twice_is_one_list() -> None:
    headers = read_headers({"headers": [(b"a2a-extensions", b"urn:a"), (b"a2a-extensions", b"urn:b")]})
    assert await extensions(headers) == {"urn:a", "urn:b"}


def test_headers_of_one_name_cost_no_more_the_more_there_are() -> None:
    came = [(b"x", b"y" * 20)] * 100_000  # joined one by one, they take more than a minute
    began_s = time.perf_counter()
    joined = read_headers({"headers": came})[b"x"]
    assert time.perf_counter() - began_s < 2
    assert joined == b", ".join([b"y" * 20] * 100_000)


@pytest.mark.parametrize(
    ("asked", "activated", "answered"),
    [
        ({b"a2a-extensions": b"urn:a"}, ("urn:a",), ((b"a2a-extensions", b"urn:a"),)),
        ({b"x-a2a-extensions": b"urn:a,urn:b"}, ("urn:a", "urn:b"), ((b"x-a2a-extensions", b"urn:a, urn:b"),)),
        ({b"a2a-extensions": b"urn:x"}, (), ()),
    ],
)
def test_what_was_activated_is_named_in_the_callers_spelling(
    asked: Headers, activated: tuple[str, ...], answered: tuple[tuple[bytes, bytes], ...]
) -> None:
    assert extension_headers(asked, activated) == answered


async def test_the_address_is_the_one_that_the_caller_used() -> None:
    caller = await Admission(auth=Auth({})).read_head(SCOPE, {b"host": b"agents.example:8443"}, agent="a")
    assert caller.base_url() == "https://agents.example:8443"


async def test_a_configured_address_wins() -> None:
    admission = Admission(auth=Auth({}), public_url="https://public.example/")
    assert (await admission.read_head(SCOPE, {b"host": b"inner"}, agent="a")).base_url() == "https://public.example"
