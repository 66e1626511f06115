"""What goes wrong with a remote agent. All of it is an AgentError, for agents that call a remote one.

`public` is a text of ours. What the remote agent said is kept apart in `said`: it was meant for its caller, not for
ours. `detail` is for the person that configured the agent's address, as it may contain addresses.
"""

from llamon_agent.client.answers import Answer
from llamon_agent.domain.errors import AgentError


class RemoteError(AgentError):
    """The remote agent gave no answer. Shape: code is what the remote agent's error bears, in whatever form."""

    public = "The remote agent gave no answer."

    def __init__(self, public: str | None = None, *, said: str = "", code: object = None, detail: str = "") -> None:
        super().__init__(public)
        self.said = said
        self.code = code
        self.detail = detail


class Unreached(RemoteError):
    """Nothing answers, the connection was lost, or a proxy in front is in trouble; trying again may help."""

    public = "The remote agent cannot be reached."


class NobodyThere(Unreached):
    """No connection came about, so nothing was sent."""


class Busy(RemoteError):
    """The remote agent has too much to do in this context and did not take the message; trying again may help."""

    public = "The remote agent is busy with this conversation."


class TimedOut(RemoteError):
    """There was no answer in time. The remote task, if there is one, goes on; it can be canceled."""

    public = "The remote agent did not answer in time."


class NotAllowed(RemoteError):
    """The token is missing, wrong, or not enough."""

    public = "The remote agent refused us: it wants other credentials."


class NotA2A(RemoteError):
    """What answers there is no A2A agent, or none that we can speak to."""

    public = "What answers in the remote agent's place does not speak A2A as we do."


class TooMuch(RemoteError):
    """An event or a body of the remote agent is larger than we take; the connection was closed."""

    public = "The remote agent sent more at once than is taken from it."


class Unkept(RemoteError):
    """The remote agent asks, and there is nothing here to keep the question in."""

    public = "The remote agent asked for input, but this graph keeps no state to go on from; it needs a checkpointer."


class BadHeader(RemoteError):
    """A request header that was to go along cannot be sent, so nothing was; the text never has its value."""

    public = "A request header for the remote agent cannot be sent."


class Refused(RemoteError):
    """The remote agent refused the call; `said` has its reason."""

    public = "The remote agent refused the call."


class NoSuchTask(Refused):
    public = "The remote agent knows no such task."


class TaskEnded(Refused):
    """The remote task can no longer be canceled or followed, as it has ended."""

    public = "The remote agent's task has ended already."


class TaskFailed(RemoteError):
    """The remote task has ended without an answer: failed, rejected, or canceled; `answer` is what there is of it."""

    public = "The remote agent's task has failed."

    def __init__(self, answer: Answer) -> None:
        super().__init__(
            f"The remote agent's task was {answer.state.value}." if answer.was_stopped else None, said=answer.question
        )
        self.answer = answer
