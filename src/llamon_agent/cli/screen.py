"""The terminal: the agent's text on stdout, everything about it on stderr.

Text from an agent, a card or a server is shown without control characters, which a terminal would obey.
"""

import contextlib
import re
import sys

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")  # all but tab and newline


def plain(text: str) -> str:
    """The text without control characters."""
    return _CONTROL.sub("", text)


def one_line(text: str) -> str:
    """The text on one line, so that it cannot be mistaken for a line of ours."""
    return " ".join(plain(text).split())


def complain(text: str) -> None:
    """Write an error on stderr, each line with our name."""
    for line in plain(text).splitlines():
        print(f"llamon: {line}", file=sys.stderr)


class Screen:
    """Remembers whether the last line is complete, so that a note in the middle of an answer starts a new one."""

    def __init__(self) -> None:
        self._open = False

    def words(self, text: str) -> None:
        """Write a piece of the agent's text."""
        if text := plain(text):
            sys.stdout.write(text)
            sys.stdout.flush()
            self._open = not text.endswith("\n")

    def end(self) -> None:
        """The agent's text is complete: end its line."""
        if self._open:
            sys.stdout.write("\n")
            sys.stdout.flush()
            self._open = False

    def line(self, text: str) -> None:
        """Write a whole line on stdout."""
        self.words(text + "\n")

    def json(self, text: str) -> None:
        """Write a JSON value on one line, its control characters escaped."""
        sys.stdout.write(_CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", text) + "\n")
        sys.stdout.flush()

    def note(self, text: str) -> None:
        """Write a note about the answer on stderr, dim where the terminal can."""
        from rich.console import Console  # not needed for --json, nor for --help
        from rich.text import Text

        if sys.stdout.isatty():
            self.end()
        Console(stderr=True, soft_wrap=True, highlight=False).print(Text(plain(text), style="dim"))

    def ask(self, prompt: str) -> str | None:
        """Read a line from the person; None at the end of input. Raises: KeyboardInterrupt."""
        self.end()
        if not sys.stdin.isatty():
            line = sys.stdin.readline()
            return line.rstrip("\n") if line else None
        with contextlib.suppress(ImportError):  # line editing, where the platform has it
            import readline  # noqa: F401
        try:
            return input(prompt)
        except EOFError:
            sys.stdout.write("\n")
            return None
