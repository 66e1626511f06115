"""How long something is, as people write it: 90s, 10m, 24h, 30d, 2w."""

import re

FORM = r"^[0-9]{1,9}(\.[0-9]{1,3})?[smhdw]$"
"""What a duration looks like, also to the configuration's JSON Schema."""

LIKE = "30d, 24h, 10m or 90s"
"""Examples, for whoever wrote something else."""

_UNITS_S = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}


def read_duration_s(text: str) -> float | None:
    """Seconds; None where the text is no duration, or one of nothing."""
    if not re.fullmatch(FORM, text):
        return None
    return float(text[:-1]) * _UNITS_S[text[-1]] or None
