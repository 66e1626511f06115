"""Requests to webhooks on real sockets: what is in them, where they may go, and what comes of it."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from tests.loop_time import pass_time
from tests.unit.inbound.a2a.push.receiver import BROKEN, GONE, HANG_UP, OK, SILENT, receiving
from tests.unit.inbound.a2a.push.test_guard import Names

from llamon_agent.domain.task import PushConfig, TaskPushConfig
from llamon_agent.inbound.a2a.push.guard import AddressGuard
from llamon_agent.inbound.a2a.push.sender import Accepted, Declined, PostResult, Sender, TryLater, headers_of
from llamon_agent.inbound.a2a.push.webhook_url import read_webhook_url

HERE = ("127.0.0.0/8",)


def config(url: str, **more: Any) -> PushConfig:
    return PushConfig(id="a", url=url, version="1.0", **more)


def push(url: str, *, owner: str = "alice", **more: Any) -> TaskPushConfig:
    return TaskPushConfig(owner=owner, agent="demo", task_id="t", config=config(url, **more))


@asynccontextmanager
async def sending(
    allow: Sequence[str] = HERE, names: Names | None = None, *, timeout_s: float = 5, tls: ssl.SSLContext | None = None
) -> AsyncIterator[Sender]:
    sender = Sender(AddressGuard(allow, names), timeout_s=timeout_s, tls=tls)
    yield sender
    await sender.aclose()


async def empty() -> bytes:
    return b"{}"


async def post(sender: Sender, url: str, **more: Any) -> PostResult:
    async with asyncio.timeout(10):
        return await sender.post(push(url, **more), "application/a2a+json", empty)


async def test_a_webhook_gets_the_body_its_credentials_and_its_token() -> None:
    async with receiving() as receiver, sending() as sender:
        url = receiver.url + "?a=b"
        assert await post(sender, url, token="t 1", schemes=("Bearer", "Basic"), credentials="secret") == Accepted()
        [hook] = receiver.hooks
        assert (hook.target, hook.body) == ("/hook?a=b", b"{}")
        assert hook.headers == {
            "host": f"127.0.0.1:{receiver.port}",
            "user-agent": "llamon",
            "content-type": "application/a2a+json",
            "content-length": "2",
            "authorization": "Bearer secret",
            "x-a2a-notification-token": "t 1",
        }


@pytest.mark.parametrize(
    "more",
    [{}, {"schemes": ("Bearer",)}, {"credentials": "x"}, {"schemes": ("Basic",), "credentials": ""}, {"token": ""}],
)
async def test_half_credentials_are_none(more: dict[str, Any]) -> None:
    async with receiving() as receiver, sending() as sender:
        assert await post(sender, receiver.url, **more) == Accepted()
        assert {"authorization", "x-a2a-notification-token"}.isdisjoint(receiver.hooks[0].headers)


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("http://hooks.example/", b"hooks.example"),
        ("https://hooks.example:443/", b"hooks.example"),
        ("http://hooks.example:443/", b"hooks.example:443"),
        ("http://[2001:db8::1]:8080/", b"[2001:db8::1]:8080"),
        ("http://[2001:db8::1]/", b"[2001:db8::1]"),
    ],
)
def test_the_host_header_names_what_the_url_names(url: str, host: bytes) -> None:
    assert dict(headers_of(read_webhook_url(url), config(url), "application/json"))[b"Host"] == host


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        (OK, Accepted()),
        (b"HTTP/1.1 204 No Content\r\n\r\n", Accepted()),
        (BROKEN, TryLater("HTTP 503")),
        (b"HTTP/1.1 429 Slow Down\r\nRETRY-AFTER: 7\r\nContent-Length: 0\r\n\r\n", TryLater("HTTP 429", 7)),
        (GONE, Declined("HTTP 410")),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\nmuch", Accepted()),
        (HANG_UP, TryLater("no connection, or none that lasted")),
        (b"220 mail.example ESMTP\r\n\r\n", TryLater("no connection, or none that lasted")),
        (b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" * 5_000, TryLater("no connection, or none that lasted")),
        (b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 20_000, TryLater("no connection, or none that lasted")),
    ],
)
async def test_an_answer_is_judged_by_its_status_alone(answer: bytes, outcome: PostResult) -> None:
    async with receiving() as receiver, sending() as sender:
        receiver.answers = [answer]
        assert await post(sender, receiver.url) == outcome


async def test_a_receiver_that_never_answers_is_waited_for_within_bounds() -> None:
    async with receiving() as receiver, sending(timeout_s=4) as sender:
        receiver.answers = [SILENT]
        posting = asyncio.create_task(post(sender, receiver.url))
        await receiver.heard(1)
        pass_time(4)
        assert await posting == TryLater("no answer in time")


async def test_a_dead_receiver_may_come_back() -> None:
    async with receiving() as receiver:
        url = receiver.url
    async with sending() as sender:
        assert await post(sender, url) == TryLater("no connection, or none that lasted")
    async with sending(names=Names([])) as sender:
        assert await post(sender, "http://hooks.invalid/") == TryLater("no connection, or none that lasted")


@pytest.mark.requirement("1.0/14.1-file-addresses")
async def test_a_redirect_is_not_followed() -> None:
    async with receiving() as receiver, receiving() as elsewhere, sending() as sender:
        moved = f"HTTP/1.1 307 Temporary Redirect\r\nLocation: {elsewhere.url}\r\nContent-Length: 0\r\n\r\n"
        receiver.answers = [moved.encode()]
        assert await post(sender, receiver.url, schemes=("Bearer",), credentials="secret") == Declined("HTTP 307")
        assert (len(receiver.hooks), elsewhere.hooks) == (1, [])


@pytest.mark.requirement("1.0/14.1-file-addresses")
async def test_an_address_inside_is_never_connected_to() -> None:
    async with receiving() as receiver, sending(allow=()) as sender:
        assert await post(sender, receiver.url) == Declined("its address is not allowed")
        assert await post(sender, f"http://[::ffff:127.0.0.1]:{receiver.port}/") == Declined(
            "its address is not allowed"
        )
        assert receiver.hooks == []


async def test_a_name_that_turns_inward_is_not_followed() -> None:
    names = Names(["8.8.8.8"], ["127.0.0.1"])
    guard = AddressGuard((), names)
    assert await guard.open_to("hooks.example", 80)
    async with receiving() as receiver:
        sender = Sender(guard, timeout_s=5)
        assert await post(sender, f"http://hooks.example:{receiver.port}/") == Declined("its address is not allowed")
        assert receiver.hooks == []
        await sender.aclose()


async def test_the_connection_is_opened_to_the_address_that_was_judged() -> None:
    names = Names(["127.0.0.1"], ["8.8.8.8"])  # asked once more, the name would lead elsewhere
    async with receiving() as receiver, sending(names=names) as sender:
        assert await post(sender, f"http://hooks.example:{receiver.port}/x") == Accepted()
        assert receiver.hooks[0].headers["host"] == f"hooks.example:{receiver.port}"
        assert names.asked == [("hooks.example", receiver.port)]


async def test_every_request_is_judged_anew() -> None:
    names = Names(["127.0.0.1"], ["10.0.0.1"])
    async with receiving() as receiver, sending(names=names) as sender:
        url = f"http://hooks.example:{receiver.port}/"
        assert await post(sender, url) == Accepted()
        assert await post(sender, url) == Declined("its address is not allowed")


async def test_another_address_of_the_name_is_tried() -> None:
    async with receiving() as receiver, sending(names=Names(["127.0.0.2", "127.0.0.1"])) as sender:
        assert await post(sender, f"http://hooks.example:{receiver.port}/") == Accepted()


async def test_a_slow_receiver_leaves_room_for_the_others() -> None:
    async with receiving() as receiver, sending(names=Names(["127.0.0.1"])) as sender:
        receiver.answers = [SILENT]
        slow = [asyncio.create_task(post(sender, f"http://slow.example:{receiver.port}/")) for _ in range(20)]
        await receiver.heard(8)
        other = asyncio.create_task(post(sender, f"http://other.example:{receiver.port}/"))
        hooks = await receiver.heard(9)
        assert hooks[8].headers["host"].startswith("other.example")
        assert receiver.most_at_once == 9
        for task in (*slow, other):
            task.cancel()
        await asyncio.wait([*slow, other])


async def test_one_owners_slow_receivers_leave_room_for_the_other_owners() -> None:
    async with receiving() as receiver, sending(names=Names(["127.0.0.1"])) as sender:
        receiver.answers = [SILENT]
        slow = [asyncio.create_task(post(sender, f"http://n{n}.example:{receiver.port}/")) for n in range(70)]
        await receiver.heard(32)
        other = asyncio.create_task(post(sender, f"http://n0.example:{receiver.port}/other", owner="bob"))
        hooks = await receiver.heard(33)
        assert hooks[32].target == "/other"
        for task in (*slow, other):
            task.cancel()
        await asyncio.wait([*slow, other])


async def test_a_body_is_written_when_there_is_room_to_send_it() -> None:
    written: list[int] = []
    async with receiving() as receiver, sending() as sender:
        receiver.answers = [SILENT]

        async def write(number: int) -> bytes:
            written.append(number)
            return b"{}"

        hooks = push(receiver.url)
        posts = [asyncio.create_task(sender.post(hooks, "x", partial(write, number))) for number in range(20)]
        await receiver.heard(8)
        assert written == list(range(8))
        for task in posts:
            task.cancel()
        await asyncio.wait(posts)


async def test_tls_is_for_the_name_that_the_url_names(tmp_path: Path) -> None:
    server, client = tls_for("hooks.example", tmp_path)
    asked: list[str | None] = []
    server.sni_callback = lambda _socket, name, _context: asked.append(name)
    async with receiving(server) as receiver, sending(names=Names(["127.0.0.1"]), tls=client) as sender:
        assert await post(sender, f"https://hooks.example:{receiver.port}/") == Accepted()
        assert await post(sender, f"https://other.example:{receiver.port}/") == TryLater(
            "no connection, or none that lasted"
        )
        assert (asked, len(receiver.hooks)) == (["hooks.example", "other.example"], 1)


def tls_for(name: str, folder: Path) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """A server's and a client's side of a certificate for one name."""
    key, subject = ec.generate_private_key(ec.SECP256R1()), x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    builder = x509.CertificateBuilder(subject, subject, key.public_key(), x509.random_serial_number())
    builder = builder.not_valid_before(datetime.now(UTC) - timedelta(days=1))
    builder = builder.not_valid_after(datetime.now(UTC) + timedelta(days=1))
    builder = builder.add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
    certificate = builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    (folder / "both.pem").write_bytes(private + certificate)
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(folder / "both.pem")
    return server, ssl.create_default_context(cadata=certificate.decode())
