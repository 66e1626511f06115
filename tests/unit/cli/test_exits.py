from pathlib import Path

import pytest

from llamon_agent.cli.exits import MEANINGS, Exit, Usage, exit_of
from llamon_agent.domain.errors import AgentError, BackendError, ConfigError, LlamonError

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (Usage("x"), Exit.USAGE),
        (ConfigError("x"), Exit.USAGE),
        (BackendError("x"), Exit.ENDED_BADLY),
        (AgentError("x"), Exit.ENDED_BADLY),
    ],
)
def test_an_error_comes_to_its_exit_code(error: LlamonError, code: Exit) -> None:
    assert exit_of(error) is code


def test_the_documented_exit_codes_are_these() -> None:
    documented = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    for code, meaning in MEANINGS.items():
        assert f"| {code.value} | {meaning} |" in documented
    assert set(MEANINGS) == set(Exit)
