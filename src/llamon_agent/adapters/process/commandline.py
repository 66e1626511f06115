"""A command line with places for what a run brings, filled in without a shell.

The line is split into words once, by the rules of a POSIX shell, and only then are places filled, each inside its word:
whatever a caller sends stays within one argument. What is left is that a program takes an argument which begins with a
dash for an option. So a word that begins with a place must not come out that way, unless a `--` stands before it, with
which programs end their options.
"""

import re
import shlex
from collections.abc import Mapping

import msgspec

from llamon_agent.domain.errors import AgentError, ConfigError
from llamon_agent.domain.message import sound

PROMPT = "prompt"
PLACES = ("context_id", "session_id", "task_id", "thread_id", PROMPT)
"""What may stand in braces. Other braces are the program's own and stay as they are."""

_PLACE = re.compile(r"\{(" + "|".join(PLACES) + r")\}")
_END_OF_OPTIONS = "--"


class CommandLine(msgspec.Struct, frozen=True, kw_only=True):
    """A program and the words behind it, in which places may stand."""

    program: str
    words: tuple[str, ...]

    @property
    def takes_prompt(self) -> bool:
        return any(PROMPT in _PLACE.findall(word) for word in self.words)

    def arguments(self, values: Mapping[str, str]) -> list[str]:
        """The arguments of one run.

        Shape:  values by place, every one of `PLACES` that the words name.
        Raises: AgentError: what the caller sent would be taken for an option.
        """
        return [self._filled(number, values) for number in range(len(self.words))]

    def _filled(self, number: int, values: Mapping[str, str]) -> str:
        word = self.words[number]
        filled = _PLACE.sub(lambda place: sound(values[place[1]]), word)
        begins = _PLACE.match(word)
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
    if _PLACE.search(words[0]):
        raise ConfigError(f"The command line {line!r} lets the caller choose the program: name it.")
    return CommandLine(program=words[0], words=tuple(words[1:]))


def check_prompt(command: CommandLine, *, as_argument: bool) -> None:
    """That the command line has a place for the prompt exactly when the prompt is an argument. Raises: ConfigError."""
    if as_argument and not command.takes_prompt:
        raise ConfigError(
            "process.prompt is 'argument', but the command line has no {prompt}: put it where it belongs."
        )
    if command.takes_prompt and not as_argument:
        raise ConfigError("The command line has a {prompt}, but process.prompt is 'stdin': set it to 'argument'.")
