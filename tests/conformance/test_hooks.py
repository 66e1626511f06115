"""The token that a kit is given: a Python of its own says what its clients would send."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

HOOKS = Path(__file__).with_name("hooks")
SIGNED_IN = {"A2A_AUTH_TYPE": "bearer", "A2A_AUTH_TOKEN": "t"}

BY_HTTPX = """
import httpx
said = lambda request: httpx.Response(200, text=request.headers.get("authorization", "nothing"))
print(httpx.Client(transport=httpx.MockTransport(said)).get("http://agent/", headers=HEADERS).text)
"""
BY_GRPC = """
import grpc
from concurrent.futures import ThreadPoolExecutor
def said(request, context):
    return dict(context.invocation_metadata()).get("authorization", "nothing").encode()
server = grpc.server(ThreadPoolExecutor())
said_in_a_stream = lambda request, context: iter([said(request, context)])
calls = {"A": grpc.unary_unary_rpc_method_handler(said), "B": grpc.unary_stream_rpc_method_handler(said_in_a_stream)}
server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler("s", calls)])
port = server.add_insecure_port("127.0.0.1:0")
server.start()
channel = grpc.insecure_channel(f"127.0.0.1:{port}")
assert channel.unary_unary("/s/A")(b"") == next(channel.unary_stream("/s/B")(b""))
print(channel.unary_unary("/s/A")(b"").decode())
"""


def said_by(program: str, environment: dict[str, str]) -> str:
    clean = {key: value for key, value in os.environ.items() if not key.startswith("A2A_AUTH")}
    ended = subprocess.run(
        [sys.executable, "-c", program],
        env={**clean, "PYTHONPATH": str(HOOKS), **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    return ended.stdout.strip()


@pytest.mark.parametrize("program", [BY_HTTPX.replace("HEADERS", "{}"), BY_GRPC], ids=["httpx", "gRPC"])
def test_a_client_sends_the_token_if_there_is_one(program: str) -> None:
    assert said_by(program, SIGNED_IN) == "Bearer t"
    assert said_by(program, {}) == "nothing"


def test_what_a_kit_sends_by_itself_is_left_alone() -> None:
    program = BY_HTTPX.replace("HEADERS", "{'Authorization': 'Bearer wrong'}")
    assert said_by(program, SIGNED_IN) == "Bearer wrong"
