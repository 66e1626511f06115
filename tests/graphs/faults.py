"""Whose fault a failure is, as an edge's log tells it: the last traceback's innermost file names its owner."""

import re
from pathlib import Path

OURS = "ours"
THEIRS = "the project's"

_FRAME = re.compile(r'^\s+File "(?P<file>[^"]+)", line (?P<line>\d+)', re.MULTILINE)
_RAISED = re.compile(
    r"^(?P<error>(?:\w+\.)*\w*(?:Error|Exception|Exit|Timeout|Failed|Invalid)\w*)(?:: (?P<text>.*))?$", re.M
)
_REFUSED = re.compile(r"^(?:llamon: |.*?\bis not served: )(?P<why>.+)$", re.M)
_IMPORTED = re.compile(r"cannot be imported: \S+ at (?P<file>\S+):\d+")
_MISSING = re.compile(r"needs the module .*, which (?:is not installed|.* does not have)")

_WRAPPED = ("llamon_agent.domain.errors.AgentError",)
"""What we make of an error of the agent's."""


def fault(log: str, project: Path) -> str:
    """In a line: whose, which error, where. Empty if the log has no error."""
    raised = [found for found in _RAISED.finditer(log) if found["error"] not in _WRAPPED]
    if not raised:
        return ""
    last = raised[-1]
    frames = list(_FRAME.finditer(log, 0, last.start()))
    where = frames[-1]["file"] if frames else ""
    place = f" ({_short(where)}:{frames[-1]['line']})" if frames else ""
    return f"{owner(where, project)}: {last['error']}: {last['text'] or ''}{place}"[:400]


def refusal(log: str, graph: str) -> str:
    """Why an edge does not start, or why it does not serve this graph, in its own words."""
    refused = list(_REFUSED.finditer(log))
    named = [found for found in refused if f"{graph} is not served: " in found[0]]
    return (named or refused)[0]["why"][:400] if refused else "no word"


def refused_by(why: str, project: Path) -> str:
    """Whose fault it is that a graph is not served: code that fails at its import, a missing package, else we."""
    if found := _IMPORTED.search(why):
        return owner(found["file"], project)
    return THEIRS if _MISSING.search(why) else OURS


def owner(file: str, project: Path) -> str:
    """The package that a file is of: ours, the project's, or one that is installed."""
    if "/llamon_agent/" in file:
        return OURS
    if "/site-packages/" in file:
        return file.partition("/site-packages/")[2].partition("/")[0]
    return "Python" if "/lib/python3" in file and not file.startswith(str(project)) else THEIRS


def _short(file: str) -> str:
    return file.rpartition("/site-packages/")[2] if "/site-packages/" in file else "/".join(file.split("/")[-2:])
