"""What an operator reads when an agent's code cannot be loaded."""

from pathlib import Path

import pytest
from pydantic import BaseModel, Field, SecretStr, ValidationError, model_validator

from llamon_agent.adapters.imports.failure import explain, without_values

NOWHERE = "at a place that is not known"


class Unprintable(Exception):
    def __str__(self) -> str:
        raise RuntimeError


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (ValueError("no such model: tiny"), f"ValueError {NOWHERE}: no such model: tiny"),
        (ValueError("\n one.\n two"), f"ValueError {NOWHERE}: one"),
        (ValueError("a\x1b[31m\tb"), f"ValueError {NOWHERE}: a [31m b"),
        (KeyError("OPENAI_API_KEY"), f"KeyError {NOWHERE}: 'OPENAI_API_KEY'"),
        (SyntaxError("invalid syntax", ("a.py", 3, 1, "(")), "SyntaxError at a.py:3: invalid syntax"),
        (SystemExit("Set a key"), f"SystemExit {NOWHERE}: Set a key"),
        (ValueError(), f"ValueError {NOWHERE}"),
        (Unprintable(), f"Unprintable {NOWHERE}"),
        (ValueError("x" * 201), f"ValueError {NOWHERE}: {'x' * 199}…"),
        (ValueError("x" * 200), f"ValueError {NOWHERE}: {'x' * 200}"),
    ],
)
def test_an_error_is_its_kind_its_place_and_the_first_line_of_its_text(error: BaseException, line: str) -> None:
    assert explain(error) == line


class Settings(BaseModel):
    api_key: SecretStr = Field(max_length=3)
    limits: dict[str, int]
    model: str

    @model_validator(mode="before")
    @classmethod
    def check(cls, values: dict[str, object]) -> object:
        if not values:
            raise ValueError("give me something")
        return values


@pytest.mark.parametrize(
    ("values", "text"),
    [
        (
            {"api_key": "a secret", "limits": {}},
            "api_key: Value should have at most 3 items after validation, not 8; model: Field required",
        ),
        (
            {"limits": {"day": "a secret"}, "api_key": "x", "model": "m"},
            "limits.day: Input should be a valid integer, unable to parse string as an integer",
        ),
        ({}, "Value error, give me something"),
    ],
)
def test_a_refused_value_of_pydantic_is_not_shown(values: dict[str, object], text: str) -> None:
    with pytest.raises(ValidationError) as raised:
        Settings.model_validate(values)
    said = explain(raised.value).partition(": ")[2]
    assert said == text
    assert "a secret" not in said


@pytest.mark.parametrize(
    ("text", "value", "shown"),
    [
        ("bad key sk-1234567", "sk-1234567", "bad key $KEY"),
        ("keysk-1234567s", "sk-1234567", "key$KEYs"),
        ("the test of latest", "test", "the $KEY of latest"),
        ("takes 1 argument", "1", "takes 1 argument"),
        ("'pass\\\\word\\n'", "pass\\word\n", "'$KEY'"),
        ('"pass\\"word"', 'pass"word', '"$KEY"'),
        ("line second1 of it", "first\nsecond1\n", "line $KEY of it"),
        ("no user with s3cret", "postgresql://me:s3cret@db/x", "no user with $KEY"),
        ("postgresql://me:s3cret@db/x", "postgresql://me:s3cret@db/x", "$KEY"),
        ("as it is", "http://[", "as it is"),
    ],
)
def test_no_value_of_a_variable_is_shown(text: str, value: str, shown: str) -> None:
    assert without_values(text, {"KEY": value}) == shown


def test_the_path_of_a_folder_is_no_secret(tmp_path: Path) -> None:
    """Else a text about a file would name `$OLDPWD`."""
    (tmp_path / "key.txt").touch()
    text = f"cannot import name 'a' from 'b' ({tmp_path}/b.py), {tmp_path}/key.txt"
    assert without_values(text, {"PWD": str(tmp_path)}) == text
    assert without_values(text, {"KEY_FILE": f"{tmp_path}/key.txt"}).endswith(", $KEY_FILE")


def test_without_variables_a_text_stays() -> None:
    assert without_values("text", {}) == "text"


def test_a_value_at_the_cut_is_hidden_as_a_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SAMPLE_KEY", "sk-1234567890")
    said = explain(ValueError("x" * 190 + " sk-1234567890"))
    assert said.endswith("x $SAMPLE_…")
