"""What to do with a call: decided from what is saved of the thread, before anything runs.

- An answer without a pending question is an error: it is neither replayed nor kept for a later question.
- A new message at a pending question runs nothing: plain input would start the graph anew under the open question.
- An answer resumes exactly the questions that it names; if it is not clear, the question is asked again.
- The question of a NodeInterrupt takes no answer, so what comes is put into the state as a new message is, and only the
  step that asked runs again.
- Any other message begins a turn.
- A host's history is seeded once, before the first message, while nothing was ever saved of the thread. From then on
  the checkpointer is the source of truth. Seeds are input, never a state update: an update leaves a thread that looks
  paused, or loses the seeds. The caller's lock per context makes reading and running one step, so that of two first
  turns at once only one seeds.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import BaseMessage
from langgraph.types import Command

from llamon_agent.adapters.langgraph.hitl.formats import BREAKPOINT, NODE_INTERRUPT, read_approval
from llamon_agent.adapters.langgraph.hitl.questions import CallerAnswer, Unclear, ask, decide_answer
from llamon_agent.adapters.langgraph.messages import human_message, seedable, within_window
from llamon_agent.adapters.langgraph.schema import Placed
from llamon_agent.adapters.langgraph.state import Block, StateMapping, state_in
from llamon_agent.adapters.langgraph.thread import ThreadState
from llamon_agent.domain.errors import AgentError
from llamon_agent.domain.events import (
    COLD_START,
    NO_MESSAGES_CHANNEL,
    NO_USABLE_TURNS,
    PENDING_INTERRUPT,
    THREAD_NOT_EMPTY,
    Complete,
    Interrupt,
    SeedOutcome,
    Started,
)

_SEED = "seed:"

_NOTHING_PENDING = "Nothing waits for an answer in this conversation; send a new message instead."
_STOPPED = "Stopped, as asked. Nothing more was done."


@dataclass(frozen=True, slots=True)
class GraphCall:
    """One call, by any method of the agent.

    Shape: message_id is the wanted id of the current message; received counts the turns of history that came, of which
           prefill may be seeded; answer is set if this answers a question; answer_id is the id of the answer's text,
           and ids of its files begin with it. The message_id of a task begins with the task's id and a colon.
           task_id is empty for a call without a task; placed is the message as the fields that it fills, None where
           the graph takes no fields.
    """

    content: str | list[str | Block]
    message_id: str
    prefill: Sequence[BaseMessage] = ()
    received: int = 0
    answer: CallerAnswer | None = None
    answer_id: str = ""
    task_id: str = ""
    placed: Placed | None = None

    def is_sent(self, message: BaseMessage) -> bool:
        """Whether the caller sent this message: in this call or an earlier one of its task, in the host's history, or
        as an answer that a node has kept.
        """
        if self.answer is not None and message.text == self.answer.text:
            return True
        task, _, _ = self.message_id.partition(":")
        return message.id == self.message_id or (message.id or "").startswith((f"{task}:", _SEED))


@dataclass(frozen=True, slots=True)
class RunGraph:
    """Run the graph on this: new input, answers by interrupt id, or None to pass a breakpoint."""

    started: Started
    given: dict[str, Any] | Command[Any] | None


@dataclass(frozen=True, slots=True)
class Respond:
    """Run nothing and respond with this; `drops_pause` if that ends the pause."""

    started: Started
    ending: Interrupt | Complete
    drops_pause: bool = False


def decide_plan(
    call: GraphCall, state: ThreadState, mapping: StateMapping, window_size: int | None
) -> RunGraph | Respond:
    """What to do.

    Raises: AgentError: an answer came, and no question is pending; or the graph has no field for the message.
    """
    if call.answer is not None and not state.questions:
        raise AgentError(_NOTHING_PENDING)
    if state.questions:
        return _decide_at_pause(call, state, mapping)
    takes_messages = mapping.input_key is None and call.placed is None
    seeds, reason = decide_seeds(state, call.prefill, takes_messages=takes_messages)
    if call.placed is not None:
        if call.placed.problem is not None:
            raise AgentError(call.placed.problem)
        return RunGraph(Started(history=seed_outcome(call.received, 0, reason)), dict(call.placed.values))
    current = human_message(call.content, call.message_id, state.messages)
    given = within_window(state.messages, [*seeds, current], window_size)
    seeded = sum(message in seeds for message in given)
    return RunGraph(Started(history=seed_outcome(call.received, seeded, reason)), state_in(mapping, given))


def _decide_at_pause(call: GraphCall, state: ThreadState, mapping: StateMapping) -> RunGraph | Respond:
    _, reason = decide_seeds(state, call.prefill, takes_messages=True)
    started = Started(history=seed_outcome(call.received, 0, reason))
    if call.answer is None:
        return Respond(started, ask(state.questions))
    decided = decide_answer(state.questions, call.answer)
    if isinstance(decided, Unclear):
        return Respond(started, ask(state.questions, decided.note))
    first = state.questions[0].id
    if [each.id for each in state.questions] == [NODE_INTERRUPT]:
        if call.placed is not None and call.placed.problem is not None and not _only_runs_again(call.answer):
            return Respond(started, ask(state.questions, call.placed.problem))
        return RunGraph(started, _new_input(call, call.answer, state, mapping))
    if not first.startswith(BREAKPOINT):
        return RunGraph(started, Command(resume=decided.values))
    return (
        RunGraph(started, None)
        if decided.values[first]
        else Respond(started, Complete(text=_STOPPED), drops_pause=True)
    )


def _new_input(call: GraphCall, answer: CallerAnswer, state: ThreadState, mapping: StateMapping) -> Command[Any]:
    """What an answer to a NodeInterrupt changes in the state. A yes is a message, but it fills no other field."""
    takes_messages = call.placed is None and mapping.input_key is None
    if not takes_messages and _only_runs_again(answer):
        return Command(resume=True)
    if call.placed is not None:
        return Command(update=dict(call.placed.values))
    return Command(update=state_in(mapping, [human_message(call.content, call.message_id, state.messages)]))


def _only_runs_again(answer: CallerAnswer) -> bool:
    approval = read_approval(answer.text or "") if not answer.data else None
    return approval is not None and approval.approved


def decide_seeds(
    state: ThreadState, prefill: Sequence[BaseMessage], *, takes_messages: bool
) -> tuple[list[BaseMessage], str]:
    """The messages to seed, and the reason in a word.

    Shape: seeded messages get ids of their own, by place, so that equal ids of a host cannot replace each other.
    """
    if state.questions:
        return [], PENDING_INTERRUPT
    if state.exists:
        return [], THREAD_NOT_EMPTY
    if not takes_messages:
        return [], NO_MESSAGES_CHANNEL
    seeds = [message.model_copy(update={"id": f"{_SEED}{place}"}) for place, message in enumerate(seedable(prefill))]
    return seeds, COLD_START if seeds else NO_USABLE_TURNS


def seed_outcome(received: int, seeded: int, reason: str) -> SeedOutcome | None:
    """What became of the host's history; None if none came."""
    return SeedOutcome(seeded=seeded, skipped=received - seeded, reason=reason) if received else None
