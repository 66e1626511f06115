"""docs/clients.md is what the command would write of the results that are on it."""

import datetime

import msgspec
import pytest
from tests.e2e.clients.catalogue import ROOT
from tests.e2e.clients.hosts import FAILS, HOSTS, NO_API, SDKS, WORKS, Host, locked_version
from tests.e2e.clients.report import PAGE, Tried, expected_rows, found_rows, written
from tests.e2e.clients.scenarios import SCENARIOS

TODAY = datetime.date(2026, 11, 30)
HOST = msgspec.structs.replace(SDKS[0], faults={"asks": "It shows *no* question. Fault: theirs."}, settings="`x: y`")
KEY = f"| {HOST.package} | {HOST.release} | {HOST.version} | {HOST.binding} |"


def result(host: Host = HOST, **verdicts: str) -> Tried:
    return Tried(host=host, verdicts={name: verdicts.get(name, WORKS) for name in SCENARIOS})


def test_the_page_is_what_the_command_writes() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert written(page, [], HOSTS, today=TODAY) == page


def test_every_client_has_a_row_of_its_locked_version_with_what_is_expected() -> None:
    assert found_rows(PAGE.read_text(encoding="utf-8")) == expected_rows(HOSTS)


def test_each_reason_is_of_a_scenario_and_names_whose_fault_it_is() -> None:
    for host in HOSTS:
        assert {*host.faults, *host.cannot} <= set(SCENARIOS)
        assert all("Fault: " in why for why in host.faults.values()), host


def test_a_client_takes_the_place_of_its_row_and_leaves_the_others_with_their_dates() -> None:
    first = written("", [result(), result(SDKS[1])], [HOST, SDKS[1]], today=TODAY)
    later = written(first, [result(asks=FAILS, history=NO_API)], [HOST, SDKS[1]], today=datetime.date(2026, 12, 1))
    assert f"{KEY} yes | yes | yes | NO | yes | yes | yes | – | 2026-12-01 |\n" in later
    assert later.count("| 2026-11-30 |\n") == 1
    assert "It shows \\*no\\* question. Fault: theirs." in later
    assert f"{HOST.version} {HOST.binding}: `x: y`\n" in later


def test_the_row_of_a_client_that_is_no_more_is_dropped() -> None:
    first = written("", [result(), result(SDKS[1])], [HOST, SDKS[1]], today=TODAY)
    assert KEY not in written(first, [], [SDKS[1]], today=TODAY)


@pytest.mark.parametrize("lock", ["locks/client-sdk03.txt", "tests/e2e/clients/programs/js/sdk03/package-lock.json"])
def test_a_version_is_read_from_the_lock(lock: str) -> None:
    package = "@a2a-js/sdk" if lock.endswith("json") else "a2a-sdk"
    assert locked_version(package, ROOT / lock).startswith("0.3.")
    with pytest.raises(LookupError):
        locked_version("no-such-package", ROOT / lock)
