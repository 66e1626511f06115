"""The port that an adapter implements: what an agent is given, and what it says."""

from collections.abc import AsyncGenerator
from typing import Protocol, runtime_checkable

import msgspec

from llamon_agent.domain.caller import Caller
from llamon_agent.domain.events import RunEvent
from llamon_agent.domain.message import Message, Metadata


class Turn(msgspec.Struct, frozen=True, kw_only=True):
    """One turn for an agent to take.

    Shape: prompt is the message's text parts joined by a newline; prefill is the host's history, oldest first and
           already capped, for an empty thread only; history_received counts the turns that came, so that what was not
           seeded can be reported. `answers` says that the task was paused and this message answers its question.
           attempt counts from 1; from 2 on, the process that took the turn before has died in the middle of it.
           answer_id is the artifact that the turn's text becomes, the same in every attempt; asked is what the task
           asked, as it was sent, if this answers it. caller is the one that sent this message. Kept as JSON while its
           run is held, as `kept` says.
    """

    task_id: str
    context_id: str
    thread_id: str
    session_id: str
    message: Message
    prompt: str
    prefill: tuple[Message, ...] = ()
    history_received: int = 0
    answers: bool = False
    asked: tuple[Metadata, ...] = ()
    metadata: Metadata = {}
    attempt: int = 1
    answer_id: str = "answer-1"
    caller: Caller = Caller()

    @property
    def kept(self) -> "Turn":
        """The turn as a store keeps it. What another process takes up has no claims and no headers of its caller."""
        return msgspec.structs.replace(self, caller=self.caller.kept)


class Agent(Protocol):
    """Something that answers turns. Shared by all runs, so a run's state lives in its generator, never here."""

    @property
    def survives_restart(self) -> bool:
        """Whether a turn that was cut off can be taken again: a turn with an `attempt` above 1 goes on where the one
        before was cut off, as far as the agent's own memory reaches.
        """
        ...

    def run(self, turn: Turn) -> AsyncGenerator[RunEvent]:
        """Answer one turn.

        Shape:  any number of events, of which the one that ends the run is the last: Interrupt, Complete, Reply or
                Rejected, and from an agent on another node also Error, Cancelled or NodeLost; ending without one is
                Complete. With `turn.answers`, an answer that does not fit yields the Interrupt again and does no work.
        Raises: AgentError, its cause chained, and then the thread is fit for its next turn; BackendError: the
                storage of its threads is away. Cancelling is closing: then stop the work, free what is held, and
                re-raise. After both the thread is left as it is, for `close_turn` or another attempt.
        """
        ...

    async def close_turn(self, thread_id: str) -> None:
        """The interrupted turn of this thread is not continued: drop its pending question, and repair what a closed
        turn has left, so that the next turn starts clean.

        Raises: AgentError, BackendError. A thread without either is left as it is.
        """
        ...

    async def delete_thread(self, thread_id: str) -> None:
        """Delete all that is kept of this thread: its tasks are gone, and a caller that comes back begins anew.

        Raises: AgentError, BackendError. Fine where nothing is kept.
        """
        ...


@runtime_checkable
class ChecksMessages(Protocol):
    """An agent that can tell from a message alone that it cannot begin a turn."""

    def objection(self, message: Message) -> str | None:
        """Why a message cannot begin a turn, in words for the caller; None if it can."""
        ...


@runtime_checkable
class PrunesThreads(Protocol):
    """What an agent may have besides, if it keeps more of a thread than its next turn needs."""

    async def prune_thread(self, thread_id: str, *, completed: str | None) -> bool:
        """Delete some of what no later turn of this thread needs; whether there is more of it.

        Shape:  completed is the task of the thread that was just completed. If the thread's last run is another task's,
                it may be in the middle of a turn, or ask something, and all that belongs to that run is kept.
        Raises: AgentError, BackendError; the thread is as fit for its next turn as before.
        """
        ...
