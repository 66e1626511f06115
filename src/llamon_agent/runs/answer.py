"""The text of a run's answer while it grows.

The rule of the wire is: append chunks of one artifact, `lastChunk` on the last. Nobody knows that a piece is the last
one until the run says so, therefore one piece is held back, and told as soon as another follows, the run ends, or a
moment passes. What was told, joined as `append` says, is always `told`, and at the end it is the text.
"""

import msgspec


class Piece(msgspec.Struct, frozen=True):
    """What to tell next: `append` puts it behind what was told, else it replaces that; `last` closes the artifact."""

    text: str
    append: bool
    last: bool


class Answer:
    """The growing text of one artifact. Plain state, no clock: whoever owns it decides when to flush."""

    __slots__ = ("_append", "_held", "_told", "artifact_id")

    def __init__(self, artifact_id: str, told: str = "") -> None:
        self.artifact_id = artifact_id
        self._told = [told] if told else []
        self._append = bool(told)  # whether the next piece goes behind what was told
        self._held: str | None = None

    @property
    def told(self) -> str:
        """What the readers have; what is held back is not in it."""
        if len(self._told) > 1:
            self._told = ["".join(self._told)]
        return self._told[0] if self._told else ""

    @property
    def text(self) -> str:
        """All that was said since the last restart, also what is held back."""
        return (self.told if self._append else "") + (self._held or "")

    @property
    def holds(self) -> bool:
        return self._held is not None

    def add(self, text: str, *, restart: bool = False) -> Piece | None:
        """Take the next piece of text; say what is to be told of the ones before."""
        if restart:
            self._held = None
            self._append = False
        if not text:
            return None
        piece = self.flush()
        self._held = text
        return piece

    def flush(self) -> Piece | None:
        """Say what is held back, since nothing may follow for a while."""
        if self._held is None:
            return None
        piece = Piece(self._held, self._append, last=False)
        if not self._append:
            self._told.clear()
        self._told.append(self._held)
        self._append, self._held = True, None
        return piece

    def closing(self, final: str | None = None) -> Piece | None:
        """The last piece, after which what was told is `final` (None: the text); None where there is no text.

        It changes nothing: the piece is told only when the end of the run is recorded.
        """
        so_far = self.text
        text = so_far if final is None else final
        if not text and not self._told:
            return None
        if text.startswith(so_far):
            return Piece((self._held or "") + text[len(so_far) :], self._append, last=True)
        return Piece(text, append=False, last=True)
