"""All rounds of a run: one edge on one data folder or database, which grows with every round."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from tests.crash.edge import Edge
from tests.crash.hosts import calling
from tests.crash.plan import plan_of
from tests.crash.rounds import Report, Round
from tests.crash.said import AGENTS
from tests.postgres_server import PostgresServer, running_postgres

StoreKind = Literal["sqlite", "postgres"]


async def crash(
    folder: Path, *, rounds: int, seed: int, tell: Callable[[int, Report], None], store: StoreKind = "sqlite"
) -> Report:
    """Run so many rounds, each with the next seed; `tell` is told of each."""
    report = Report()
    with _database(store) as database:
        edge = Edge(folder, _config(folder, database))
        await edge.start()
        async with calling(edge, AGENTS) as host:
            for number in range(rounds):
                edge.kill()
                await edge.died()
                plan = plan_of(seed + number, database=database is not None)
                found = await Round(edge, host, plan, database).run()
                tell(number, found)
                report += found
        edge.kill()
        await edge.died()
    return report


@contextmanager
def _database(store: StoreKind) -> Iterator[PostgresServer | None]:
    if store == "sqlite":
        yield None
        return
    with running_postgres() as server:
        yield server


def _config(folder: Path, database: PostgresServer | None) -> str:
    kept = f", postgres: {{url: '{database.url(database.make_database())}'}}" if database else ""
    agents = "".join(
        f"  {name}: {{adapter: {'custom' if name == 'plain' else 'langgraph'}, target: 'tests.crash.agents:{name}'}}\n"
        for name in AGENTS
    )
    return f"agents:\n{agents}data: {{folder: '{folder / 'data'}', lease_s: 1{kept}}}\n"
