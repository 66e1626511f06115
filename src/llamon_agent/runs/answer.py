"""The text of a run's answer while it grows.

The rule of the wire is: append chunks of one artifact, `lastChunk` on the last. Nobody knows that a piece is the last
one until the run says so, therefore one piece is held back, and told as soon as another follows, the run ends, or a
moment passes. What was told, joined as `append` says, is always the beginning of the text, and at the end it is the
text.
"""

import msgspec


class Piece(msgspec.Struct, frozen=True):
    """What to tell next: `append` puts it behind what was told, else it replaces that; `last` closes the artifact."""

    text: str
    append: bool
    last: bool


class Answer:
    """The growing text of one artifact. Plain state, no clock: whoever owns it decides when to flush."""

    __slots__ = ("_append", "_held", "_pieces", "_told", "artifact_id")

    def __init__(self, artifact_id: str) -> None:
        self.artifact_id = artifact_id
        self._pieces: list[str] = []
        self._held: str | None = None
        self._told = False
        self._append = False

    @property
    def text(self) -> str:
        """All of it, also what is held back."""
        if len(self._pieces) > 1:
            self._pieces = ["".join(self._pieces)]
        return self._pieces[0] if self._pieces else ""

    @property
    def holds(self) -> bool:
        return self._held is not None

    def add(self, text: str, *, restart: bool = False) -> Piece | None:
        """Take the next piece of text; say what is to be told of the ones before."""
        if restart:
            self._pieces.clear()
            self._held = None
            self._append = False
        if not text:
            return None
        before = self._held
        self._held = text
        self._pieces.append(text)
        return None if before is None else self._tell(before)

    def flush(self) -> Piece | None:
        """Say what is held back, since nothing may follow for a while."""
        if self._held is None:
            return None
        text, self._held = self._held, None
        return self._tell(text)

    def finish(self, final: str | None = None) -> Piece | None:
        """The last piece, after which what was told is `final` (None: what was added); None where there is no text."""
        so_far = self.text
        text = so_far if final is None else final
        held, self._held, self._pieces = self._held or "", None, [text]
        if not text and not self._told:
            return None
        if text.startswith(so_far):
            return self._tell(held + text[len(so_far) :], last=True)
        self._append = False
        return self._tell(text, last=True)

    def _tell(self, text: str, *, last: bool = False) -> Piece:
        append, self._append, self._told = self._append, True, True
        return Piece(text, append, last)
