"""Bytes, as they come, into lines."""


class Lines:
    """Cuts a stream into lines and keeps of each at most one byte more than the limit, so that a line that is too long
    can be told from one that just fits, and costs no more memory.
    """

    def __init__(self, limit_bytes: int) -> None:
        self._kept_bytes = limit_bytes + 1
        self._begun = bytearray()

    def feed(self, data: bytes) -> list[bytes]:
        """The lines that are whole now, without their newline."""
        *ends, rest = data.split(b"\n")
        lines = []
        for end in ends:
            self._extend(end)
            lines.append(bytes(self._begun))
            self._begun.clear()
        self._extend(rest)
        return lines

    def finish(self) -> list[bytes]:
        """The last line, if it did not end with a newline."""
        return self.feed(b"\n") if self._begun else []

    def _extend(self, piece: bytes) -> None:
        self._begun += piece[: self._kept_bytes - len(self._begun)]
