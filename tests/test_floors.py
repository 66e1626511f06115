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

REQUIREMENTS = {*PROJECT["dependencies"], *(one for extra in EXTRAS for one in PROJECT["optional-dependencies"][extra])}
LOCKED = {found["name"]: found["version"] for found in _LOCKED.finditer((ROOT / "locks" / "lowest.txt").read_text())}


def release(version: str) -> list[int]:
    """A version as it compares: 2 is 2.0."""
    numbers = [int(number) for number in version.split(".")]
    while numbers[-1:] == [0]:
        numbers.pop()
    return numbers


@pytest.mark.parametrize("requirement", sorted(REQUIREMENTS))
def test_a_floor_is_the_version_that_is_asked(requirement: str) -> None:
    wanted = _REQUIREMENT.fullmatch(requirement)
    assert wanted is not None, f"{requirement} has no floor"
    assert release(LOCKED[wanted["name"]]) == release(wanted["floor"]), "another floor needs `make lock floors`"


def test_development_allows_what_the_project_does() -> None:
    floors = {found["name"]: found["floor"] for found in map(_REQUIREMENT.fullmatch, REQUIREMENTS) if found}
    dev = filter(None, map(_REQUIREMENT.fullmatch, PROJECT["optional-dependencies"]["dev"]))
    assert all(floors.get(found["name"], found["floor"]) == found["floor"] for found in dev)


def test_every_extra_is_asked() -> None:
    assert {*PROJECT["optional-dependencies"]} - {"dev", "build"} == {*EXTRAS}


def test_the_lock_names_no_place() -> None:
    assert "://" not in (ROOT / "locks" / "lowest.txt").read_text()
