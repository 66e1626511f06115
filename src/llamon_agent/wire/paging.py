"""Page tokens of a task list: opaque to callers, to us the place of the last task they have seen.

A token holds nothing secret and grants nothing: a list is always the caller's own tasks, wherever it starts.
"""

from base64 import urlsafe_b64encode
from collections.abc import Sequence
from typing import Annotated

import msgspec

from llamon_agent.domain.encoding import read_base64
from llamon_agent.domain.errors import BadParams
from llamon_agent.domain.push import PushConfig
from llamon_agent.domain.task import Task

_Millis = Annotated[int, msgspec.Meta(ge=0, le=1 << 52)]
_place = msgspec.json.Decoder(tuple[_Millis, str])


def write_token(last: Task) -> str:
    """The token of the page that begins after a task."""
    return urlsafe_b64encode(msgspec.json.encode((last.status.at_ms, last.id))).rstrip(b"=").decode()


def read_token(token: str) -> tuple[int, str]:
    """The place (at_ms, id) of the last task of the page before. Raises: BadParams."""
    try:
        return _place.decode(read_base64(token))
    except (ValueError, msgspec.MsgspecError) as exc:  # binascii.Error is a ValueError, so is text beyond ASCII
        raise BadParams("pageToken is not one that this agent gave out.") from exc


def page_of(
    configs: Sequence[PushConfig], page_size: int | None, token: str | None
) -> tuple[tuple[PushConfig, ...], str]:
    """One page of a task's webhooks, which are few and sorted by id; and the token of the next page, empty at the end.

    Shape: the token is the id of the last one of the page before; page_size None is all that there are.
    """
    rest = [config for config in configs if token is None or config.id > token]
    page = tuple(rest if page_size is None else rest[:page_size])
    return page, page[-1].id if len(page) < len(rest) else ""
