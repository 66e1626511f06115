"""The stream writer of a graph's code, which also says where something was written.

A node that asks a question runs again from its top when the answer is there, and writes again what it wrote before.
What LangGraph streams does not say which node wrote, nor whether it did before. Both are known where the code calls the
writer, so the run's runtime gets one that adds them.

- A step is one execution of a node. It is named by its checkpoint namespace, which stays the same when it runs again.
- What it writes before the last of its questions that has an answer is a repetition.

Source: langgraph Runtime.merge (every run merges its own runtime into the one in its config), langgraph.types.interrupt
(counts the questions of a step, and looks each up in its scratchpad), PregelScratchpad.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import count
from typing import Any
from uuid import NAMESPACE_OID, uuid5

from langgraph.config import get_config
from langgraph.runtime import Runtime

_NAMESPACE = "checkpoint_ns"
_SCRATCHPAD = "__pregel_scratchpad"
"""Keys of the config of a step. Source: langgraph's internal constants."""


@dataclass(frozen=True, slots=True)
class Written:
    """What was written.

    Shape: artifact_id is one for an artifact in this place; None: no step is known. is_repeated: the step has written
           this before, perhaps in other words.
    """

    value: Any
    artifact_id: str | None
    is_repeated: bool


class StepRuntime(Runtime[Any]):
    """The runtime to begin a run with, with the graph's store. All else but its writer is what LangGraph makes it.

    Source: langgraph Pregel._defaults (a runtime in the config decides on the store).
    """

    def merge(self, other: Runtime[Any]) -> Runtime[Any]:
        """The runtime of the run."""
        merged = Runtime(context=self.context, store=self.store).merge(other)
        return replace(merged, stream_writer=_writer(merged.stream_writer))


def _writer(write: Callable[[Any], None]) -> Callable[[Any], None]:
    places: dict[str, count[int]] = {}

    def write_from_step(value: Any) -> None:
        of_step = get_config().get("configurable", {})
        step = of_step.get(_NAMESPACE)
        artifact_id = None
        if step and isinstance(value, dict) and "artifact" in value:
            artifact_id = uuid5(NAMESPACE_OID, f"{step} {next(places.setdefault(step, count()))}").hex
        write(Written(value, artifact_id, _is_repeating(of_step.get(_SCRATCHPAD))))

    return write_from_step


def _is_repeating(scratchpad: Any) -> bool:
    """Whether a step has yet to come to the last of its questions that has an answer."""
    return scratchpad is not None and _count_so_far(scratchpad.interrupt_counter) < len(scratchpad.resume)


def _count_so_far(counter: Any) -> float:
    """How often a step has asked in this run; infinite where LangGraph counts in another way.

    LangGraph's counter can only be counted up, so the text of Python's counter in it is read.
    Source: langgraph LazyAtomicCounter.
    """
    if not hasattr(counter, "_counter"):
        return math.inf
    begun = counter._counter
    return 0 if begun is None else int(repr(begun.__self__).removeprefix("count(").removesuffix(")"))
