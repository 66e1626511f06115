"""docs/compatibility.md: a row for each graph, and whose fault what does not work.

The rows of a project are replaced when it is driven again, and stay when it is not.
"""

import re
from collections.abc import Iterable

from tests.e2e.conftest import ROOT
from tests.graphs.outcomes import COLUMNS, Found

PAGE = ROOT / "docs" / "compatibility.md"

_HEAD = f"""\
# Compatibility

Public LangGraph projects, unchanged, served by `llamon serve langgraph.json` with nothing of ours set: only keys, and
the address of a model that answers anything ([tests/graphs](../tests/README.md#graphs-that-nobody-here-wrote)). Each
graph is called by the official client, where only loopback exists. The command that does so writes this page:

```sh
make graphs GRAPHS_DIR=/path/to/checkouts
```

- **starts**: the graph is served. **sends**, **streams**: it answers, and the stream is what is kept.
- **remembers**: the second turn's model call has the first turn. **history**: it has what the host sent along.
- **asks**: a question is answered and the run completes. **cancels**: a run whose model is silent ends as canceled.
- **model fails**: after a call of the model has failed, the next turn answers.
- **restart**: after `kill -9` the conversation goes on, and an open question is answered.
- `–` is a graph that has no such thing: it never asks, calls no model or has no messages. An empty cell was not tried.

| project | graph | commit | langgraph | {" | ".join(COLUMNS)} |
|{"---|" * (4 + len(COLUMNS))}
"""
_FOLDERS = re.compile(r"(?<![\w.])/(?:[\w.+-]+/)+")
_WHY = "\n## What does not work, and whose fault it is\n\n"


def written(page: str, founds: Iterable[Found]) -> str:
    """The page after these were driven, given what it was before."""
    new = list(founds)
    driven = {found.project for found in new}
    rows = [line for line in page.splitlines() if line.startswith("| ") and _project(line, "|") not in driven]
    whys = [line for line in page.splitlines() if line.startswith("- **`") and _project(line, "`") not in driven]
    rows = [line for line in rows if _project(line, "|") != "project"] + [_row(found) for found in new]
    whys += [_why(found) for found in new if found.failed or found.fault]
    return _HEAD + "".join(f"{row}\n" for row in sorted(rows)) + (_WHY + "\n".join(sorted(whys)) + "\n" if whys else "")


def _project(line: str, mark: str) -> str:
    return line.split(mark)[1].strip().split(" ")[0]


def _row(found: Found) -> str:
    cells = [found.columns[name].verdict if name in found.columns else "" for name in COLUMNS]
    return f"| {' | '.join([found.project, found.graph, found.version[:10], found.langgraph, *cells])} |"


def _why(found: Found) -> str:
    first = found.failed[0] if found.failed else "installs"
    note = found.columns[first].note if first in found.columns else ""
    told = ". ".join(part.rstrip(".") for part in (note, f"Fault: {found.fault}" if found.fault else "") if part)
    return f"- **`{found.project} {found.graph}`** {', '.join(found.failed) or first}: {_plain(told)}."


def _plain(text: str) -> str:
    """One line that Markdown leaves as it is, without the folders of this machine."""
    line = _FOLDERS.sub("", " ".join(text.split()))
    return re.sub(r"([*|<\[_`])", r"\\\1", line)
