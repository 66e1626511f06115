"""What the served agents say and do for a message, so that both they and whoever checks them know it.

A message is a single word, its *token*, which no other message of a run of the harness has. An agent answers with the
tokens that it has heard in the thread, and then with words that no other answer has: what is lost, doubled or mixed up
shows in the text.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

WORDS = 12
SLOW_WORDS = 60
"""How many words there are in an answer; in those of the slow agent."""

STAGES: dict[str, tuple[frozenset[str], ...]] = {
    "steps": (frozenset({"first"}), frozenset({"second"}), frozenset({"third"})),
    "tools": (frozenset({"note", "file"}), frozenset({"carry"})),
    "asking": (frozenset({"prepare"}), frozenset({"carry_out"})),
    "plain": (frozenset({"only"}),),
    "slow": (),
}
"""What each agent does for a message, stage by stage. A stage begins when the nodes of the one before have finished."""

AGENTS = tuple(STAGES)
RECOVERING = frozenset(AGENTS) - {"plain"}
"""Those that go on after their process has died; `plain` is a custom agent, which cannot."""

_ANSWER = re.compile(r"heard(?P<heard>(?: [^\s;]+)*); (?P<words>.*)")


class Answer(NamedTuple):
    """An answer, taken apart: the tokens of the thread, and the words for the last of them."""

    heard: tuple[str, ...]
    words: str


def words_of(agent: str, token: str) -> str:
    """The words for a token."""
    return " ".join(f"{token}.{number}" for number in range(SLOW_WORDS if agent == "slow" else WORDS))


def answer_to(agent: str, heard: Sequence[str]) -> str:
    """The whole answer in a thread that has heard these tokens, the last of which is answered."""
    return f"{' '.join(('heard', *heard))}; {words_of(agent, heard[-1])}"


def read_answer(text: str) -> Answer | None:
    """The answer taken apart; None where it is none, or not even its first words are whole."""
    found = _ANSWER.fullmatch(text)
    return Answer(tuple(found["heard"].split()), found["words"]) if found else None


def stage_of(agent: str, step: str) -> int:
    """In which stage a step is done."""
    return next(number for number, steps in enumerate(STAGES[agent]) if step in steps)
