"""Tries a host: a scenario, if its API has a way for it."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Timer

from tests.e2e.clients.callers import ProgramCaller, SdkCaller
from tests.e2e.clients.hosts import FAILS, NO_API, WORKS, Host
from tests.e2e.clients.running import Refused, Remote, Running
from tests.e2e.clients.scenarios import SCENARIOS, Caller

SCENARIO_S = 40.0
"""A client that has said nothing by then is stopped: it has failed."""


def verdict(host: Host, program: Running, url: str, scenario: str) -> tuple[str, str]:
    """What the page has in that column, and why, where it failed."""
    if scenario in host.cannot:
        return NO_API, ""
    try:
        with _at_most(SCENARIO_S, program):
            SCENARIOS[scenario](_connected(host, program, url), url)
    except (AssertionError, Refused) as exc:
        return FAILS, f"{type(exc).__name__}: {exc}"
    return WORKS, ""


def _connected(host: Host, program: Running, url: str) -> Caller:
    """Raises: Refused."""
    name = f"{host} {url}"
    binding = host.sdk.binding if host.sdk else host.binding
    program.call("connect", name, url=url, binding=binding, version=host.version, token="")
    return SdkCaller(Remote(host.sdk, program, name)) if host.sdk else ProgramCaller(program, name)


@contextmanager
def _at_most(seconds: float, program: Running) -> Iterator[None]:
    late = Timer(seconds, program.stop)
    late.start()
    try:
        yield
    finally:
        late.cancel()
