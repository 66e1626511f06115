from pathlib import Path

import pytest

from llamon_agent.config.file import KeyPath, Source, dotted, read_file
from llamon_agent.domain.errors import ConfigError


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return Path("edge.yaml")


def test_every_key_has_its_line(path: Path) -> None:
    path.write_text("a:\n  b: 1\n\n  c:\n    - x: 1\n    - y: 2\n", encoding="utf-8")
    source = read_file(path)
    assert source.values == {"a": {"b": 1, "c": [{"x": 1}, {"y": 2}]}}
    assert source.place(("a", "b")) == "edge.yaml:2"
    assert source.place(("a", "c", 1, "y")) == "edge.yaml:6"


def test_a_missing_key_is_placed_where_it_would_stand(path: Path) -> None:
    path.write_text("a:\n  b: 1\n", encoding="utf-8")
    assert read_file(path).place(("a", "missing")) == "edge.yaml:1"
    assert read_file(path).place(("missing",)) == "edge.yaml"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a:\n  b: [1\nc: 2\n", "edge.yaml:3: this is not YAML"),
        ("a: 1\n b: 2\n", "edge.yaml:2: this is not YAML"),
        ("a: !!python/object/apply:os.getcwd []\n", "edge.yaml:1: this is not YAML"),
        ("a: 2024-13-45\n", "edge.yaml: this is not YAML text"),
        ("a: \x01\n", "edge.yaml: this is not YAML text"),
        ("a: 1\nb: 2\na: 3\n", "edge.yaml:3: a is given twice"),
        ("a:\n  - b: 1\n    b: 2\n", "edge.yaml:3: a[0].b is given twice"),
        ("- a\n", "edge.yaml: the file must hold sections"),
        ("just text", "edge.yaml: the file must hold sections"),
        ("a: 1\n---\nb: 2\n", "edge.yaml:2: this is not YAML"),
    ],
)
def test_text_that_is_no_configuration_is_reported_with_its_line(path: Path, text: str, words: str) -> None:
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        read_file(path)
    assert caught.value.public.startswith(words)


@pytest.mark.parametrize("text", ["", "# nothing\n", "---\n"])
def test_an_empty_file_has_no_values(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
    assert read_file(path).values == {}


def test_nesting_without_end_is_no_yaml(path: Path) -> None:
    path.write_text("[" * 20_000, encoding="utf-8")
    with pytest.raises(ConfigError):
        read_file(path)


def test_aliases_of_aliases_stay_cheap(path: Path) -> None:
    levels = [f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 9)}]" for n in range(1, 12)]
    path.write_text("\n".join(["l0: &l0 [x]", *levels, "self: &s [*s]"]), encoding="utf-8")
    assert read_file(path).place(("l11",)) == "edge.yaml:12"


def test_a_missing_file_names_the_option(path: Path) -> None:
    with pytest.raises(ConfigError, match=r"edge\.yaml: there is no such file; name another with --config"):
        read_file(path)


def test_a_folder_and_other_text_are_reported(path: Path) -> None:
    path.mkdir()
    with pytest.raises(ConfigError, match="cannot be read"):
        read_file(path)
    path.rmdir()
    path.write_bytes(b"a: \xff")
    with pytest.raises(ConfigError, match="not UTF-8"):
        read_file(path)


def test_a_source_knows_what_it_says() -> None:
    source = Source(name="x", values={"a": {"b": [1, {"c": None}]}}, lines={})
    says: list[KeyPath] = [(), ("a",), ("a", "b", 0), ("a", "b", 1, "c")]
    says_not: list[KeyPath] = [("b",), ("a", "b", 2), ("a", "b", 0, "c"), ("a", "b", "c")]
    assert all(source.has(path) for path in says)
    assert not any(source.has(path) for path in says_not)


def test_a_path_is_written_as_people_write_it() -> None:
    assert dotted(("agents", "demo", "skills", 0, "id")) == "agents.demo.skills[0].id"
