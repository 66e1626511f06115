import asyncio
import gc
import logging
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import grpc
import httpx2
import pytest
from a2a.types import a2a_pb2 as new
from tests.contract.task_store import a_task
from tests.unit.inbound.a2a.bindings.grpc.calling import NEW, refusal, saying, text_of
from tests.unit.inbound.a2a.bindings.grpc.certificates import Authority

from llamon_agent import app
from llamon_agent.app import _take_grpc_port, create_app, open_edge, serve
from llamon_agent.config.data import DataConfig, RetentionConfig
from llamon_agent.config.edge import A2aConfig, EdgeConfig
from llamon_agent.config.sections import GrpcTlsConfig
from llamon_agent.domain.errors import ConfigError, TaskNotFound
from llamon_agent.domain.task import TaskState
from llamon_agent.inbound.a2a.bindings.grpc.server import GrpcServer
from llamon_agent.store.sqlite.folder import TASKS_NAME
from llamon_agent.store.sqlite.store import SqliteTaskStore


def test_an_edge_that_is_off_does_not_listen(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    def listen(*_address: object) -> None:
        raise AssertionError("it listens")

    monkeypatch.setattr(app, "listening", listen)
    serve(EdgeConfig(a2a=A2aConfig(enabled=False, adapter="echo")))
    assert "nothing listens" in caplog.text


def test_the_web_server_has_no_log_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_address: object) -> None:
        raise ConfigError("taken")

    monkeypatch.setattr(app, "listening", refuse)
    names = ("uvicorn", "uvicorn.error", "uvicorn.access")
    for name in names:
        monkeypatch.setattr(logging.getLogger(name), "handlers", [])
    with pytest.raises(ConfigError, match="taken"):
        serve(EdgeConfig(a2a=A2aConfig(adapter="echo"), data=DataConfig(ephemeral=True)))
    assert not any(logging.getLogger(name).handlers for name in names)


async def test_an_edge_in_a_process_of_somebody_else_leaves_its_garbage_alone() -> None:
    before = gc.get_threshold(), gc.get_freeze_count()
    async with open_edge(EdgeConfig(a2a=A2aConfig(adapter="echo"), data=DataConfig(ephemeral=True))):
        assert (gc.get_threshold(), gc.get_freeze_count()) == before


@pytest.mark.parametrize("target", ["many", "-1", "1.5"])
async def test_an_echo_of_no_number_of_pieces_is_refused(target: str) -> None:
    config = EdgeConfig(a2a=A2aConfig(adapter="echo", target=target), data=DataConfig(ephemeral=True))
    with pytest.raises(ConfigError, match="number of pieces"):
        async with open_edge(config):
            pass


async def test_one_folder_is_one_edges(tmp_path: Path) -> None:
    config = EdgeConfig(a2a=A2aConfig(adapter="echo"), data=DataConfig(folder=tmp_path))
    async with open_edge(config):
        with pytest.raises(ConfigError, match="in use by another process"):
            async with open_edge(config):
                pass
    async with open_edge(config):
        pass


async def test_an_edge_forgets_what_is_old_as_soon_as_it_starts(tmp_path: Path) -> None:
    old = a_task("old", owner="default", agent="echo", state=TaskState.COMPLETED, at_ms=1)
    store = SqliteTaskStore.open(tmp_path / TASKS_NAME)
    await store.create(old)
    await store.create(a_task("asks", owner="default", agent="echo", state=TaskState.INPUT_REQUIRED, at_ms=1))
    await store.close()
    data = DataConfig(folder=tmp_path, retention=RetentionConfig(tasks="1h", paused="1h"))
    async with asyncio.timeout(10), open_edge(EdgeConfig(a2a=A2aConfig(adapter="echo"), data=data)) as edge:
        with suppress(TaskNotFound):
            while True:
                await edge.runs.get("default", "echo", "old")
        after = await edge.runs.get("default", "echo", "asks")
    assert after.status.state is TaskState.FAILED  # just now, so that its owner can still read why


def config_of(token: str | None = None, **grpc_keys: object) -> EdgeConfig:
    a2a = {"adapter": "echo", "grpc": {"listen": "127.0.0.1:0", **grpc_keys}}
    bearer = {"bearer_token": token} if token else {}
    return EdgeConfig.model_validate({"a2a": a2a | bearer, "data": {"ephemeral": True}})


async def sent(channel: grpc.aio.Channel, token: str) -> new.Task:
    ask: grpc.aio.UnaryUnaryMultiCallable[bytes, new.SendMessageResponse] = channel.unary_unary(
        NEW + "SendMessage", response_deserializer=new.SendMessageResponse.FromString
    )
    metadata = (("authorization", f"Bearer {token}"),)
    return (await ask(saying().SerializeToString(), metadata=metadata, timeout=5)).task


async def test_grpc_answers_where_it_is_configured_and_follows_a_reload() -> None:
    config = config_of("before")
    server = _take_grpc_port(config)
    assert server is not None
    async with (
        open_edge(config, server) as edge,
        grpc.aio.insecure_channel(f"127.0.0.1:{server.port}") as channel,
    ):
        assert text_of(await sent(channel, "before")) == "hi"
        assert await edge.reload(lambda: config_of("after")) is not None
        assert (await refusal(sent(channel, "before"))).code() is grpc.StatusCode.UNAUTHENTICATED
        assert text_of(await sent(channel, "after")) == "hi"


@pytest.mark.parametrize("card", [False, True])
async def test_the_cards_name_the_port_only_if_they_are_to(card: bool) -> None:
    config = config_of(card=card)
    server = _take_grpc_port(config)
    assert server is not None
    async with open_edge(config, server) as edge, httpx2.AsyncClient(transport=httpx2.ASGITransport(app=edge)) as http:
        body = (await http.get("http://edge.localhost/.well-known/agent-card.json")).text
    assert (f'"edge.localhost:{server.port}"' in body) is card


def tls_files(authority: Authority, folder: Path) -> GrpcTlsConfig:
    certificate, key = authority.files(folder, "localhost")
    return GrpcTlsConfig(certificate=certificate, key=key)


async def told_addresses(config: EdgeConfig, server: GrpcServer | None) -> list[str]:
    """The addresses of gRPC in the two cards of an edge that is asked at localhost, 1.0's first."""
    async with open_edge(config, server) as edge, httpx2.AsyncClient(transport=httpx2.ASGITransport(app=edge)) as http:
        new = (await http.get("http://localhost/.well-known/agent-card.json", headers={"A2A-Version": "1.0"})).json()
        old = (await http.get("http://localhost/.well-known/agent.json")).json()
    return [new["supportedInterfaces"][-1]["url"], old["additionalInterfaces"][-1]["url"]]


@pytest.mark.parametrize(
    ("card_url", "with_tls", "scheme"),
    [("authority", False, ""), ("authority", True, ""), ("url", False, "http://"), ("url", True, "https://")],
)
async def test_a_card_of_0_3_writes_the_address_as_configured(
    tmp_path: Path, card_url: str, with_tls: bool, scheme: str
) -> None:
    tls = tls_files(Authority(), tmp_path) if with_tls else None
    config = config_of(card=True, card_url=card_url, tls=tls)
    server = _take_grpc_port(config)
    assert server is not None
    address = f"localhost:{server.port}"
    assert await told_addresses(config, server) == [address, scheme + address]


async def test_the_address_of_a_card_can_be_dialled_as_it_is_with_tls_too(tmp_path: Path) -> None:
    authority = Authority()
    config = config_of(card=True, tls=tls_files(authority, tmp_path))
    server = _take_grpc_port(config)
    async with open_edge(config, server) as edge, httpx2.AsyncClient(transport=httpx2.ASGITransport(app=edge)) as http:
        card = (await http.get("http://localhost/.well-known/agent.json")).json()
        credentials = grpc.ssl_channel_credentials(authority.pem)
        async with grpc.aio.secure_channel(card["additionalInterfaces"][-1]["url"], credentials) as channel:
            assert text_of(await sent(channel, "")) == "hi"


async def test_an_asgi_application_speaks_grpc_too(caplog: pytest.LogCaptureFixture) -> None:
    app = create_app(config_of())
    with caplog.at_level("INFO"):
        async with app.router.lifespan_context(app):
            assert "gRPC on 127.0.0.1:" in caplog.text


def test_without_a_port_there_is_no_grpc() -> None:
    assert _take_grpc_port(config_of(listen=None)) is None


async def test_the_files_of_tls_are_those_of_the_configuration(tmp_path: Path) -> None:
    tls = tls_files(Authority(), tmp_path)
    assert _take_grpc_port(config_of(tls=tls)) is not None
    with pytest.raises(ConfigError, match=r"a2a\.grpc\.tls"):
        _take_grpc_port(config_of(tls=GrpcTlsConfig(certificate=tls.certificate, key=tls.certificate)))


def test_grpc_without_its_packages_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in [name for name in sys.modules if name.startswith("llamon_agent.inbound.a2a.bindings.grpc.")]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "grpc", None)
    with pytest.raises(ConfigError, match=r"llamon-agent\[grpc\]"):
        _take_grpc_port(config_of())


def test_nothing_of_grpc_is_loaded_before_it_is_spoken() -> None:
    loaded = "import sys, llamon_agent.app; print({name.partition('.')[0] for name in sys.modules})"
    names = subprocess.run([sys.executable, "-c", loaded], capture_output=True, text=True, check=True).stdout
    assert not [name for name in ("'grpc'", "'google'", "'a2a'") if name in names]
