"""Whose fault it is. Callers see `public`, text that we wrote, and never the text of an exception."""

from typing import ClassVar

MAX_ECHO_CHARS = 64
"""How much an error's text repeats of what a caller sent."""


class LlamonError(Exception):
    """Every error we raise on purpose.

    Shape: `public` is the sentence for the caller. A class has a default; an instance may say it more exactly, from our
           own words and from what the caller sent.
    """

    public: str = "Something went wrong."

    def __init__(self, public: str | None = None) -> None:
        if isinstance(public, str):  # agents raise some too, with whatever they have at hand
            self.public = str.__str__(public)  # a plain one also of a class of its own
        super().__init__(self.public)


class CallerError(LlamonError):
    """Their request. Nothing was written, no thread was touched."""


class BadJson(CallerError):
    """The body cannot be parsed. Source: JSON-RPC 2.0 §5.1 (-32700)."""

    public = "The body is not valid JSON."


class BadRequest(CallerError):
    """The body is JSON, but no request. Source: JSON-RPC 2.0 §5.1 (-32600)."""

    public = "The body is not a JSON-RPC 2.0 request."


class UnknownMethod(CallerError):
    """A method that no dialect has. Source: JSON-RPC 2.0 §5.1 (-32601)."""

    public = "There is no such method."


class BadParams(CallerError):
    """Params that the method does not take. Shape: field is the path of the one that is wrong, where it is one.

    Source: JSON-RPC 2.0 §5.1 (-32602).
    """

    public = "The parameters are not valid."

    def __init__(self, public: str | None = None, *, field: str | None = None) -> None:
        self.field = field
        super().__init__(public)


class CannotBeKept(BadParams):
    """A value that no store keeps, in memory or not: text without an encoding, or what is no JSON. Trying again does
    not help, and no store is away.
    """

    public = "The request holds a value that cannot be kept."


class TaskNotFound(CallerError):
    """Also the answer for another owner's task. Source: A2A 1.0 §3.3.2."""

    public = "The task was not found."


class TaskNotCancelable(CallerError):
    """A cancel came after the end. Source: A2A 1.0 §3.1.5."""

    public = "The task has ended; it can no longer be canceled."


class PushNotSupported(CallerError):
    """A webhook, where none may be registered. Source: A2A 1.0 §3.3.2."""

    public = "This agent sends no push notifications."


class UnsupportedOperation(CallerError):
    """Something that cannot be done, or not with the task as it is. Source: A2A 1.0 §3.3.2."""

    public = "This agent does not support that operation."


class StreamingNotSupported(UnsupportedOperation):
    """A stream of an agent that does not claim to stream. Source: A2A 1.0 §3.1.2."""

    public = "This agent does not stream; send the message without streaming."


class TaskHasEnded(UnsupportedOperation):
    """A message to a terminal task. Source: A2A 1.0 §3.1.1."""

    public = "The task has ended and takes no more messages; send a message without taskId to start a new one."


class TaskIsBusy(UnsupportedOperation):
    """A message to a task that asks nothing: there is nothing it could answer."""

    public = "The task is working and takes no message until it has answered."


class AgentIsGone(UnsupportedOperation):
    """A message to an agent that a reload has taken away."""

    public = "This agent is not served any more and takes no messages; its tasks can still be read and canceled."


class ContentTypeNotSupported(CallerError):
    """A type, of the body or of a part, that is not taken. Source: A2A 1.0 §3.3.2."""

    public = "The content type is not supported; send application/json."


class ExtendedCardNotConfigured(CallerError):
    """A card for callers that signed in was asked for. Source: A2A 1.0 §3.3.2."""

    public = "This agent has no extended card."


class ExtensionSupportRequired(CallerError):
    """The agent requires an extension that the caller does not name. Source: A2A 1.0 §3.3.4."""

    public = "This agent requires an extension that the request does not name."


class VersionNotSupported(CallerError):
    """The version header names one that we do not speak. Source: A2A 1.0 §3.6.2."""

    public = "That A2A version is not supported; this agent speaks 1.0 and 0.3."


class ContextIsBusy(CallerError):
    """The queue of the context is full. Units: retry_after_s seconds."""

    public = "Too many messages are waiting in this context; try again later."
    retry_after_s: ClassVar[int] = 2


class Unauthenticated(CallerError):
    """A call without a token, or with a wrong one. Source: RFC 6750 §3.1."""

    public = "A valid bearer token is required."


class PermissionDenied(CallerError):
    """A request that a foreign web page may have made, at an edge that no token protects."""

    public = "This is not permitted."


class AgentError(LlamonError):
    """The agent: the task fails, the call does not. Raise it with its cause chained."""

    public = "The agent failed."


class AnswerIncomplete(AgentError):
    """The answer ended before it was whole. What there is of it stays, marked as incomplete."""


class BackendError(LlamonError):
    """A store or a link is away; trying again may help."""

    public = "A service behind this agent is not available; try again later."


class Conflict(BackendError):
    """A compare-and-set found another value than expected; nothing was written."""

    public = "The task has changed meanwhile; try again."


class KeyTaken(Conflict):
    """A caller's key stands for a task already; nothing was written.

    Shape: digest is of what was sent with it then.
    """

    def __init__(self, task_id: str, digest: str) -> None:
        self.task_id = task_id
        self.digest = digest
        super().__init__()


class Gone(LlamonError):
    """The log of events no longer reaches back to where a reader wants to go on."""

    public = "Those events are no longer kept."


class ConfigError(LlamonError):
    """The configuration; `public` names the file, the key and the remedy."""

    public = "The configuration is not valid."
