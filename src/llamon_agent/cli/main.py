"""`llamon`: the commands, each loaded when it is used, and their exit codes.

The help of `llamon` itself is written here, from the same table as the commands, because the library that parses
command lines takes long to load.
"""

import os
import sys
from collections.abc import Sequence

from llamon_agent.cli.exits import MEANINGS, Exit, Usage, exit_of
from llamon_agent.cli.screen import complain
from llamon_agent.domain.errors import AgentError, LlamonError

_ABOUT = "The A2A edge for agents: serve one, or talk to one."

_COMMANDS = {
    "serve": ("llamon_agent.cli.serve:serve", "Serve an agent over A2A."),
    "send": ("llamon_agent.cli.send:send", "Send a message to an agent and print its answer."),
    "get": ("llamon_agent.cli.send:get", "Show a task."),
    "chat": ("llamon_agent.cli.chat:chat", "Talk with an agent."),
    "card": ("llamon_agent.cli.card:card", "Show an agent's card."),
    "tasks": ("llamon_agent.cli.tasks:app", "List, show, cancel, prune or export what an edge has stored."),
    "db": ("llamon_agent.cli.db:app", "Migrate an edge's database, or show its state."),
    "config": ("llamon_agent.cli.config:app", "Check a configuration, or print its schema."),
    "version": ("llamon_agent.cli.main:show_version", "Print the version."),
}

_EXIT_CODES = "\n".join(["Exit codes:", *(f"  {code:>3}  {meaning}" for code, meaning in MEANINGS.items())])


def help_text() -> str:
    """The text of `llamon --help`."""
    commands = [f"  {name:<8} {about}" for name, (_, about) in _COMMANDS.items()]
    usage = ["Usage: llamon COMMAND [OPTIONS]", "", _ABOUT, "", "Commands:"]
    return "\n".join([*usage, *commands, "", "`llamon COMMAND --help` says more about each.", "", _EXIT_CODES])


def version_line() -> str:
    """This program and its version."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return f"llamon {version('llamon-agent')}"
    except PackageNotFoundError:
        return "llamon, run from source"


def show_version() -> int:
    """Print the version."""
    print(version_line())
    return Exit.OK


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; the exit code."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    try:
        code = _run(given)
        sys.stdout.flush()
    except AgentError as error:
        return _failed(error)
    except LlamonError as error:
        complain(error.public)
        return exit_of(error)
    except KeyboardInterrupt:
        return Exit.INTERRUPTED
    except BrokenPipeError:
        # The interpreter flushes stdout once more at its end, and would complain. Source: Python docs, signal, SIGPIPE.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return Exit.PIPE_CLOSED
    return code


def _failed(error: AgentError) -> int:
    """Say why a call of an agent failed. The imports cost nothing: the call itself has loaded these modules."""
    from llamon_agent.cli.failure_text import exit_of_failure, failure_text
    from llamon_agent.client.errors import RemoteError

    if not isinstance(error, RemoteError):
        complain(error.public)
        return exit_of(error)
    complain(failure_text(error))
    return exit_of_failure(error)


def _run(given: Sequence[str]) -> int:
    """Execute a command line. Raises: Usage: it is not valid; LlamonError: from the commands."""
    if given in ([], ["--help"], ["-h"]):
        print(help_text())
        return Exit.OK

    from cyclopts import App, CycloptsError

    app = App(
        name="llamon",
        help=_ABOUT,
        help_format="plaintext",
        help_epilogue=_EXIT_CODES,
        version=version_line,
        suppress_keyboard_interrupt=False,
    )
    for name, (where, about) in _COMMANDS.items():
        app.command(where, name=name, help=about)
    try:
        code: int | None = app(given, result_action="return_value", exit_on_error=False, print_error=False)
    except CycloptsError as exc:
        command = " ".join(["llamon", *(exc.command_chain or ())])
        raise Usage(f"{exc} See {command} --help.") from exc  # sentences about the command line are all that it says
    return code or Exit.OK
