"""A hook around each use of a checkpointer's storage, which the owner of the storage provides."""

from contextlib import AbstractContextManager, nullcontext
from typing import Protocol

NOT_KEPT = "The agent's state or its question holds a value that cannot be saved."
"""The caller's error text if a value cannot be stored, though the storage works."""


class Access(Protocol):
    """Around each use. Raises: BackendError, in place of the library's error, if the storage is not available."""

    def reading(self) -> AbstractContextManager[None]: ...

    def writing(self) -> AbstractContextManager[None]: ...


class FreeAccess:
    """Passes every error on as it is."""

    def reading(self) -> AbstractContextManager[None]:
        return nullcontext()

    def writing(self) -> AbstractContextManager[None]:
        return nullcontext()
