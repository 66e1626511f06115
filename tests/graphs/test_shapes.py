"""Graphs of every shape that people write, driven as foreign projects are. One edge has them all, and is killed."""

import asyncio
import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path

import httpx
import pytest
from tests.e2e.conftest import running_edge
from tests.graphs.expectations import GAPS, SHAPES
from tests.graphs.outcomes import COLUMNS, WORKS, Found
from tests.graphs.serving import Site, drive
from tests.graphs.stub.improvised import improvise
from tests.model_server import model_server

SHAPES_DIR = Path(__file__).parent / "shapes"

PYTHON = Path(os.environ.get("SHAPES_PYTHON", sys.executable))
"""The interpreter that serves them. `make floors` names that of the lowest LangGraph."""

Everything = Mapping[str, Found]


async def found_in(folder: Path) -> Everything:
    """What the driver finds of all shapes, in one langgraph.json."""
    graphs = {name: str(SHAPES_DIR / shape.target) for name, shape in SHAPES.items()}
    file = folder / "langgraph.json"
    file.write_text(json.dumps({"graphs": graphs}))
    templates = {name: shape.template for name, shape in SHAPES.items() if shape.template is not None}
    async with model_server() as model:
        model.says(improvise)
        site = Site("shapes", file, folder / "data", PYTHON, model, templates)
        await drive(site, list(graphs))
    return site.founds


@pytest.fixture(scope="module")
def everything(tmp_path_factory: pytest.TempPathFactory) -> Everything:
    return asyncio.run(found_in(tmp_path_factory.mktemp("shapes")))


@pytest.mark.timeout(240)
@pytest.mark.parametrize("name", SHAPES)
def test_a_shape_works_but_for_its_known_gaps(everything: Everything, name: str) -> None:
    shape, found, gap = SHAPES[name], everything[name], GAPS.get(name)
    tried = {column: outcome.verdict for column, outcome in found.columns.items()}
    wrong = {column for column in COLUMNS if tried.get(column) != shape.expected[column]}
    assert wrong == (set(gap.columns) if gap else set()), found
    if "sends" not in wrong and "starts" not in wrong:
        said = found.columns["sends"].note
        assert (shape.says in said and shape.never not in said) != (gap is not None and gap.text), found


def test_every_gap_is_of_a_shape_and_says_why() -> None:
    assert set(GAPS) <= set(SHAPES)
    assert all(gap.why and (gap.columns or gap.text) for gap in GAPS.values())


def test_every_shape_is_in_the_table() -> None:
    targets = {shape.target.partition(":")[0] for shape in SHAPES.values()}
    assert targets | {"auth.py"} == {file.name for file in SHAPES_DIR.glob("*.py")}
    assert all(shape.expected["sends"] == WORKS for shape in SHAPES.values())


async def test_a_project_with_auth_answers_nobody_that_it_does_not_know(tmp_path: Path) -> None:
    keys = {"graphs": {"a": f"{SHAPES_DIR / 'auth.py'}:graph"}, "auth": {"path": f"{SHAPES_DIR / 'auth.py'}:auth"}}
    (tmp_path / "langgraph.json").write_text(json.dumps(keys))
    with running_edge("langgraph.json", data=tmp_path / "data", cwd=tmp_path) as edge:
        message = {"messageId": "m", "role": "user", "parts": [{"kind": "text", "text": "?"}]}
        call = {"jsonrpc": "2.0", "id": 1, "method": "message/send", "params": {"message": message}}
        async with httpx.AsyncClient(base_url=edge.url, timeout=30) as http:
            statuses = [
                (await http.post("/a2a", json=call, headers={"Authorization": f"Bearer {token}"})).status_code
                for token in ("bob", "ann")
            ]
    assert statuses == [401, 200]
