"""LangGraph threads in a Postgres database; the threads of each agent are separate.

All agents share LangGraph's own tables: a schema for each would need connections of its own for each, and settings of a
session, which poolers do not keep. So a thread's id in the database is `AGENT:THREAD`. The graph never sees that: its
nodes see the thread id of the call.

LangGraph writes plain texts and numbers of a state into the checkpoint's jsonb, and all other values as bytes to
another table. Postgres does not take every text and number as JSON. Those are written as bytes, too, so a state comes
back unchanged.
"""

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager, nullcontext
from math import isfinite
from typing import TYPE_CHECKING, Any

import msgspec
import psycopg
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    get_checkpoint_id,
)
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from psycopg_pool import AsyncConnectionPool

from llamon_agent.adapters.langgraph.checkpoints.access import NOT_KEPT, Access, FreeAccess, write_patiently
from llamon_agent.adapters.langgraph.checkpoints.postgres_groups import REFUSED, PostgresGroups
from llamon_agent.adapters.langgraph.checkpoints.pruning import MOST_AT_ONCE, Metadata, PrunedSaver, Saved, unneeded
from llamon_agent.adapters.langgraph.checkpoints.serializer import serializer
from llamon_agent.adapters.langgraph.checkpoints.statements import Statement, TakenStatements
from llamon_agent.domain.errors import AgentError, ConfigError

if TYPE_CHECKING:
    from langgraph.checkpoint.base import DeltaChannelHistory  # not in all versions that are allowed

_SAVED = """
select checkpoint_ns, checkpoint_id, parent_checkpoint_id, metadata, checkpoint -> 'channel_versions' as versions
from checkpoints where thread_id = %(thread_id)s and %(small_bytes)s <=
  (select coalesce(sum(pg_column_size(checkpoint)), 0) from checkpoints where thread_id = %(thread_id)s)
  + (select coalesce(sum(octet_length(blob)), 0) from checkpoint_blobs where thread_id = %(thread_id)s)
"""

_THREADS = "select distinct thread_id from checkpoints where starts_with(thread_id, %s)"

_AGENTS = "select distinct split_part(thread_id, ':', 1) as agent from checkpoints order by agent"

_DELETE = """
with
  gone as (select * from unnest(%(namespaces)s::text[], %(ids)s::text[]) as gone (namespace, id)),
  unused as (
    select * from unnest(%(blob_namespaces)s::text[], %(channels)s::text[], %(versions)s::text[])
      as unused (namespace, channel, version)
  ),
  writes as (
    delete from checkpoint_writes using gone
    where thread_id = %(thread_id)s and checkpoint_ns = namespace and checkpoint_id = id
  ),
  blobs as (
    delete from checkpoint_blobs as blob using unused
    where thread_id = %(thread_id)s and checkpoint_ns = namespace
      and blob.channel = unused.channel and blob.version = unused.version
  )
delete from checkpoints using gone
where thread_id = %(thread_id)s and checkpoint_ns = namespace and checkpoint_id = id
"""
"""One statement, so that all of it happens or nothing."""


async def open_postgres_checkpoints(
    pool: AsyncConnectionPool[Any],
    *,
    agent: str,
    lock: AbstractAsyncContextManager[object],
    pipeline: bool,
    access: Access | None = None,
    past_turns: int | None = 1,
) -> "AgentPostgresSaver":
    """The checkpointer for an agent's graph, in a database whose connections commit by themselves.

    Shape:  lock keeps others from changing the database's schema while the block runs; pipeline says whether statements
            may be sent without waiting for the answers to earlier ones; past_turns counts the turns whose checkpoints
            are kept besides the newest one's, None keeps all.
    Raises: ConfigError: LangGraph's tables do not exist and cannot be made.
    """
    saver = AgentPostgresSaver(pool, agent=agent, pipeline=pipeline, access=access or FreeAccess())
    saver.past_turns = past_turns
    try:
        async with lock:
            await saver.setup()
    except psycopg.Error as exc:
        raise ConfigError(
            "data.postgres: LangGraph's tables cannot be made or changed: "
            "grant this user create on the schema, and make it the tables' owner."
        ) from exc
    return saver


class AgentPostgresSaver(AsyncPostgresSaver, PrunedSaver):
    """A checkpointer that puts its agent's name before every thread's id, and that commits in groups."""

    def __init__(self, pool: AsyncConnectionPool[Any], *, agent: str, pipeline: bool, access: Access) -> None:
        super().__init__(pool, serde=serializer())
        self._agent = agent
        self._access = access
        self.supports_pipeline = self.supports_pipeline and pipeline
        self._groups = PostgresGroups(pool, pipeline=self.supports_pipeline)
        self._statements = _Statements()
        # It guards a single connection; here each call has its own, and threads need not wait for each other.
        self.lock = nullcontext()  # type: ignore[assignment]

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        with self._access.reading():
            found = await super().aget_tuple(self._inner(config))
        return None if found is None else self._outer_tuple(found)

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,  # noqa: A002 -- the library's name
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        inner = None if config is None else self._inner(config)
        with self._access.reading():
            async for found in super().alist(inner, filter=filter, before=before, limit=limit):
                if found.config["configurable"]["thread_id"].startswith(self._prefix):
                    yield self._outer_tuple(found)

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        whole = checkpoint["channel_values"]
        values = {channel: value if _is_json(value) else _AsBytes(value) for channel, value in whole.items()}
        inner: Checkpoint = {**checkpoint, "channel_values": values}
        saver = self._inner_saver
        saved = saver.put(self._inner(config), inner, metadata, new_versions)
        await self._write(saver.take())
        return self._outer(saved)

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        saver = self._inner_saver
        saver.put_writes(self._inner(config), writes, task_id, task_path)
        await self._write(saver.take())

    async def adelete_thread(self, thread_id: str) -> None:
        saver = self._inner_saver
        saver.delete_thread(self._inner_id(thread_id))
        await self._write(saver.take())

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        with self._access.writing():
            await super().aprune([self._inner_id(thread_id) for thread_id in thread_ids], strategy=strategy)

    async def prune_thread(self, thread_id: str, *, completed: str | None) -> bool:
        if self.past_turns is None:
            return False
        inner_id = self._inner_id(thread_id)
        with self._access.reading():
            async with self._cursor() as cursor:
                await cursor.execute(_SAVED, {"thread_id": inner_id, "small_bytes": self.small_bytes})
                rows = await cursor.fetchall()
        gone = unneeded(map(_read_saved, rows), past_turns=self.past_turns, completed=completed)
        if gone:
            deletion = _deletion(inner_id, rows, gone[:MOST_AT_ONCE])
            await self._write([(_DELETE, [deletion])])
        return len(gone) > MOST_AT_ONCE

    async def thread_ids(self) -> list[str]:
        with self._access.reading():
            async with self._cursor() as cursor:
                await cursor.execute(_THREADS, (self._prefix,))
                return [self._outer_id(row["thread_id"]) for row in await cursor.fetchall()]

    async def agents(self) -> list[str]:
        """All agents with threads in the database."""
        with self._access.reading():
            async with self._cursor() as cursor:
                await cursor.execute(_AGENTS)
                return [row["agent"] for row in await cursor.fetchall()]

    async def aget_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, "DeltaChannelHistory"]:
        if not get_checkpoint_id(config):  # else it would be looked up with an id that has the name already
            found = await self.aget_tuple(config)
            if found is None:
                return {channel: {"writes": []} for channel in channels}
            config = found.config
        with self._access.reading():
            return await super().aget_delta_channel_history(config=self._inner(config), channels=channels)

    async def _write(self, statements: Sequence[Statement]) -> None:
        """The one place of every write. Raises: BackendError; AgentError, if the database works but refuses a value."""

        async def once() -> psycopg.Error | None:
            try:
                await self._groups.write(statements)
            except REFUSED as exc:
                return exc
            return None

        refused = await write_patiently(self._access, once)
        if refused is not None:
            raise AgentError(NOT_KEPT) from refused

    @property
    def _inner_saver(self) -> "_Statements":
        """LangGraph's saver, with this one's serializer: the copy that LangGraph makes of this one has another."""
        self._statements.serde = self.serde
        return self._statements

    @property
    def _prefix(self) -> str:
        return f"{self._agent}:"

    def _inner_id(self, thread_id: str) -> str:
        """The id in the database, where text has every character but U+0000. No two threads become one."""
        return self._prefix + thread_id.replace("\\", "\\\\").replace("\0", "\\0")

    def _inner(self, config: RunnableConfig) -> RunnableConfig:
        configurable = config["configurable"]
        inner = {**configurable, "thread_id": self._inner_id(configurable["thread_id"])}
        return {**config, "configurable": inner}

    def _outer(self, config: RunnableConfig) -> RunnableConfig:
        configurable = config["configurable"]
        outer_id = self._outer_id(configurable["thread_id"])
        return {**config, "configurable": {**configurable, "thread_id": outer_id}}

    def _outer_id(self, thread_id: str) -> str:
        inner_id = thread_id.removeprefix(self._prefix)
        return "\\".join(part.replace("\\0", "\0") for part in inner_id.split("\\\\"))

    def _outer_tuple(self, found: CheckpointTuple) -> CheckpointTuple:
        parent = None if found.parent_config is None else self._outer(found.parent_config)
        return found._replace(config=self._outer(found.config), parent_config=parent)


class _Statements(PostgresSaver):
    """LangGraph's saver for code that is not async, without a connection: what it would write can be taken from it."""

    def __init__(self) -> None:
        super().__init__(None)  # type: ignore[arg-type]
        self._taken = TakenStatements()

    @contextmanager
    def _cursor(self, *, pipeline: bool = False) -> Iterator[Any]:  # noqa: ARG002 -- the library's name
        self._taken = TakenStatements()
        yield self._taken

    def take(self) -> Sequence[Statement]:
        """What the last call would have written."""
        return self._taken.statements

    def _dump_blobs(
        self, thread_id: str, checkpoint_ns: str, values: dict[str, Any], versions: ChannelVersions
    ) -> list[tuple[str, str, str, str, str, bytes | None]]:
        plain = {channel: value.value if type(value) is _AsBytes else value for channel, value in values.items()}
        return super()._dump_blobs(thread_id, checkpoint_ns, plain, versions)


class _AsBytes:
    """A value that is written as bytes, and not into the checkpoint's JSON."""

    __slots__ = ("value",)

    def __init__(self, value: object) -> None:
        self.value = value


def _is_json(value: object) -> bool:
    """Whether a value, if it is a text or a number, can be in jsonb and be read again: Python reads no number of more
    than 4300 digits, and then the thread could not be read. Source: PostgreSQL §8.14 (JSON types).
    """
    if isinstance(value, int):
        return value.bit_length() < 64
    if isinstance(value, float):
        return isfinite(value)
    if not isinstance(value, str):
        return True
    try:
        return b"\0" not in value.encode()
    except UnicodeEncodeError:  # a lone surrogate
        return False


def _read_saved(row: Mapping[str, Any]) -> Saved:
    metadata = msgspec.convert(row["metadata"], Metadata)
    return Saved(row["checkpoint_ns"], row["checkpoint_id"], row["parent_checkpoint_id"], metadata)


def _deletion(inner_id: str, rows: Sequence[Mapping[str, Any]], gone: Sequence[Saved]) -> dict[str, Any]:
    """What to delete: checkpoints with their writes, and the blobs that only these use.

    Blobs are named one by one: of a run that begins meanwhile there may be blobs already, and no checkpoint yet.
    """
    keys = {(each.namespace, each.id) for each in gone}
    freed, used = set[tuple[str, str, str]](), set[tuple[str, str, str]]()
    for row in rows:
        namespace = row["checkpoint_ns"]
        blobs = freed if (namespace, row["checkpoint_id"]) in keys else used
        blobs |= {(namespace, channel, str(version)) for channel, version in (row["versions"] or {}).items()}
    unused = sorted(freed - used)
    return {
        "thread_id": inner_id,
        "namespaces": [each.namespace for each in gone],
        "ids": [each.id for each in gone],
        "blob_namespaces": [namespace for namespace, _, _ in unused],
        "channels": [channel for _, channel, _ in unused],
        "versions": [version for _, _, version in unused],
    }
