"""A value that a store cannot keep has the same result in memory, in SQLite and in Postgres, and is no outage."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.contract.task_store import next_of
from tests.postgres_server import PostgresServer
from tests.properties.odd_values import TEXTS, VALUES, result, three_stores

from llamon_agent.domain.message import Data, Message, Raw, Role, Text, Url
from llamon_agent.domain.task import Artifact, PushConfig, Task, TaskPushConfig, TaskQuery, TaskState, TaskStatus
from llamon_agent.runs.ports.agent import Turn
from llamon_agent.runs.ports.store import IdempotencyKey, Store

parts = st.one_of(
    st.builds(Text, text=TEXTS, filename=TEXTS),
    st.builds(Raw, data=st.binary(max_size=4), media_type=TEXTS),
    st.builds(Url, url=TEXTS),
    st.builds(Data, data=VALUES, metadata=st.dictionaries(TEXTS, VALUES, max_size=1)),
).map(lambda part: (part,))
objects = st.none() | st.dictionaries(TEXTS, VALUES, max_size=1)
messages = st.builds(
    Message, message_id=TEXTS, role=st.just(Role.USER), parts=parts, metadata=objects, context_id=TEXTS
)
NAMES = st.sampled_from(["a", "b"]) | TEXTS


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """What is kept, and asked for."""

    task: Task
    turn: Turn | None
    key: IdempotencyKey
    push: TaskPushConfig
    other: str

    def __repr__(self) -> str:
        try:
            return f"Case({self.task!r}, {self.turn!r}, {self.key!r}, {self.push!r}, {self.other!r})"
        except (RecursionError, ValueError):  # Python itself does not print such values
            return "Case(an extreme value)"


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Mostly fine, with one or two odd places: else all that is seen is the first refusal."""
    odd = iter(draw(st.permutations([True] * 2 + [False] * 12)))

    def some(strategy: st.SearchStrategy[Any], plain: Any) -> Any:
        return draw(strategy) if next(odd) else plain

    task_id, owner, context_id = some(NAMES, "t"), some(NAMES, "ann"), some(NAMES, "c")
    fine = Message(message_id="m", role=Role.USER, parts=(Text.of("x"),))
    message = some(messages, fine)
    artifact = some(st.builds(Artifact, artifact_id=TEXTS, parts=parts, name=TEXTS, metadata=objects), None)
    task = Task(
        id=task_id,
        context_id=context_id,
        owner=owner,
        agent=some(NAMES, "demo"),
        status=TaskStatus(state=TaskState.WORKING, at_ms=1, message=some(messages, None)),
        seq=1,
        created_ms=1,
        history=(message,),
        artifacts=() if artifact is None else (artifact,),
        metadata=some(objects, None),
    )
    turn = Turn(
        task_id=task_id,
        context_id=context_id,
        thread_id=some(NAMES, "thread"),
        session_id="s",
        message=message,
        prompt=some(TEXTS, "x"),
    )
    key = IdempotencyKey(value=some(NAMES, "key"), digest="d", at_ms=1)
    config = some(
        st.builds(PushConfig, id=NAMES, url=TEXTS, version=st.just("1.0"), token=TEXTS, credentials=TEXTS),
        PushConfig(id="p", url="https://hooks.example", version="1.0"),
    )
    push = TaskPushConfig(owner=owner, agent=task.agent, task_id=task_id, config=config)
    return Case(task=task, turn=turn, key=key, push=push, other=some(NAMES, "t"))


async def lived(store: Store, case: Case) -> list[object]:
    """Every operation with the case's values, in the order of a task's life; what came of each."""
    task, push, who = case.task, case.push, (case.task.owner, case.task.agent)
    query = TaskQuery(owner=task.owner, agent=task.agent)
    in_context = msgspec.structs.replace(query, context_id=task.context_id, after=(9, case.other))
    done = next_of(task, TaskState.COMPLETED)
    calls: list[Callable[[], Awaitable[object]]] = [
        partial(store.create, task, turn=case.turn, key=case.key),
        partial(store.get, *who, task.id),
        partial(store.get, *who, case.other),
        partial(store.list, query),
        partial(store.list, in_context),
        partial(store.paused_in, *who, task.context_id),
        partial(store.find_key, *who, case.key.value),
        partial(store.put_push, push),
        partial(store.list_push, *who, task.id),
        partial(store.save, done, expect=1),
        partial(store.mark_delivered, task.id, push.config.id, 1),
        partial(store.undelivered),
        partial(store.delete_push, *who, task.id, case.other),
        partial(store.delete_push, *who, task.id, push.config.id),
        partial(store.get, *who, task.id),
        partial(store.prune, before_ms=9, limit=9),
    ]
    came = [await result(call) for call in calls]
    await store.reached()
    return came


@pytest.fixture(scope="module")
def stores(
    postgres: PostgresServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[asyncio.Runner, tuple[Store, ...]]]:
    yield from three_stores(postgres, tmp_path_factory.mktemp("stores"))


@settings(max_examples=150)
@given(cases())
def test_every_store_keeps_and_refuses_the_same(stores: tuple[asyncio.Runner, tuple[Store, ...]], case: Case) -> None:
    runner, all_three = stores
    in_memory, in_sqlite, in_postgres = [runner.run(lived(store, case)) for store in all_three]
    assert in_sqlite == in_memory
    assert in_postgres == in_memory
