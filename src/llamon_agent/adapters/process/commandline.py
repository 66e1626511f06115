"""A command line with placeholders for the values of a run, filled in without a shell.

The line is split into words once, by the rules of a POSIX shell. Placeholders are filled after that, each inside its
word: whatever a caller sends stays within one argument. One danger is left: programs take an argument that begins with
a dash for an option. So the value of a placeholder at the front of a word must not begin with a dash, unless a `--`,
which ends the options, comes before it.
"""

import re
import shlex
from collections.abc import Mapping

import msgspec

from llamon_agent.domain.errors import AgentError, ConfigError
from llamon_agent.domain.message import sound

PROMPT = "prompt"
PLACEHOLDERS = ("context_id", "session_id", "task_id", "thread_id", PROMPT)
"""What may stand in braces. Other braces are the program's own and stay as they are."""

_PLACEHOLDER = re.compile(r"\{(" + "|".join(PLACEHOLDERS) + r")\}")
_END_OF_OPTIONS = "--"


class CommandLine(msgspec.Struct, frozen=True, kw_only=True):
    """A program and its arguments, which may hold placeholders."""

    program: str
    words: tuple[str, ...]

    @property
    def takes_prompt(self) -> bool:
        return any(PROMPT in _PLACEHOLDER.findall(word) for word in self.words)

    def arguments(self, values: Mapping[str, str]) -> list[str]:
        """The arguments of one run.

        Shape:  values by placeholder, every one of `PLACEHOLDERS` that the words hold.
        Raises: AgentError: what the caller sent would be taken for an option.
        """
        return [self._filled(number, values) for number in range(len(self.words))]

    def _filled(self, number: int, values: Mapping[str, str]) -> str:
        word = self.words[number]
        filled = _PLACEHOLDER.sub(lambda found: sound(values[found[1]]), word)
        begins = _PLACEHOLDER.match(word)
        if begins and filled.startswith("-") and _END_OF_OPTIONS not in self.words[:number]:
            what = PROMPT if begins[1] == PROMPT else "contextId"
            raise AgentError(f"The {what} begins with '-', which this agent's command would take for an option.")
        return filled


def read_command_line(line: str) -> CommandLine:
    """Split a command line, as a shell would. Raises: ConfigError, naming the line and the remedy."""
    try:
        words = shlex.split(line)
    except ValueError as exc:
        raise ConfigError(f"The command line {line!r} has a quote without its partner: close it.") from exc
    if not words or not words[0]:
        raise ConfigError("The process adapter needs a command line as its target, such as: python3 agent.py")
    if _PLACEHOLDER.search(words[0]):
        raise ConfigError(f"The command line {line!r} lets the caller choose the program: name it.")
    return CommandLine(program=words[0], words=tuple(words[1:]))


def check_prompt(command: CommandLine, *, as_argument: bool) -> None:
    """Refuse a {prompt} without prompt: argument, and the reverse. Raises: ConfigError."""
    if as_argument and not command.takes_prompt:
        raise ConfigError(
            "process.prompt is 'argument', but the command line has no {prompt}: put it where it belongs."
        )
    if command.takes_prompt and not as_argument:
        raise ConfigError("The command line has a {prompt}, but process.prompt is 'stdin': set it to 'argument'.")
