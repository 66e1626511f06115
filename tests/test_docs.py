"""The pages: their links lead somewhere, and what they show can be run."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", ROOT / "tests" / "README.md", ROOT / "examples" / "README.md"]
PAGES += sorted((ROOT / "docs").rglob("*.md"))

_LINK = re.compile(r"\]\((?P<to>[^)\s]+)\)")
_CODE = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)
_HEADING = re.compile(r"^#+ (?P<words>.+)$", re.MULTILINE)

_CELL = re.compile(r"^\| (?P<cell>.+?) \|", re.MULTILINE)
_MODULE = re.compile(r"`(?P<path>[\w/]+(?:\.py|/))`")

ARCHITECTURE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
PACKAGE = ROOT / "src" / "llamon_agent"


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


def section(title: str) -> str:
    """A section of the architecture's page."""
    return ARCHITECTURE.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def rows(text: str) -> list[str]:
    """The first cell of each row of a table, without the heading."""
    return [found["cell"] for found in _CELL.finditer(text)][1:]


def test_every_module_on_the_architectures_page_exists() -> None:
    paths = [found["path"] for found in _MODULE.finditer(ARCHITECTURE)]
    alone = {"schema.py", "values.py", "codec.py", "jsonrpc/", "src/llamon_agent/"}  # the sentence says where these are
    assert [path for path in paths if path not in alone and not (PACKAGE / path).exists()] == []


@pytest.mark.parametrize("title", ["One message's way in", "One delta's way out"])
def test_a_way_through_the_code_names_at_most_25_modules(title: str) -> None:
    assert 10 <= sum(len(_MODULE.findall(cell)) for cell in rows(section(title))) <= 25


def test_the_architectures_page_has_the_layers_that_are_checked() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"][
        "contracts"
    ]
    [layers] = [contract["layers"] for contract in contracts if contract["type"] == "layers"]
    assert [re.findall(r"\w+", cell) for cell in rows(section("Layers"))] == [layer.split(" | ") for layer in layers]


def test_the_glossary_is_short_and_each_of_its_words_is_used() -> None:
    glossary = ROOT / "docs" / "glossary.md"
    words = [word.strip("`") for cell in rows(glossary.read_text(encoding="utf-8")) for word in cell.split(", ")]
    used = [page for page in PAGES if page != glossary] + sorted(PACKAGE.rglob("*.py"))
    text = " ".join(" ".join(path.read_text(encoding="utf-8").split()) for path in used).lower()
    assert len(words) <= 35
    assert [word for word in words if not re.search(rf"\b{word}s?\b", text)] == []


_TEST = re.compile(r"`(?P<file>tests/[\w/]+\.py)::(?P<name>\w+)`")
BOUNDS = _TEST.findall((ROOT / "docs" / "security.md").read_text(encoding="utf-8"))


def test_each_bound_names_a_test() -> None:
    page = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
    table = page.partition("## What is bounded")[2].partition("## What is trusted")[0]
    rows = [line for line in table.splitlines() if line.startswith("| ")][1:]
    assert len(rows) > 20
    assert [row for row in rows if not _TEST.search(row)] == []


@pytest.mark.parametrize(("file", "name"), BOUNDS)
def test_the_test_of_a_bound_is_there(file: str, name: str) -> None:
    assert re.search(rf"^ *(async )?def {name}\(", (ROOT / file).read_text(encoding="utf-8"), re.MULTILINE)
