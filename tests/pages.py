"""Tables on the pages that commands write: the rows of a page are its results, and stay until they are found anew.

So a command that tried a part only leaves the rest of its page as it is.
"""

import textwrap
from collections.abc import Collection, Iterable, Sequence
from itertools import zip_longest

Row = list[str]


def merged(
    page: str, new: Iterable[Row], *, keys: int, columns: int, only: Collection[tuple[str, ...]] | None = None
) -> str:
    """The lines of the table that holds the page's rows and the new ones.

    Shape: the first `keys` of the `columns` say what a row is about; a new row takes the place of the old one with the
           same keys, rows are sorted by them, and those whose keys are not in `only` are dropped.
    """
    rows = {tuple(row[:keys]): row for row in (*rows_of(page, columns), *new)}
    kept = sorted(row for key, row in rows.items() if only is None or key in only)
    return "".join(f"| {' | '.join(row)} |\n" for row in kept)


def rows_of(page: str, columns: int) -> list[Row]:
    """The rows of the page's table with so many columns, without its heading."""
    lines = page.splitlines()
    rows = [
        [cell.strip() for cell in line.strip()[1:-1].split("|")]
        for line, below in zip_longest(lines, lines[1:], fillvalue="")
        if line.startswith("| ") and not below.startswith("|---")
    ]
    return [row for row in rows if len(row) == columns]


def items(texts: Sequence[str]) -> str:
    """A list, in lines of the usual length."""
    return "".join(
        textwrap.fill(f"- {text}", 120, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False) + "\n"
        for text in texts
    )


def plain(text: str) -> str:
    """A pattern's stars are stars, not emphasis."""
    return text.replace("*", "\\*")
