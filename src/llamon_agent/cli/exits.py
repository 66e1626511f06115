"""Exit codes, and the errors that lead to them."""

from enum import IntEnum

from llamon_agent.domain.errors import ConfigError, LlamonError


class Exit(IntEnum):
    """The exit codes. `llamon --help` and docs/cli.md show the same table."""

    OK = 0
    ENDED_BADLY = 1
    USAGE = 2
    UNREACHED = 3
    ASKS = 4
    PROTOCOL = 5
    INTERRUPTED = 130
    PIPE_CLOSED = 141


MEANINGS: dict[Exit, str] = {
    Exit.OK: "done; with --background, accepted",
    Exit.ENDED_BADLY: (
        "the task failed, was rejected or was canceled, or there is none; a card's signature is not valid"
    ),
    Exit.USAGE: "the command line or the configuration is wrong",
    Exit.UNREACHED: "no answer: not reachable, refused by HTTP, not authorised, or not in time",
    Exit.ASKS: "the agent asks for input",
    Exit.PROTOCOL: "the answer was a protocol error, or not A2A",
    Exit.INTERRUPTED: "interrupted by Ctrl-C",
    Exit.PIPE_CLOSED: "the reader of the output is gone",
}


class Usage(LlamonError):
    """The command line asks for something impossible."""


def exit_of(error: LlamonError) -> Exit:
    """The exit code that an error comes to; that of a call which failed is in `failure_text`."""
    return Exit.USAGE if isinstance(error, Usage | ConfigError) else Exit.ENDED_BADLY
