"""Yes and no in words: what a person types when asked for an approval, in English and Korean.

A word counts only if it is the whole answer. "Yes, delete it" may mean another "it" than the one we asked about, so it
is unclear, and unclear is never yes. A no may carry its reason behind punctuation: to stop is safe, and the reason
helps.
"""

import re

import msgspec

_YES = frozenset(
    {
        "y",
        "yes",
        "yes please",
        "ok",
        "okay",
        "sure",
        "approve",
        "approved",
        "accept",
        "accepted",
        "confirm",
        "confirmed",
    }
    | {"go ahead", "승인", "승인합니다", "승인해", "네", "예", "네 승인합니다", "동의", "동의합니다"}
)
_NO = frozenset(
    {"n", "no", "no thanks", "reject", "rejected", "deny", "denied", "decline", "declined", "refuse", "stop"}
    | {"거절", "거절합니다", "거부", "거부합니다", "아니", "아니오", "아니요", "안돼", "안 돼"}
)
_ALL = re.compile(r"(?:(?P<word>.+) all|(?:모두|전체) ?(?P<korean>.+))\Z")
_REASONED = re.compile(r"(?P<word>[^\s,.;:!—–-]+)\s*[,.;:!—–-]\s*(?P<reason>\S.*)\Z", re.DOTALL)


class Verdict(msgspec.Struct, frozen=True):
    """A clear yes or no.

    Shape: everything says that it was given for all that was asked ("approve all"); reason goes with a no.
    """

    approved: bool
    everything: bool = False
    reason: str | None = None


def read_verdict(text: str) -> Verdict | None:
    """The verdict in an answer; None where it is not clear."""
    words = _plain(text)
    if (approved := _yes_or_no(words)) is not None:
        return Verdict(approved)
    if (found := _ALL.match(words)) and (approved := _yes_or_no(found["word"] or found["korean"])) is not None:
        return Verdict(approved, everything=True)
    if (found := _REASONED.match(text.strip())) and _yes_or_no(_plain(found["word"])) is False:
        return Verdict(approved=False, reason=found["reason"].strip())
    return None


def _plain(text: str) -> str:
    return " ".join(text.casefold().split()).rstrip(" .!。！")


def _yes_or_no(words: str) -> bool | None:
    if words in _YES:
        return True
    return False if words in _NO else None
