"""Whose fault it is. Callers see `public`, text that we wrote, and never the text of an exception."""

from typing import ClassVar


class LlamonError(Exception):
    """Every error we raise on purpose.

    Shape: `public` is the sentence for the caller. A class has a default; an instance may say it more exactly, from our
           own words and from what the caller sent.
    """

    public: str = "Something went wrong."

    def __init__(self, public: str | None = None) -> None:
        if public is not None:
            self.public = public
        super().__init__(self.public)


class CallerError(LlamonError):
    """Their request. Nothing was written, no thread was touched."""


class BadJson(CallerError):
    public = "The body is not valid JSON."


class BadRequest(CallerError):
    public = "The body is not a JSON-RPC 2.0 request."


class UnknownMethod(CallerError):
    public = "There is no such method."


class BadParams(CallerError):
    public = "The parameters are not valid."


class TaskNotFound(CallerError):
    """Also what somebody else's task looks like. Source: A2A 1.0 §3.3.2."""

    public = "There is no such task."


class TaskNotCancelable(CallerError):
    public = "The task has ended; it can no longer be canceled."


class PushNotSupported(CallerError):
    public = "This agent sends no push notifications."


class UnsupportedOperation(CallerError):
    public = "This agent does not support that operation."


class TaskHasEnded(UnsupportedOperation):
    """A message to a terminal task. Source: A2A 1.0 §3.1.1."""

    public = "The task has ended and takes no more messages; send a message without taskId to start a new one."


class TaskIsBusy(UnsupportedOperation):
    public = "The task is working and takes no message until it has answered."


class AgentIsGone(UnsupportedOperation):
    public = "This agent is not served any more and takes no messages; its tasks can still be read and canceled."


class ContentTypeNotSupported(CallerError):
    public = "The content type is not supported; send application/json."


class ExtendedCardNotConfigured(CallerError):
    public = "This agent has no extended card."


class VersionNotSupported(CallerError):
    public = "That A2A version is not supported; this agent speaks 1.0 and 0.3."


class ContextIsBusy(CallerError):
    """The queue of the context is full. Units: retry_after_s seconds."""

    public = "Too many messages are waiting in this context; try again later."
    retry_after_s: ClassVar[int] = 2


class Unauthenticated(CallerError):
    public = "A valid bearer token is required."


class AgentError(LlamonError):
    """The agent: the task fails, the call does not. Raise it with its cause chained."""

    public = "The agent failed."


class BackendError(LlamonError):
    """A store or a link is away; `retryable` says whether trying again may help."""

    public = "A service behind this agent is not available; try again later."
    retryable: ClassVar[bool] = True


class Conflict(BackendError):
    """A compare-and-set found another value than expected; nothing was written."""

    public = "The task has changed meanwhile; try again."


class Gone(LlamonError):
    """The log of events no longer reaches back to where a reader wants to go on."""

    public = "Those events are no longer kept."


class ConfigError(LlamonError):
    """The configuration; `public` names the file, the key and the remedy."""

    public = "The configuration is not valid."
