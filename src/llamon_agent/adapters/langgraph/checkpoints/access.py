"""What every use of a place of threads goes through. Whose place it is says what that means."""

from contextlib import AbstractContextManager, nullcontext
from typing import Protocol

NOT_KEPT = "The agent's state or its question holds a value that cannot be saved."
"""What a caller is told where not the place is at fault, but what was to be put there."""


class Access(Protocol):
    """Around each use. Raises: BackendError, in place of what the place's library raises where the place is away."""

    def reading(self) -> AbstractContextManager[None]: ...

    def writing(self) -> AbstractContextManager[None]: ...


class FreeAccess:
    """An access that does nothing about failures."""

    def reading(self) -> AbstractContextManager[None]:
        return nullcontext()

    def writing(self) -> AbstractContextManager[None]:
        return nullcontext()
