"""The pages: their links lead somewhere, and what they show can be run."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", ROOT / "tests" / "README.md", ROOT / "examples" / "README.md"]
PAGES += sorted((ROOT / "docs").rglob("*.md"))

_LINK = re.compile(r"\]\((?P<to>[^)\s]+)\)")
_CODE = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)
_HEADING = re.compile(r"^#+ (?P<words>.+)$", re.MULTILINE)


def links(page: Path) -> list[str]:
    text = _CODE.sub("", page.read_text(encoding="utf-8"))
    return [found["to"] for found in _LINK.finditer(text) if not found["to"].startswith(("http://", "https://"))]


def anchors(page: Path) -> set[str]:
    """As GitHub makes them of headings: lower case, no punctuation, a hyphen for each space."""
    text = _CODE.sub("", page.read_text(encoding="utf-8"))
    return {re.sub(r"[^\w -]", "", found["words"].lower()).replace(" ", "-") for found in _HEADING.finditer(text)}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_to_a_file_leads_to_one(page: Path) -> None:
    for link in links(page):
        place, _, anchor = link.partition("#")
        target = (page.parent / place).resolve() if place else page
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


def test_the_history_page_shows_a_program_that_runs() -> None:
    text = (ROOT / "docs" / "history.md").read_text(encoding="utf-8")
    (program,) = re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert "apple" in done.stdout, done.stderr
