"""Tries a host: each scenario that its API has a way for."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Timer

from tests.e2e.clients.callers import ProgramCaller, SdkCaller
from tests.e2e.clients.hosts import FAILS, NO_API, WORKS, Host
from tests.e2e.clients.running import Refused, Remote, Running
from tests.e2e.clients.scenarios import SCENARIOS, Caller

SCENARIO_S = 40.0
"""A client that has said nothing by then is stopped: it has failed."""


def connected(host: Host, program: Running, url: str) -> Caller:
    """Raises: Refused."""
    name = f"{host} {url}"
    binding = host.sdk.binding if host.sdk else host.binding
    program.call("connect", name, url=url, binding=binding, version=host.version, token="")
    return SdkCaller(Remote(host.sdk, program, name)) if host.sdk else ProgramCaller(program, name)


def tried(host: Host, program: Running, url: str) -> Iterator[tuple[str, str, str]]:
    """The verdict of each scenario, and why, where it failed."""
    for name in SCENARIOS:
        if name in host.cannot:
            yield name, NO_API, ""
        else:
            why = _failure(host, program, url, name)
            yield name, FAILS if why else WORKS, why


def _failure(host: Host, program: Running, url: str, scenario: str) -> str:
    try:
        with _at_most(SCENARIO_S, program):
            SCENARIOS[scenario](connected(host, program, url), url)
    except (AssertionError, Refused) as exc:
        return f"{type(exc).__name__}: {exc}"
    return ""


@contextmanager
def _at_most(seconds: float, program: Running) -> Iterator[None]:
    late = Timer(seconds, program.stop)
    late.start()
    try:
        yield
    finally:
        late.cancel()
