"""What a call means for a thread: decided from what is saved, before anything runs.

- An answer where nothing waits is an error: it is neither replayed nor kept for a question that nobody was shown.
- A new message where something waits runs nothing: plain input would start the graph anew under the open question.
- An answer resumes exactly the questions it names; one that is not clear asks again.
- Anything else begins a turn, with the seed in front if the thread is new.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import BaseMessage
from langgraph.types import Command

from llamon_agent.adapters.langgraph.content import Block
from llamon_agent.adapters.langgraph.hitl.formats import BREAKPOINT
from llamon_agent.adapters.langgraph.hitl.questions import CallerAnswer, Unclear, ask, decide_answer
from llamon_agent.adapters.langgraph.seeding import decide_seeds, seed_outcome
from llamon_agent.adapters.langgraph.state import StateMapping, human, state_in
from llamon_agent.adapters.langgraph.thread import ThreadState
from llamon_agent.adapters.langgraph.window import within_window
from llamon_agent.domain.errors import AgentError
from llamon_agent.domain.events import Complete, Interrupt, Started

_NOTHING_PENDING = "Nothing waits for an answer in this conversation; send a new message instead."
_STOPPED = "Stopped, as asked. Nothing more was done."


@dataclass(frozen=True, slots=True)
class GraphCall:
    """One call, from whichever method of the agent.

    Shape: message_id is what the current message should be called in the thread; received counts the turns of history
           that came, of which prefill may be seeded; answer is set where this answers a question; answer_id is what the
           answer's text is called, and its files after it.
    """

    content: str | list[str | Block]
    message_id: str
    prefill: Sequence[BaseMessage] = ()
    received: int = 0
    answer: CallerAnswer | None = None
    answer_id: str = ""


@dataclass(frozen=True, slots=True)
class RunGraph:
    """Run the graph on this: new input, answers by interrupt id, or None to pass a breakpoint."""

    started: Started
    given: dict[str, Any] | Command[Any] | None


@dataclass(frozen=True, slots=True)
class Respond:
    """Run nothing and say this; `drops_pause` if the pause is over by it."""

    started: Started
    ending: Interrupt | Complete
    drops_pause: bool = False


def decide_plan(
    call: GraphCall, state: ThreadState, mapping: StateMapping, window_size: int | None
) -> RunGraph | Respond:
    """What to do. Raises: AgentError if an answer came and nothing waits for one."""
    if call.answer is not None and not state.questions:
        raise AgentError(_NOTHING_PENDING)
    if state.questions:
        return _decide_at_pause(call, state)
    seeds, reason = decide_seeds(state, call.prefill, takes_messages=mapping.input_key is None)
    current = human(call.content, call.message_id, state.messages)
    given = within_window(state.messages, [*seeds, current], window_size)
    seeded = sum(message in seeds for message in given)
    return RunGraph(Started(history=seed_outcome(call.received, seeded, reason)), state_in(mapping, given))


def _decide_at_pause(call: GraphCall, state: ThreadState) -> RunGraph | Respond:
    _, reason = decide_seeds(state, call.prefill, takes_messages=True)
    started = Started(history=seed_outcome(call.received, 0, reason))
    if call.answer is None:
        return Respond(started, ask(state.questions))
    decided = decide_answer(state.questions, call.answer)
    if isinstance(decided, Unclear):
        return Respond(started, ask(state.questions, decided.note))
    first = state.questions[0].id
    if not first.startswith(BREAKPOINT):
        return RunGraph(started, Command(resume=decided.values))
    return (
        RunGraph(started, None)
        if decided.values[first]
        else Respond(started, Complete(text=_STOPPED), drops_pause=True)
    )
