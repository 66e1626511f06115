"""A turn whose process ended in the middle of it: what is saved of it decides what is left to do.

Theory. Every checkpoint of a run holds the id of its task, from the input on. So the thread shows whether the turn was
begun, and how far it came: nodes are next, a question is pending, or nothing is left to do. An update that is newer
than the run's last checkpoint was made by `Thread.repair`: the run was given up.

- A turn of which nothing is saved begins as if for the first time: an empty thread is still empty, and is seeded.
- Nodes that are next are run, without input. The writes of finished nodes are kept and not done again; a node that was
  running begins anew, so it may do its work twice (at least once).
- An answer is given again only if the thread still asks what the task had asked.
- If the run had come to its end, its result is given, and nothing runs.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from langgraph.graph import START
from langgraph.types import StateSnapshot

from llamon_agent.adapters.langgraph.checkpoints.pruning import OF_A_RUN
from llamon_agent.adapters.langgraph.hitl.questions import ask
from llamon_agent.adapters.langgraph.messages import messages_in
from llamon_agent.adapters.langgraph.plan import GraphCall, Respond, RunGraph, seed_outcome
from llamon_agent.adapters.langgraph.state import STRUCTURED
from llamon_agent.adapters.langgraph.thread import Thread, ThreadState
from llamon_agent.domain.errors import AgentError
from llamon_agent.domain.events import PENDING_INTERRUPT, Question, Started
from llamon_agent.domain.message import Metadata
from llamon_agent.runs.decisions import question_out

_GIVEN_UP = "The agent was restarted before it could finish."


@dataclass(frozen=True, slots=True)
class Past:
    """What is saved of a task's runs.

    Shape: before is the state before its first run, None where there was none; after is the state now; was_given_up:
           the thread was repaired after them; begun is the state with the first run's input, None where that is not
           saved; filled are the keys of that input, and written the keys that finished nodes have
           written since.
    """

    before: Any
    after: Any
    was_given_up: bool
    begun: Any = None
    filled: frozenset[str] = frozenset()
    written: frozenset[str] = frozenset()

    def as_it_was(self) -> ThreadState:
        """The thread before the task's first run."""
        return ThreadState(exists=self.before is not None, messages=messages_in(self.before))

    def before_for(self, after: Any) -> Any:
        """The state before. A structured response that has not changed is made the same object in both states, as only
        that shows that it is old.
        """
        before = self.before
        both = isinstance(before, dict) and isinstance(after, dict) and STRUCTURED in before and STRUCTURED in after
        if both and before[STRUCTURED] == after[STRUCTURED]:
            return {**before, STRUCTURED: after[STRUCTURED]}
        return before


@dataclass(frozen=True, slots=True)
class AlreadyDone:
    """Run nothing: the run had come to its end."""

    started: Started


async def past_of(thread: Thread, task_id: str) -> Past | None:
    """What is saved of a task's runs; None where the thread's last run was another task's, or there was none."""
    if not thread.is_saved:
        return None
    after, begun, was_given_up, found = None, None, False, False
    filled: frozenset[str] = frozenset()
    written: frozenset[str] = frozenset()
    async for snapshot in thread.graph.aget_state_history(thread.config):
        metadata = snapshot.metadata or {}
        of_a_run = metadata.get("source") in OF_A_RUN
        after = snapshot.values if after is None else after
        if of_a_run and metadata.get("task_id") == task_id:
            found = True
            begun = snapshot.values if metadata["source"] == "loop" else begun
            filled |= _written_after(snapshot, by_input=True)
            written |= _written_after(snapshot, by_input=False)
        elif found:
            return Past(snapshot.values, after, was_given_up, begun, filled, written)
        elif of_a_run:
            return None
        else:
            was_given_up = True
    return Past(None, after, was_given_up, begun, filled, written) if found else None


def _written_after(snapshot: StateSnapshot, *, by_input: bool) -> frozenset[str]:
    """The keys that the next step of a checkpoint has written: by the input, or by the nodes."""
    results = [task.result for task in snapshot.tasks if (task.name == START) is by_input]
    return frozenset(key for result in results if isinstance(result, dict) for key in result)


def decide_rest(
    call: GraphCall, first: Started, state: ThreadState, past: Past, asked: Sequence[Metadata]
) -> RunGraph | Respond | AlreadyDone | None:
    """What is left to do of a turn of which something is saved; None: give the answer as if for the first time.

    Shape: first is how the turn was begun; asked are the questions that it answers, as the task holds them.
    Raises: AgentError: it was given up.
    """
    if past.was_given_up:
        raise AgentError(_GIVEN_UP)
    if call.answer is not None:
        if state.questions and _as_held(state.questions) == list(asked):
            return None
        first = Started(history=seed_outcome(call.received, 0, PENDING_INTERRUPT))
    if state.questions:
        return Respond(first, ask(state.questions))
    return RunGraph(first, None) if state.unfinished else AlreadyDone(first)


def _as_held(questions: Sequence[Question]) -> list[Metadata]:
    return [question_out(question) for question in questions]
