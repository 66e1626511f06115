"""The kits, and what each of their runs is: a server of ours, a transport, a part of the suite.

Nothing of a kit is kept here. The official one is laid out of a git checkout that TCK_DIR names, at three of its
versions; each of them is run as its own runner would, by pytest, so that all report alike.
"""

import os
import subprocess
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

import msgspec
from tests.conformance.edges import TOKEN
from tests.conformance.environments import ROOT, python_of


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """One pass of a kit over one server.

    Shape: config names the server's configuration, beside which `edge_environment` sets what differs; path is added to
           the server's address; options are the kit's own; guarded as in `edges.serving`, and signed_in if the kit has
           the token for it.
    """

    kit: "Kit"
    config: str
    transport: str
    suite: str
    path: str = ""
    options: tuple[str, ...] = ()
    edge_environment: Mapping[str, str] = {}
    guarded: bool = False
    signed_in: bool = False

    @property
    def title(self) -> str:
        return f"{self.kit.name} {self.kit.version}, {self.suite}, {self.transport}"


class Kit(msgspec.Struct, frozen=True, kw_only=True):
    """Somebody else's suite, at a version."""

    name: str
    version: str
    test: Callable[[Run, str, Path], str]
    """Test a run's server at an address, write the report as JUnit's XML, give what was said besides."""


_TESTBED = "0.3.0a3"
_TITLES = {"jsonrpc": "JSON-RPC", "rest": "HTTP+JSON", "grpc": "gRPC"}


def testbed() -> list[Run]:
    """a2a-testbed, from the registry: its contracts over JSON-RPC, in both dialects."""
    kit = Kit(name="a2a-testbed", version=_TESTBED, test=_run_testbed)
    return [
        Run(
            kit=kit,
            config=config,
            transport=_TITLES["jsonrpc"],
            suite=f"contracts of {version}, {server}",
            options=("--protocol-version", version, "--strict"),  # without it, some failures count as passed
            guarded=config == "testbed",
            signed_in=config == "testbed",
        )
        for version in ("1.0", "0.3")
        for server, config in (("all capabilities", "testbed"), ("no capabilities", "testbed-bare"))
    ]


def _run_testbed(run: Run, url: str, report: Path) -> str:
    program = python_of("kit-testbed", least=(3, 12)).with_name("a2a-testbed")
    command: list[str | Path] = [program, "conformance", url, *run.options, "--baseline", "none", "--report", report]
    return _said(command, cwd=report.parent, signed_in=run.signed_in)


def official(checkout: Path, folder: Path) -> list[Run]:
    """The official kit at three versions of its git checkout, laid out in a folder."""
    return [*_tck_10(checkout, folder), *_tck_03(checkout, folder), *_tck_02(checkout, folder)]


def _tck_10(checkout: Path, folder: Path) -> list[Run]:
    kit = _tck(checkout, "1.0-dev", folder, "--sut-host")
    servers = {
        "all capabilities": "tck-1.0",
        "no capabilities": "tck-1.0-bare",
        "required extension": "tck-1.0-extension",
    }
    return [
        Run(
            kit=kit,
            config=config,
            transport="all three",
            suite=f"{server}, errors of {errors}",
            options=("tests/compatibility", *(("-k", "ExtensionRequired") if "extension" in config else ())),
            edge_environment={"LLAMON_A2A__ERRORS": errors},
            guarded=config == "tck-1.0",
            signed_in=config == "tck-1.0",
        )
        for server, config in servers.items()
        for errors in ("1.0.0", "1.0.1")
    ]


def _tck_03(checkout: Path, folder: Path) -> list[Run]:
    kit = _tck(checkout, "0.3.0.beta4", folder, "--sut-url")
    runs = [
        Run(
            kit=kit,
            config="tck-0.3",
            transport=_TITLES[transport],
            suite=suite,
            path="/a2a",
            options=(*_suite_03(suite, transport), "--test-scope=all", "--transports", transport),
            guarded=True,
            signed_in=suite != "authentication",
        )
        for transport in _TITLES
        for suite in ("mandatory", "capabilities", "quality", "features", "authentication")
    ]
    equivalence = ("tests/optional/multi_transport", "-m", "transport_equivalence", "--test-scope=all")
    return [
        *runs,
        Run(
            kit=kit,
            config="tck-0.3",
            transport="all three",
            suite="equivalence",
            path="/a2a",
            options=(*equivalence, "--transports", ",".join(_TITLES)),
            guarded=True,
            signed_in=True,
        ),
    ]


_EXTENDED_CARD = "tests/mandatory/protocol/test_a2a_v030_new_methods.py::TestAuthenticatedExtendedCard"
_WITHOUT_TOKEN = f"{_EXTENDED_CARD}::test_authenticated_extended_card_without_auth"
_AUTHENTICATION = (
    "tests/mandatory/authentication",
    "tests/mandatory/security",
    "tests/mandatory/protocol/test_extended_agent_card.py",
    _EXTENDED_CARD,
)
"""What asks what happens without a token, or with a wrong one; its runner leaves most of it out."""


def _suite_03(suite: str, transport: str) -> tuple[str, ...]:
    """What the kit's runner selects, and its tests of authentication. Source: its run_tck.py."""
    if suite == "authentication":
        return _AUTHENTICATION
    if suite != "mandatory":
        return (f"tests/optional/{suite}",)
    if transport != "jsonrpc":
        return ("tests/mandatory/protocol", "-m", "mandatory_protocol", "--deselect", _WITHOUT_TOKEN)
    return ("tests/mandatory", "-m", "mandatory_jsonrpc or mandatory_protocol", "--deselect", _WITHOUT_TOKEN)


def _tck_02(checkout: Path, folder: Path) -> list[Run]:
    kit = _tck(checkout, "v0.2.5", folder, "--sut-url")
    return [
        Run(
            kit=kit,
            config="tck-0.2",
            transport=_TITLES["jsonrpc"],
            suite=suite,
            path="/a2a",
            options=(*_suite_03(suite, "jsonrpc"), "--test-scope=all"),
        )
        for suite in ("mandatory", "capabilities", "quality", "features")
    ]


def _tck(checkout: Path, ref: str, folder: Path, address_option: str) -> Kit:
    """The official kit at a tag or branch, without its history."""
    commit = (
        _git(checkout, "rev-parse", "--verify", "--short=10", "--end-of-options", _known(checkout, ref))
        .decode()
        .strip()
    )
    laid = folder / ref
    laid.mkdir()
    subprocess.run(["tar", "-x", "-C", laid], input=_git(checkout, "archive", commit), check=True)
    version = ref if ref != "1.0-dev" else f"{ref} at {commit}"
    return Kit(name="a2a-tck", version=version, test=partial(_run_tck, laid, address_option))


def _known(checkout: Path, ref: str) -> str:
    """The ref as this checkout has it: a clone knows other people's branches as origin's."""
    names = (f"refs/tags/{ref}", f"refs/heads/{ref}", f"refs/remotes/origin/{ref}")
    known = _git(checkout, "for-each-ref", "--format=%(refname)", *names).decode().split()
    if not known:
        raise RuntimeError(f"TCK_DIR has no {ref}: fetch the tags and branches of a2aproject/a2a-tck")
    return known[0]


def _git(checkout: Path, *arguments: str) -> bytes:
    return subprocess.run(["git", "-C", checkout, *arguments], check=True, capture_output=True).stdout


def _run_tck(laid: Path, address_option: str, run: Run, url: str, report: Path) -> str:
    python = python_of("kit-tck", least=(3, 11))
    ours = (f"{address_option}={url}{run.path}", f"--junitxml={report}", "--tb=short", "-qrs", "-p", "no:cacheprovider")
    return _said([python, "-m", "pytest", *run.options, *ours], cwd=laid, signed_in=run.signed_in)


_HOOKS = Path(__file__).parent / "hooks"
_SIGNED_IN = {"A2A_AUTH_TYPE": "bearer", "A2A_AUTH_TOKEN": TOKEN, "PYTHONPATH": str(_HOOKS)}
"""A kit's environment where it has a token; see hooks/sitecustomize.py."""


def _said(command: list[str | Path], *, cwd: Path, signed_in: bool) -> str:
    """What a command printed. Its exit code does not matter: the report says more."""
    plain = {"NO_COLOR": "1", "GITHUB_STEP_SUMMARY": "", "PYTHONPATH": ""}
    environment = {**os.environ, **plain, **(_SIGNED_IN if signed_in else {})}
    ended = subprocess.run(
        command, cwd=cwd, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    if log := os.environ.get("KIT_LOG"):
        with (ROOT / log).open("a") as out:
            out.write(f"$ {' '.join(map(str, command))}\n{ended.stdout}\n")
    return ended.stdout
