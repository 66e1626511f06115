"""From a command line in the configuration to an agent. Its mistakes show here, and not first in a run."""

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

from llamon_agent.adapters.process.agent import Command, ProcessAgent
from llamon_agent.adapters.process.commandline import check_prompt, read_command_line
from llamon_agent.domain.errors import ConfigError


def load_process(
    target: str,
    *,
    prompt: Literal["stdin", "argument"],
    output: Literal["text", "jsonl"],
    folder: Path | None,
    environment: Sequence[str],
    max_output_bytes: int,
    kill_after_s: float,
    environ: Mapping[str, str],
) -> ProcessAgent:
    """Make an agent of a command line.

    Shape:  environment names the variables of environ that the command may see. A program that is named by a path is
            looked for in the edge's folder, any other one in environ's PATH.
    Raises: ConfigError, naming the command and the remedy.
    """
    line = read_command_line(target)
    check_prompt(line, as_argument=prompt == "argument")
    found = shutil.which(line.program, path=environ.get("PATH"))
    if found is None:
        raise ConfigError(
            f"The command {line.program!r} is not here, or is not executable: install it or name its path."
        )
    if folder is not None and not folder.is_dir():
        raise ConfigError(f"process.folder: {str(folder)!r} is no folder: make it, or name another.")
    command = Command(
        line=type(line)(program=str(Path(found).absolute()), words=line.words),
        environment={name: environ[name] for name in environment if name in environ},
        folder=folder,
        output=output,
        max_output_bytes=max_output_bytes,
        kill_after_s=kill_after_s,
    )
    return ProcessAgent(command)
