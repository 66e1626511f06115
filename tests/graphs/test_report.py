"""The table of outcomes, and the projects that are found in a folder of checkouts."""

import json
from pathlib import Path

import pytest
from tests.graphs import outcomes
from tests.graphs.beside import Place, reply_to, row
from tests.graphs.outcomes import FAILS, NONE, WORKS, Found, Outcome
from tests.graphs.projects import Project, projects, templates
from tests.graphs.report import written


def found(project: str, sends: str = WORKS, note: str = "", fault: str = "") -> Found:
    columns = {"starts": Outcome(WORKS), "sends": Outcome(sends, note), "asks": Outcome(NONE)}
    return Found(project, "agent", "0123456789abcdef", "1.2.3", columns, fault)


def test_a_project_that_is_driven_again_replaces_its_rows_and_no_others() -> None:
    page = written("", [found("a", FAILS, "failed: `x` at /home/me/a.py", "ours: no"), found("b")])
    assert "| a | agent | 0123456789 | 1.2.3 | yes | NO |  |  |  | – |  |  |  |" in page
    assert "- **`a agent`** sends: failed: \\`x\\` at a.py. Fault: ours: no." in page
    again = written(page, [found("b", FAILS, "later")])
    assert again.count("| a | agent |") == again.count("| b | agent |") == 1
    assert "**`a agent`**" in again
    assert "**`b agent`** sends: later." in again
    assert written(again, [found("a"), found("b")]).count("**`") == 0


def test_outcomes_are_read_as_they_were_written() -> None:
    one = found("a", FAILS, "why", "ours")
    assert outcomes.read(json.loads(json.dumps(outcomes.write(one)))) == one
    assert one.failed == ["sends"]


@pytest.fixture
def checkouts(tmp_path: Path) -> Path:
    for place in ("one", "two/examples/three", "one/node_modules/four"):
        (tmp_path / place).mkdir(parents=True)
        (tmp_path / place / "langgraph.json").write_text('{"graphs": {"a": "./a.py:a"}, "dependencies": ["."]}')
    (tmp_path / "one" / ".commit").write_text("abc\n")
    return tmp_path


def test_every_langgraph_json_of_a_checkout_is_a_project(checkouts: Path) -> None:
    one, three = projects(checkouts)
    assert (one.name, one.commit, one.graphs) == ("one", "abc", ["a"])
    assert (three.name, three.key, three.root) == ("two/examples/three", "two+examples+three", checkouts / "two")


def test_inputs_are_optional(checkouts: Path) -> None:
    assert templates(checkouts) == {}
    (checkouts / "inputs.json").write_text('{"one": {"a": {"topic": "{text}"}}}')
    assert templates(checkouts)["one"]["a"] == {"topic": "{text}"}


def test_a_row_has_both_servers_in_each_cell(tmp_path: Path) -> None:
    place = Place(Project("a/b", tmp_path, tmp_path, ""), "agent", None, tmp_path, tmp_path, tmp_path)
    ours = {"starts": [WORKS, ""], "answers": [WORKS, "hi"], "latency": ["12 ms", ""]}
    place.outcome.write_text(json.dumps({"ours": ours, "theirs": {"starts": [FAILS, "why"]}}))
    none = "not tried / not tried"
    assert row(place) == f"| a/b | agent | NO / yes | not tried / yes | {none} | {none} | {none} | not tried / 12 ms |"


def test_a_question_of_the_agent_inbox_gets_an_answer_of_its_form() -> None:
    assert reply_to(["which?"]) == "yes"
    request = {"action_request": {"action": "send"}, "config": {"allow_ignore": False}}
    assert reply_to([[request]]) == [{"type": "accept", "args": None}]
    assert reply_to([{**request, "config": {"allow_ignore": True}}]) == [{"type": "ignore", "args": None}]
