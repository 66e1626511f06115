"""Which checkpoints of a thread no later turn needs.

Theory. LangGraph saves the whole state after each step and keeps all of that. When a run has ended, the next turn reads
the newest checkpoint only; those before it serve to go back to, and to recover the run itself. So what is kept is:

- the last checkpoint of the newest turn, and of as many turns before it as the configuration says;
- the one before the last task's checkpoints: what is new since then is that task's answer, should the store have lost
  the record of its end;
- all of the last task's checkpoints, unless that task was completed: `resume.past_of` and a pending question read them;
- of a subgraph with a memory of its own, the newest checkpoint, and the newest one before each that is kept of the
  graph: LangGraph goes back to that one if a turn begins from there. Source: langgraph's ReplayState;
- of the call of any other subgraph, all or nothing: it is needed while the step that made the call is kept;
- of a channel that saves changes (DeltaChannel), all checkpoints back to the one that has the whole value.

A kept checkpoint may name a parent that is gone. LangGraph takes that for the beginning of the thread.

Rules. The oldest go first, so that a thread of which only some were deleted keeps the same ones at the next try. A new
run may begin meanwhile: it goes on from the newest checkpoint, which is always kept, and it adds only newer ones.
"""

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import pairwise

import msgspec

MOST_AT_ONCE = 200
"""How many checkpoints are deleted in one write, so that the writes of other threads do not wait for long."""

OF_A_RUN = ("input", "loop")
"""The sources of checkpoints that a run has made. Source: langgraph CheckpointMetadata."""

_IS_CALL = ":"
"""In a namespace: a subgraph's call, whose name ends in the id of its task. Source: langgraph's NS_END."""


class Metadata(msgspec.Struct, frozen=True):
    """What LangGraph and a run's config have written about a checkpoint, as far as it counts here.

    Shape: parents has, under "", the checkpoint of the graph in whose step a subgraph was called;
           counters_since_delta_snapshot names the channels whose whole value is in an earlier checkpoint.
    Source: langgraph CheckpointMetadata.
    """

    source: str = ""
    task_id: str | None = None
    parents: dict[str, str] = {}
    counters_since_delta_snapshot: dict[str, object] = {}


class Saved(msgspec.Struct, frozen=True):
    """A checkpoint of a thread. Shape: ids sort by time; parent is the id of the one it was made from."""

    namespace: str
    id: str
    parent: str | None
    metadata: Metadata

    @property
    def is_of_a_run(self) -> bool:
        return self.metadata.source in OF_A_RUN


class PrunedSaver(ABC):
    """A checkpointer of this edge's own: no other one's threads are pruned.

    Shape: past_turns as for `unneeded`; None keeps every checkpoint.
    Units: small_bytes is the size of a thread for which a write is too dear: a smaller one is left as it is.
    """

    past_turns: int | None = 1
    small_bytes = 32_000

    @abstractmethod
    async def prune_thread(self, thread_id: str, *, completed: str | None) -> bool:
        """Delete some of what no later turn of a thread needs. See runs.ports.PrunesThreads."""

    @abstractmethod
    async def thread_ids(self) -> list[str]:
        """The threads that are kept here."""


def unneeded(saved: Iterable[Saved], *, past_turns: int, completed: str | None) -> list[Saved]:
    """The checkpoints of a thread that can go, the oldest first.

    Shape: past_turns counts the turns before the newest one that can be gone back to; completed is the id of the task
           that has just come to its end. If the newest run is another task's, that one may still be going on.
    """
    by_namespace: dict[str, list[Saved]] = defaultdict(list)
    for each in sorted(saved, key=lambda each: each.id):
        by_namespace[each.namespace].append(each)
    graph = by_namespace.pop("", [])
    if not graph:
        return []
    kept = {each.id for each in _kept_of_graph(graph, past_turns, completed)}
    gone = _without(graph, kept)
    for namespace, of_subgraph in by_namespace.items():
        gone += _without(of_subgraph, _kept_of_subgraph(of_subgraph, kept, is_call=_IS_CALL in namespace))
    return sorted(gone, key=lambda each: each.id)


def _kept_of_graph(graph: Sequence[Saved], past_turns: int, completed: str | None) -> list[Saved]:
    task_id, begin = _last_task(graph)
    is_over = completed is not None and task_id == completed
    of_last_task = graph[-1:] if is_over else graph[begin:]
    return [*_ends_of_turns(graph)[-1 - past_turns :], *graph[:begin][-1:], *of_last_task]


def _ends_of_turns(graph: Sequence[Saved]) -> list[Saved]:
    """The last checkpoint of each turn. A turn begins with an input, or after checkpoints that were pruned."""
    ids = {each.id for each in graph}
    ends = [before for before, each in pairwise(graph) if each.metadata.source == "input" or each.parent not in ids]
    return [*ends, graph[-1]]


def _last_task(graph: Sequence[Saved]) -> tuple[str | None, int]:
    """The task of the newest run, and the index of its first checkpoint, as `resume.past_of` finds them."""
    begin = len(graph)
    while begin and not graph[begin - 1].is_of_a_run:  # the thread was repaired afterwards
        begin -= 1
    task_id = graph[begin - 1].metadata.task_id if begin else None
    while begin and graph[begin - 1].is_of_a_run and graph[begin - 1].metadata.task_id == task_id:
        begin -= 1
    return task_id, begin


def _kept_of_subgraph(of_subgraph: Sequence[Saved], kept_of_graph: set[str], *, is_call: bool) -> set[str]:
    kept = {each.id for each in of_subgraph if each.metadata.parents.get("") in kept_of_graph}
    if is_call:
        return kept | {each.id for each in of_subgraph if "" not in each.metadata.parents}
    for limit in kept_of_graph:
        kept |= {each.id for each in [each for each in of_subgraph if each.id < limit][-1:]}
    return kept | {of_subgraph[-1].id}


def _without(saved: Sequence[Saved], kept: set[str]) -> list[Saved]:
    """Those that are neither kept, nor hold a part of a kept one's state."""
    by_id = {each.id: each for each in saved}
    needed = set(kept)
    for each in kept:
        needed |= _holding_state_of(each, by_id)
    return [each for each in saved if each.id not in needed]


def _holding_state_of(checkpoint_id: str, by_id: dict[str, Saved]) -> set[str]:
    """The ancestors that hold what a checkpoint's channels of changes are made of."""
    found: set[str] = set()
    at = by_id.get(checkpoint_id)
    channels = set(at.metadata.counters_since_delta_snapshot) if at else set()
    while at is not None and channels and at.parent not in found:
        at = by_id.get(at.parent or "")
        if at is not None:
            found.add(at.id)
            channels &= at.metadata.counters_since_delta_snapshot.keys()
    return found
