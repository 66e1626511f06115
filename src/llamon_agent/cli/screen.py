"""The terminal: the agent's text on stdout, everything about it on stderr.

Text from an agent, a card or a server is shown without control characters, which a terminal would obey.
"""

import contextlib
import re
import shutil
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


_ERASE = "\r\x1b[2K"
"""Erases a terminal's line. Source: ECMA-48 (EL)."""


class Screen:
    """Remembers whether the last line is complete, so that a note in the middle of an answer starts a new one.

    Progress is held back until something else comes, and on a terminal it is shown meanwhile: some agents give their
    answer as progress first, as it grows, and then once more as the answer. It should be read once.
    """

    def __init__(self) -> None:
        self._open = False
        self._held = ""
        self._is_drawn = False
        self._said: list[str] = []

    def words(self, text: str) -> None:
        """Write a piece of the agent's text."""
        if text := plain(text):
            self._release(text)
            self._write(text)
            self._said.append(text)

    def progress(self, text: str) -> None:
        """What the agent does now, on stderr; one that continues the last one takes its place."""
        text = plain(text)
        if text.strip() == "".join(self._said).strip():
            return
        if self._held and not text.startswith(self._held):
            self._release()
        self._erase()
        self._held = text
        if sys.stderr.isatty():
            self._break()
            columns = shutil.get_terminal_size().columns
            sys.stderr.write(f"\x1b[2m{one_line(text)[: columns - 1]}\x1b[0m")
            sys.stderr.flush()
            self._is_drawn = True

    def end(self) -> None:
        """The agent's text is complete: end its line."""
        self._release()
        self._break()
        self._said.clear()

    def _write(self, text: str) -> None:
        sys.stdout.write(text)
        sys.stdout.flush()
        self._open = not text.endswith("\n")

    def _break(self) -> None:
        if self._open:
            self._write("\n")

    def _release(self, next_words: str = "") -> None:
        """Write the progress that is held back as a note, except where the words that follow say the same."""
        held, self._held = self._held, ""
        self._erase()
        said, follows = held.strip(), next_words.strip()
        if said and not (follows and (said.startswith(follows) or follows.startswith(said))):
            self._note(held)

    def _erase(self) -> None:
        if self._is_drawn:
            sys.stderr.write(_ERASE)
            sys.stderr.flush()
            self._is_drawn = False

    def line(self, text: str) -> None:
        """Write a whole line on stdout."""
        self._release()
        self._write(plain(text) + "\n")

    def json(self, text: str) -> None:
        """Write a JSON value on one line, its control characters escaped."""
        sys.stdout.write(_CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", text) + "\n")
        sys.stdout.flush()

    def note(self, text: str) -> None:
        """Write a note about the answer on stderr, dim where the terminal can."""
        self._release()
        self._note(text)

    def _note(self, text: str) -> None:
        from rich.console import Console  # not needed for --json, nor for --help
        from rich.text import Text

        if sys.stdout.isatty():
            self._break()
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
