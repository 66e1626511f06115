"""What a model is asked, apart from whose API asks it, and what it then says.

A text repeats the user's last words and names the earlier ones, so that a reader sees whether they got there. A tool is
called once, with arguments of its schema; with its result there, a text follows. A schema is filled.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.graphs.stub.filling import Schema, fill, named

ANY = "*"
"""Some tool must be called, whichever."""


@dataclass(frozen=True)
class Tool:
    name: str
    schema: Schema = field(default_factory=dict)


@dataclass(frozen=True)
class Asked:
    """Shape: users are the texts of all user messages; called are the tools called since the last of these."""

    users: Sequence[str]
    called: Sequence[str] = ()
    tools: Sequence[Tool] = ()
    forced: str | None = None
    schema: Schema | None = None

    @property
    def last(self) -> str:
        return self.users[-1] if self.users else ""


@dataclass(frozen=True)
class Say:
    text: str


@dataclass(frozen=True)
class Call:
    name: str
    arguments: Mapping[str, Any]


def decide(asked: Asked) -> Say | Call:
    """What the model says."""
    if asked.schema is not None:
        return Say(json.dumps(fill(asked.schema, _plain(asked.last))))
    if asked.tools and (asked.forced or not asked.called):
        tool = _chosen(asked)
        return Call(tool.name, fill(tool.schema or {"type": "object"}, _plain(asked.last)))
    return Say(answer(asked.users))


def _chosen(asked: Asked) -> Tool:
    """The one that is asked for, that the user names, or the first that was not called: that ends a loop of calls."""
    forced = [tool for tool in asked.tools if tool.name == asked.forced]
    fresh = {tool.name: tool for tool in asked.tools if tool.name not in asked.called}
    if forced or not fresh:
        return (forced or list(asked.tools))[0]
    return fresh[named(list(fresh), asked.last)]


def answer(users: Sequence[str]) -> str:
    *earlier, last = users or [""]
    before = "".join(f" Before that: {_short(text)}." for text in earlier[-10:])
    return f"You said: {_short(last)}.{before}"


def _short(text: str) -> str:
    """The end of a text, where prompts of several paragraphs have what a person said."""
    return _plain(text)[-160:] or "nothing"


def _plain(text: str) -> str:
    """On one line."""
    return " ".join(text.split())


def texts_of(content: Any) -> list[str]:
    """A message's texts in any of the APIs: a string, or its parts. Packages join messages that follow each other."""
    if isinstance(content, str):
        return [content]
    texts = [part.get("text", "") if isinstance(part, dict) else str(part) for part in content or ()]
    return [text for text in texts if text]
