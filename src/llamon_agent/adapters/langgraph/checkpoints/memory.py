"""LangGraph threads in memory, pruned like those that are stored."""

from collections.abc import Iterator
from typing import Any

import msgspec
from langgraph.checkpoint.memory import InMemorySaver

from llamon_agent.adapters.langgraph.checkpoints.pruning import Metadata, PrunedSaver, Saved, unneeded
from llamon_agent.adapters.langgraph.checkpoints.serializer import serializer


class PrunedMemory(InMemorySaver, PrunedSaver):
    """LangGraph's checkpointer in memory."""

    def __init__(self) -> None:
        super().__init__(serde=serializer())

    async def thread_ids(self) -> list[str]:
        return list(self.storage)

    async def prune_thread(self, thread_id: str, *, completed: str | None) -> bool:
        if self.past_turns is None or thread_id not in self.storage:
            return False
        gone = unneeded(self._saved(thread_id), past_turns=self.past_turns, completed=completed)
        freed = {blob for each in gone for blob in self._blobs_of(thread_id, each.namespace, each.id)}
        for each in gone:
            del self.storage[thread_id][each.namespace][each.id]
            self.writes.pop((thread_id, each.namespace, each.id), None)
        for namespace, checkpoints in list(self.storage[thread_id].items()):
            if not checkpoints:
                del self.storage[thread_id][namespace]
            for checkpoint_id in checkpoints:
                freed -= self._blobs_of(thread_id, namespace, checkpoint_id)
        for blob in freed:
            self.blobs.pop(blob, None)
        return False

    def _blobs_of(self, thread_id: str, namespace: str, checkpoint_id: str) -> set[tuple[str, str, str, Any]]:
        """The keys of the values that a checkpoint is made of."""
        checkpoint = self.serde.loads_typed(self.storage[thread_id][namespace][checkpoint_id][0])
        return {(thread_id, namespace, *version) for version in checkpoint["channel_versions"].items()}

    def _saved(self, thread_id: str) -> Iterator[Saved]:
        for namespace, checkpoints in self.storage[thread_id].items():
            for checkpoint_id, (_, metadata, parent) in checkpoints.items():
                found: Any = self.serde.loads_typed(metadata)
                yield Saved(namespace, checkpoint_id, parent, msgspec.convert(found, Metadata))
