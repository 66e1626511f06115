"""The lowest versions that pyproject.toml allows are those that `make floors` asks."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = ["model", "grpc", "postgres"]

_REQUIREMENT = re.compile(r"(?P<name>[a-z0-9-]+)(\[[a-z,]+\])?>=(?P<floor>[0-9.]+)(;.*)?")
_LOCKED = re.compile(r"^(?P<name>[a-z0-9-]+)==(?P<version>[0-9.]+)", re.MULTILINE)

OPTIONAL = PROJECT["optional-dependencies"]

ASKED = {
    "lowest.txt": [*PROJECT["dependencies"], *OPTIONAL["postgres"]],
    "lowest-extras.txt": [one for extra in EXTRAS for one in OPTIONAL[extra]],
}
"""Which floors each lock holds. All extras together ask for a newer LangGraph than the rest does alone."""

REQUIREMENTS = {(lock, one) for lock, asked in ASKED.items() for one in asked}


def locked(lock: str) -> dict[str, str]:
    text = (ROOT / "locks" / lock).read_text()
    return {found["name"]: found["version"] for found in _LOCKED.finditer(text)}


def release(version: str) -> list[int]:
    """A version as it compares: 2 is 2.0."""
    numbers = [int(number) for number in version.split(".")]
    while numbers[-1:] == [0]:
        numbers.pop()
    return numbers


@pytest.mark.parametrize(("lock", "requirement"), sorted(REQUIREMENTS))
def test_a_floor_is_the_version_that_is_asked(lock: str, requirement: str) -> None:
    wanted = _REQUIREMENT.fullmatch(requirement)
    assert wanted is not None, f"{requirement} has no floor"
    assert release(locked(lock)[wanted["name"]]) == release(wanted["floor"]), "another floor needs `make lock floors`"


def test_development_allows_what_the_project_does() -> None:
    found = filter(None, (_REQUIREMENT.fullmatch(one) for _, one in REQUIREMENTS))
    floors = {each["name"]: each["floor"] for each in found}
    dev = filter(None, map(_REQUIREMENT.fullmatch, OPTIONAL["dev"]))
    assert all(floors.get(found["name"], found["floor"]) == found["floor"] for found in dev)


def test_every_extra_is_asked() -> None:
    assert {*OPTIONAL} - {"dev", "build"} == {*EXTRAS}


def test_the_locks_name_no_place() -> None:
    assert not any("://" in (ROOT / "locks" / lock).read_text() for lock in ASKED)
