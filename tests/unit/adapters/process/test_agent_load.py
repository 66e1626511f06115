"""What is wrong with a command line in the configuration comes out at the start."""

import os
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError
from tests.unit.adapters.process.commands import a_turn, said, text_of

from llamon_agent.adapters.process.agent import ProcessAgent, load_process
from llamon_agent.config.adapters import ProcessConfig
from llamon_agent.domain.errors import ConfigError
from llamon_agent.runs.ports.run import Limits
from llamon_agent.serving.process import STOP_WITHIN_S

PATH = os.environ["PATH"]


def loaded(target: str, *, environ: dict[str, str] | None = None, **options: Any) -> ProcessAgent:
    """As `app.py` loads it."""
    return load_process(
        target, **dict(ProcessConfig(**options)), environ={"PATH": PATH} if environ is None else environ
    )


async def test_a_command_of_the_path_is_an_agent() -> None:
    assert text_of(await said(loaded("cat"), a_turn("hello"))) == "hello"


async def test_every_option_takes_effect(tmp_path: Path) -> None:
    environ = {"PATH": PATH, "SECRET": "s", "SHOWN": "seen"}
    script = """sh -c 'printf "{\\"delta\\": \\"%s %s %s %s\\"}" "$1" "$SECRET" "$SHOWN" "$PWD"' -- {prompt}"""
    options = {"prompt": "argument", "output": "jsonl", "folder": tmp_path, "environment": ["PATH", "SHOWN", "NONE"]}
    assert text_of(await said(loaded(script, environ=environ, **options), a_turn("-p"))) == f"-p  seen {tmp_path}"


async def test_a_path_is_relative_to_the_edge_even_if_the_command_has_another_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "agent.sh").write_text("#!/bin/sh\npwd")
    (tmp_path / "agent.sh").chmod(0o755)
    monkeypatch.chdir(tmp_path)
    agent = loaded("./agent.sh", folder=Path("elsewhere"))
    assert text_of(await said(agent)) == str(tmp_path / "elsewhere")


@pytest.mark.parametrize(
    ("target", "options", "hint"),
    [
        ("no-such-command-here --x", {}, "install it or name its path"),
        ("./no-such-file", {}, "install it or name its path"),
        ("./plain.txt", {}, "is not executable"),
        ("cat", {"folder": "nowhere"}, "process.folder: 'nowhere' is no folder"),
        ("cat", {"folder": "plain.txt"}, "is no folder"),
        ("cat", {"prompt": "argument"}, "has no {prompt}"),
        ("cat {prompt}", {}, "set it to 'argument'"),
        ("cat 'x", {}, "close it"),
    ],
)
def test_what_cannot_run_is_refused(
    target: str, options: dict[str, Any], hint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "plain.txt").write_text("plain")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError) as caught:
        loaded(target, **options)
    assert hint in caught.value.public


def test_the_edges_path_finds_the_command_and_not_the_systems(tmp_path: Path) -> None:
    with pytest.raises(ConfigError):
        loaded("cat", environ={"PATH": str(tmp_path)})


def test_a_command_is_killed_before_its_run_is_given_up() -> None:
    """A stopping edge and the run service wait for a cancelled agent longer than a command may take to end."""
    assert ProcessConfig(kill_after_s=1.5).kill_after_s < min(STOP_WITHIN_S, Limits().cancel_grace_s)
    with pytest.raises(ValidationError):
        ProcessConfig(kill_after_s=1.6)
