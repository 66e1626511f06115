"""Gives a kit a bearer token. Python imports this by its name at the start, if PYTHONPATH names this folder.

The newest official kit reads a token from A2A_AUTH_TYPE and A2A_AUTH_TOKEN, but the versions whose whole source can be
had do not, nor does a2a-testbed. So this does it for them, by the same variables, in the libraries by which they call
agents.
"""

import os
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

AUTHORIZATION = f"Bearer {os.environ.get('A2A_AUTH_TOKEN', '')}"


def sign_in_by_httpx() -> None:
    """Add the token to the requests that have none."""
    import httpx

    for client in (httpx.Client, httpx.AsyncClient):
        _sign(client)


def sign_in_by_requests() -> None:
    """The same for the other library."""
    import requests

    _sign(requests.Session)


def _sign(client: Any) -> None:
    send: Callable[..., Any] = client.send

    def signed(self: Any, request: Any, **options: Any) -> Any:
        request.headers.setdefault("Authorization", AUTHORIZATION)
        return send(self, request, **options)

    client.send = signed


def sign_in_by_grpc() -> None:
    """Add the token to the calls of the channels that are opened from now on."""
    import grpc

    class SignedIn(grpc.UnaryUnaryClientInterceptor, grpc.UnaryStreamClientInterceptor):
        def intercept_unary_unary(self, continuation: Any, client_call_details: Any, request: Any) -> Any:
            return continuation(_signed_call(client_call_details), request)

        def intercept_unary_stream(self, continuation: Any, client_call_details: Any, request: Any) -> Any:
            return continuation(_signed_call(client_call_details), request)

    opened = grpc.insecure_channel
    grpc.insecure_channel = lambda *args, **options: grpc.intercept_channel(opened(*args, **options), SignedIn())


def _signed_call(details: Any) -> Any:
    return details._replace(metadata=(*(details.metadata or ()), ("authorization", AUTHORIZATION)))


if os.environ.get("A2A_AUTH_TYPE") == "bearer":
    for library, sign_in in (
        ("httpx", sign_in_by_httpx),
        ("requests", sign_in_by_requests),
        ("grpc", sign_in_by_grpc),
    ):
        if find_spec(library):
            sign_in()
