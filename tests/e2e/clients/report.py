"""docs/clients.md: a row for each client package, and whose fault what does not work.

A row is replaced when its client is tried again, and stays, with its date, when it is not.
"""

import datetime
from collections.abc import Iterable, Mapping, Sequence

import msgspec
from tests.e2e.clients.catalogue import ROOT
from tests.e2e.clients.hosts import Host
from tests.e2e.clients.scenarios import SCENARIOS
from tests.pages import Row, items, merged, plain, rows_of

PAGE = ROOT / "docs" / "clients.md"

_HEAD = f"""\
# Clients

Other people's clients, as they come, call an agent of `llamon serve` by their own public API
([tests/e2e/clients](../tests/README.md#clients-of-other-projects)). Each has an environment of its own, with locked
versions. The command that calls with all of them writes this page; `make test` calls with those that install quickly.

```sh
make clients-report                     # all of them; ARGS=--help what can be chosen
```

- **answers**: a call that waits shows the answer. **streams**: the first words are shown before the last are said, and
  in the end all are shown once.
- **remembers**: the second turn is in the first one's conversation. **asks**: a question is shown, and the next turn
  answers it.
- **fails**: a failed task is an error, or is shown with our text. **breaks off**: so is one that fails in the middle of
  its answer. **cancels**: the client's own method cancels the task.
- **history**: turns that the host sends as `metadata.history` come first.
- `–` is a client whose API has no way to do it.

Nothing of ours needs to be set but what is listed below; gRPC is `a2a.grpc`, on the card by its `card: true`.

| package | version | A2A | binding | {" | ".join(SCENARIOS)} | date |
|{"---|" * (5 + len(SCENARIOS))}
"""
_KEYS = 4
_COLUMNS = _KEYS + len(SCENARIOS) + 1


class Tried(msgspec.Struct, frozen=True, kw_only=True):
    """A host that was tried, with the verdict of each scenario."""

    host: Host
    verdicts: Mapping[str, str]


def written(page: str, tried: Iterable[Tried], hosts: Sequence[Host], *, today: datetime.date) -> str:
    """The page after these were tried, given what it was before. Only the listed hosts keep their rows."""
    listed = {tuple(_key(host)) for host in hosts}
    new = [[*_key(each.host), *(each.verdicts[name] for name in SCENARIOS), today.isoformat()] for each in tried]
    return _HEAD + merged(page, new, keys=_KEYS, columns=_COLUMNS, only=listed) + _settings(hosts) + _reasons(hosts)


def found_rows(page: str) -> dict[tuple[str, ...], Row]:
    """The verdicts on the page, by the row's key."""
    return {tuple(row[:_KEYS]): row[_KEYS:-1] for row in rows_of(page, _COLUMNS)}


def expected_rows(hosts: Iterable[Host]) -> dict[tuple[str, ...], Row]:
    """What the catalogue says of each, by the row's key."""
    return {tuple(_key(host)): [host.expected(name) for name in SCENARIOS] for host in hosts}


def _key(host: Host) -> Row:
    return [f"{host.package} {host.part}".strip(), host.release, host.version, host.binding]


def _settings(hosts: Sequence[Host]) -> str:
    texts = [f"{_named(host)}: {host.settings}" for host in hosts if host.settings]
    return _section("Settings of ours that they need", texts)


def _reasons(hosts: Sequence[Host]) -> str:
    """A reason is given once, for all that it is true of."""
    named: dict[str, tuple[dict[str, None], dict[str, None]]] = {}
    for host in hosts:
        for what, why in host.reasons.items():
            columns, clients = named.setdefault(why, ({}, {}))
            columns[what] = clients[_named(host)] = None
    texts = [f"**{', '.join(what)}** ({'; '.join(which)}): {plain(why)}" for why, (what, which) in named.items()]
    return _section("What does not work, and whose fault it is", texts)


def _named(host: Host) -> str:
    return f"{host.package} {host.release}, {host.version} {host.binding}"


def _section(title: str, texts: Sequence[str]) -> str:
    return f"\n## {title}\n\n{items(texts)}" if texts else ""
