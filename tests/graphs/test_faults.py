"""Whose fault a failure is, by logs as edges write them."""

from pathlib import Path

import pytest
from tests.graphs.faults import OURS, THEIRS, fault, refusal, refused_by

PROJECT = Path("/checkouts/app")
SITE = "/environments/app/lib/python3.11/site-packages"


def traceback(file: str, error: str, *, ours: bool = True) -> str:
    frames = f'  File "{SITE}/llamon_agent/runs/driver.py", line 3, in _outcome\n    outcome = await work()\n'
    wrapped = "\nTraceback (most recent call last):\n" + frames + "llamon_agent.domain.errors.AgentError: It failed.\n"
    head = 'a line\nTraceback (most recent call last):\n  File "/usr/lib/python3.11/asyncio/x.py", line 1, in run\n'
    return f'{head}  File "{file}", line 7, in node\n    code()\n{error}\n{wrapped if ours else ""}another: line\n'


@pytest.mark.parametrize(
    ("file", "error", "expected"),
    [
        ("/checkouts/app/src/graph.py", "KeyError: 'user_id'", f"{THEIRS}: KeyError: 'user_id' (src/graph.py:7)"),
        (f"{SITE}/langgraph/state.py", "TypeError: no", "langgraph: TypeError: no (langgraph/state.py:7)"),
        (f"{SITE}/llamon_agent/x.py", "RuntimeError", f"{OURS}: RuntimeError:  (llamon_agent/x.py:7)"),
        ("/usr/lib/python3.11/ssl.py", "ssl.SSLError: no", "Python: ssl.SSLError: no (python3.11/ssl.py:7)"),
    ],
)
def test_the_innermost_file_of_the_last_error_names_its_owner(file: str, error: str, expected: str) -> None:
    assert fault(traceback(file, error), PROJECT) == expected


def test_a_log_without_an_error_blames_nobody() -> None:
    assert fault("2026 [info] running\nfetch returned: 1\n", PROJECT) == ""


def test_a_graph_that_is_left_out_has_its_own_line() -> None:
    log = "  note  one is not served: first\n2026 [warning] langgraph.json: two is not served: second\n"
    assert refusal(log, "two") == "second"
    assert refusal("llamon: the file is not there\n", "two") == "the file is not there"
    assert refusal("", "two") == "no word"


def test_code_that_fails_at_its_import_is_not_our_fault() -> None:
    assert refused_by("it cannot be imported: KeyError at /checkouts/app/src/graph.py:3: 'A'", PROJECT) == THEIRS
    assert refused_by(f"it cannot be imported: TypeError at {SITE}/modal/x.py:3: no", PROJECT) == "modal"
    assert refused_by("it needs the module 'a', which is not installed: install it.", PROJECT) == THEIRS
    assert (
        refused_by("it needs the module 'a.b' at /a.py:3, which the installed a 1.0 does not have: no", PROJECT)
        == THEIRS
    )
    assert refused_by("this graph does not take and give 'messages'", PROJECT) == OURS
