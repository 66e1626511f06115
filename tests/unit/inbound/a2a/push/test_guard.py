"""Webhooks reach the public internet, what the configuration allows, and nothing else."""

import asyncio
import socket
from collections.abc import Sequence
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llamon_agent.domain.errors import BadParams
from llamon_agent.inbound.a2a.push.guard import AddressGuard, ForbiddenAddress, Resolver, is_public
from llamon_agent.inbound.a2a.push.webhook_url import read_webhook_url

INSIDE = [
    *("127.0.0.1", "127.255.255.254", "0.0.0.0", "0.1.2.3", "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1"),
    *("169.254.169.254", "100.64.0.1", "100.100.100.200", "192.0.0.192", "192.0.2.1", "198.18.0.1", "203.0.113.9"),
    *("224.0.0.1", "239.255.255.255", "240.0.0.1", "192.88.99.1", "255.255.255.255", "168.63.129.16"),
    *(
        "::",
        "::1",
        "fe80::1",
        "fe80::1%lo",
        "fc00::1",
        "fd00:ec2::254",
        "fec0::1",
        "ff02::1",
        "2001:db8::1",
        "3fff::1",
        "100::1",
    ),
    *("::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:a9fe:a9fe", "::127.0.0.1", "64:ff9b::7f00:1", "64:ff9b::a00:1"),
    *("2002:7f00:1::", "2002:a00:1::1", "2001:0:7f00:1::", "64:ff9b:1::1"),
]
OUTSIDE = [
    "93.184.216.34",
    "8.8.8.8",
    "1.1.1.1",
    "2606:4700::1111",
    "::ffff:8.8.8.8",
    "64:ff9b::808:808",
    "2002:808:808::1",
]


class Names:
    """A name server: each question takes the next answer, the last one all others."""

    def __init__(self, *answers: Sequence[str]) -> None:
        self._answers = list(answers)
        self.asked: list[tuple[str, int]] = []

    async def __call__(self, name: str, port: int) -> Sequence[str]:
        self.asked.append((name, port))
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if not answer:
            raise socket.gaierror
        return answer


@pytest.mark.parametrize("address", INSIDE)
async def test_an_address_inside_is_refused_however_it_is_reached(address: str) -> None:
    assert not is_public(ip_address(address))
    with pytest.raises(ForbiddenAddress):
        await AddressGuard(resolve=Names([address])).open_to("hooks.example", 80)
    with pytest.raises(ForbiddenAddress):
        await AddressGuard(resolve=Names([])).open_to(address, 80)


@pytest.mark.parametrize("address", OUTSIDE)
async def test_an_address_of_the_internet_may_be_called(address: str) -> None:
    assert await AddressGuard(resolve=Names([address])).open_to("hooks.example", 80) == (address,)


PRIVATE = [
    ip_network(each) for each in ("10.0.0.0/8", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.168.0.0/16")
]


@given(st.sampled_from(PRIVATE), st.integers(min_value=0))
def test_no_spelling_makes_a_private_address_public(network: object, number: int) -> None:
    assert hasattr(network, "num_addresses")
    inside = IPv4Address(int(network.network_address) + number % network.num_addresses)  # type: ignore[attr-defined]
    bits = int(inside)
    carriers = [
        0xFFFF << 32 | bits,
        bits,
        0x64FF9B << 96 | bits,
        0x2002 << 112 | bits << 80,
        0x20010000 << 96 | bits << 64,
    ]
    assert not is_public(inside)
    assert not any(is_public(IPv6Address(carrier)) for carrier in carriers)


@given(st.one_of(st.ip_addresses(v=4), st.ip_addresses(v=6)))
def test_whatever_is_not_global_is_not_public(address: IPv4Address | IPv6Address) -> None:
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    if not (mapped or address).is_global:
        assert not is_public(address)


async def test_a_name_with_one_address_inside_is_refused_as_a_whole() -> None:
    with pytest.raises(ForbiddenAddress):
        await AddressGuard(resolve=Names(["8.8.8.8", "10.0.0.1"])).open_to("hooks.example", 80)


async def test_every_connection_asks_anew_and_judges_anew() -> None:
    names = Names(["8.8.8.8"], ["127.0.0.1"])
    guard = AddressGuard(resolve=names)
    assert await guard.open_to("hooks.example", 80) == ("8.8.8.8",)
    with pytest.raises(ForbiddenAddress):
        await guard.open_to("hooks.example", 443)
    assert names.asked == [("hooks.example", 80), ("hooks.example", 443)]


async def test_a_name_without_an_address_is_the_resolvers_error() -> None:
    with pytest.raises(OSError):  # noqa: PT011 -- what the port promises
        await AddressGuard(resolve=Names([])).open_to("hooks.example", 80)


@pytest.mark.parametrize(
    ("allow", "host", "found"),
    [
        (["hooks.internal"], "hooks.internal", "10.1.2.3"),
        (["Hooks.Internal."], "hooks.internal", "10.1.2.3"),
        (["hooks.internal"], "hooks.internal.", "10.1.2.3"),
        (["10.1.0.0/16"], "anything.example", "10.1.2.3"),
        (["10.1.2.3"], "anything.example", "10.1.2.3"),
        (["fd00::/8"], "anything.example", "fd00::1"),
        (["127.0.0.0/8"], "127.0.0.1", "127.0.0.1"),
    ],
)
async def test_what_is_allowed_may_lie_inside(allow: list[str], host: str, found: str) -> None:
    assert await AddressGuard(allow, Names([found])).open_to(host, 80) == (found,)


@pytest.mark.parametrize(
    ("allow", "host", "found"),
    [
        (["hooks.internal"], "evil.hooks.internal", "10.1.2.3"),
        (["hooks.internal"], "hooks.internal.evil.example", "10.1.2.3"),
        (["10.1.0.0/16"], "anything.example", "10.2.0.1"),
        (["127.0.0.0/8"], "anything.example", "::1"),
        (["127.0.0.0/8"], "anything.example", "::ffff:127.0.0.1"),
    ],
)
async def test_what_is_not_in_an_allowed_network_is_refused(allow: list[str], host: str, found: str) -> None:
    with pytest.raises(ForbiddenAddress):
        await AddressGuard(allow, Names([found])).open_to(host, 80)


@pytest.mark.parametrize(
    "url",
    [
        *("http://127.0.0.1/", "http://[::1]:8080/", "http://[::ffff:127.0.0.1]/", "http://169.254.169.254/latest"),
        *("http://localhost/", "http://LOCALHOST:81/", "http://localhost./", "http://a.localhost/"),
    ],
)
def test_what_is_seen_to_lie_inside_is_refused_at_once(url: str) -> None:
    with pytest.raises(BadParams) as raised:
        AddressGuard(resolve=Names([])).check(read_webhook_url(url))
    assert raised.value.public.startswith("url must")


@pytest.mark.parametrize("url", ["https://hooks.example/", "https://hooks.invalid/", "http://8.8.8.8/"])
def test_a_name_is_judged_when_it_is_called(url: str) -> None:
    AddressGuard(resolve=Names([])).check(read_webhook_url(url))


def test_an_allowed_machine_is_not_refused_at_once() -> None:
    AddressGuard(["localhost"]).check(read_webhook_url("http://localhost:81/"))
    AddressGuard(["127.0.0.0/8"]).check(read_webhook_url("http://localhost:81/"))


async def test_the_systems_resolver_is_asked_in_a_thread_of_its_own() -> None:
    async with asyncio.timeout(5):
        assert set(await Resolver()("localhost", 80)) <= {"127.0.0.1", "::1"}


async def test_a_label_that_no_name_server_takes_has_no_address() -> None:
    with pytest.raises(OSError):  # noqa: PT011
        await Resolver()("a" * 64 + ".example", 80)
