"""Keeps webhooks out of networks that only the edge can see (server-side request forgery).

The theory: a caller that registers a webhook makes the edge send a request of the caller's choosing, from inside. So
the address is judged, not the name: the name is resolved here, every address that it has is judged, and the connection
is opened to one of the addresses that were judged. A name that resolves to something else a moment later changes
nothing.

Rules:
1. Only addresses of the public internet are called, and what the configuration allows.
2. An address that carries another one (IPv4-mapped IPv6, NAT64, 6to4) is no better than the one it carries.
3. A name of which one address is refused is refused as a whole.
"""

import asyncio
import socket
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

from llamon_agent.domain.errors import BadParams, LlamonError
from llamon_agent.inbound.a2a.push.webhook_url import WebhookUrl

Ip = IPv4Address | IPv6Address

Resolve = Callable[[str, int], Awaitable[Sequence[str]]]
"""The addresses of a name. Raises: OSError where there is none."""

_INSIDE = tuple(map(ip_network, ("192.0.0.0/24", "192.88.99.0/24", "3fff::/20", "168.63.129.16")))
"""What passes for global and is not for us: protocol assignments, relays to 6to4 and documentation, which older Pythons
do not know as such (RFC 6890, RFC 7526, RFC 9637), and the one public address where a cloud gives its machines their
secrets (Azure; most others' are link-local).
"""

_UNICAST = ip_network("2000::/3")
"""All of IPv6 that is assigned for the internet. Source: RFC 4291 §2.4; IANA, IPv6 address space."""

_NAT64 = ip_network("64:ff9b::/96")
"""IPv4 as an IPv6-only network sees it. Source: RFC 6052 §2.1."""

_LOOPBACK_NAME = ".localhost"
"""Source: RFC 6761 §6.3."""


class ForbiddenAddress(LlamonError):
    """The webhook lies where this edge sends nothing."""

    public = "url must be reachable on the public internet; this edge sends nothing to that address."


class AddressGuard:
    """Judges where webhooks are.

    Shape: allow are host names, addresses and networks that webhooks may lie in although they are not public.
    """

    def __init__(self, allow: Sequence[str] = (), resolve: Resolve | None = None) -> None:
        self._names, self._networks = _read_allowed(allow)
        self._resolve = resolve or Resolver()

    def check(self, address: WebhookUrl) -> None:
        """Refuse what is seen to be forbidden without asking a name server. Raises: BadParams."""
        is_loopback = f".{address.host.removesuffix('.')}".endswith(_LOOPBACK_NAME)
        known = IPv4Address("127.0.0.1") if is_loopback else address.literal
        try:
            if known is not None:
                self._judge(address.host, known)
        except ForbiddenAddress as exc:
            raise BadParams(exc.public) from exc

    async def open_to(self, host: str, port: int) -> tuple[str, ...]:
        """The addresses that a connection to the host may be opened to.

        Raises: ForbiddenAddress; OSError: the name has no address.
        """
        try:
            found: Sequence[str] = [str(ip_address(host))]
        except ValueError:
            found = await self._resolve(host, port)
        for address in found:
            self._judge(host, ip_address(address))
        return tuple(found)

    def _judge(self, host: str, ip: Ip) -> None:
        if host.removesuffix(".") in self._names or any(ip in network for network in self._networks):
            return
        if not is_public(ip):
            raise ForbiddenAddress


def is_public(ip: Ip) -> bool:
    """Whether an address, and each that it carries, is public: reachable from all of the internet."""
    if any(ip in network for network in _INSIDE):
        return False
    if isinstance(ip, IPv4Address):
        return ip.is_global and not ip.is_multicast
    if ip.ipv4_mapped is not None:
        return is_public(ip.ipv4_mapped)
    if ip in _NAT64:
        return is_public(IPv4Address(int(ip) & 0xFFFF_FFFF))
    return ip.is_global and ip in _UNICAST and (ip.sixtofour is None or is_public(ip.sixtofour))


def _read_allowed(allow: Sequence[str]) -> tuple[frozenset[str], tuple[IPv4Network | IPv6Network, ...]]:
    names, networks = set[str](), list[IPv4Network | IPv6Network]()
    for entry in allow:
        try:
            networks.append(ip_network(entry))
        except ValueError:
            names.add(entry.lower().removesuffix("."))
    return frozenset(names), tuple(networks)


class Resolver:
    """The system's resolver, in threads of its own: a name server that is slow must not hold up others' work, nor other
    names. A look-up cannot be given up, so there may be more of them than there are requests.
    """

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(max_workers=128, thread_name_prefix="llamon-webhook-names")

    async def __call__(self, name: str, port: int) -> Sequence[str]:
        found = await asyncio.get_running_loop().run_in_executor(self._threads, _look_up, name, port)
        return list(dict.fromkeys(found))


def _look_up(name: str, port: int) -> list[str]:
    try:
        found = socket.getaddrinfo(name, port, type=socket.SOCK_STREAM)
    except UnicodeError as exc:  # a label that no name server takes
        raise OSError("not a name") from exc
    return [str(sockaddr[0]) for *_, sockaddr in found]
