import json
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest
from tests.unit.cli.conftest import llamon

from llamon_agent.cli import card
from llamon_agent.cli.exits import MEANINGS, Exit
from llamon_agent.cli.main import main, version_line

ROOT = Path(__file__).parents[3]
Capture = pytest.CaptureFixture[str]

SLOW = {"asyncio", "httpx2", "langgraph", "langchain_core", "msgspec", "pydantic", "pydantic_settings", "starlette"}
SLOW |= {"structlog", "uvicorn", "yaml", "cyclopts", "rich"}


def test_help_loads_nothing_slow() -> None:
    probe = (
        "import json, sys\n"
        "from llamon_agent.cli.main import main\n"
        "code = main(['--help'])\n"
        "print(json.dumps([code, sorted({name.partition('.')[0] for name in sys.modules})]))\n"
    )
    env = {"PYTHONPATH": str(ROOT / "src"), "PATH": ""}
    out = subprocess.run([sys.executable, "-c", probe], capture_output=True, check=True, env=env, text=True).stdout
    code, loaded = json.loads(out.splitlines()[-1])
    assert code == Exit.OK
    assert not SLOW & set(loaded)


@pytest.mark.parametrize("given", [[], ["-h"], ["--help"]])
def test_help_shows_the_commands_and_the_exit_codes(capsys: Capture, given: list[str]) -> None:
    assert main(given) == Exit.OK
    shown = capsys.readouterr().out
    for word in ("serve", "send", "get", "chat", "card", "tasks", "db", "config", "version"):
        assert f"\n  {word} " in shown
    for code, meaning in MEANINGS.items():
        assert f"{code:>3}  {meaning}" in shown


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (["sned"], 'Did you mean "send"?'),
        (["send"], "URL"),
        (["sned"], "See llamon --help."),
        (["send"], "See llamon send --help."),
        (["get", "http://h"], "See llamon get --help."),
        (["config", "chekc"], "See llamon config --help."),
        (["config", "check", "--jsno"], "See llamon config check --help."),
        (["send", "http://h", "hi", "--steam"], "--stream"),
        (["serve", "--adapter", "wrong"], "--adapter"),
        (["send", "http://h", "hi", "--timeout", "soon"], "--timeout"),
        (["send", "not-a-url", "hi"], "give one such as http://127.0.0.1:8000"),
    ],
)
def test_a_wrong_command_line_is_reported_in_a_line(capsys: Capture, given: list[str], words: str) -> None:
    assert main(given) == Exit.USAGE
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("llamon: ")
    assert printed.err.count("\n") == 1
    assert words in printed.err


def test_ctrl_c_anywhere_is_130(monkeypatch: pytest.MonkeyPatch) -> None:
    async def interrupted(*_: object) -> bytes:
        raise KeyboardInterrupt

    monkeypatch.setattr(card, "find_card", interrupted)
    assert main(["card", "http://127.0.0.1:1"]) == Exit.INTERRUPTED


@pytest.mark.parametrize("command", ["serve", "send", "get", "chat", "card", "version"])
def test_every_command_has_a_help_of_its_own(capsys: Capture, command: str) -> None:
    assert main([command, "--help"]) == Exit.OK
    shown = capsys.readouterr().out
    assert shown.startswith(f"Usage: llamon {command}")
    assert "Exit codes:" in shown


@pytest.mark.parametrize("given", [["version"], ["--version"]])
def test_the_version_is_printed(capsys: Capture, monkeypatch: pytest.MonkeyPatch, given: list[str]) -> None:
    monkeypatch.setattr(metadata, "version", lambda name: {"llamon-agent": "7.8.9"}[name])
    assert main(given) == Exit.OK
    assert capsys.readouterr().out == "llamon 7.8.9\n"


def test_a_version_is_printed_even_where_nothing_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> str:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", missing)
    assert "source" in version_line()


def test_python_dash_m_is_the_command() -> None:
    with llamon("send", "http://127.0.0.1:1", "hi") as run:
        out, err = run.communicate(timeout=10)
    assert run.returncode == Exit.UNREACHED
    assert out == b""
    assert err.startswith(b"llamon: Nothing listens at http://127.0.0.1:1;")
