"""The approvals of LangChain and of the Agent Inbox: what they ask, and the exact form of the answers they take.

Source: langchain.agents.middleware.human_in_the_loop (HITLRequest and HITLResponse; ToolApprovalRequest and Decision),
        and langgraph.prebuilt.interrupt (HumanInterrupt and HumanResponse).
"""

from collections.abc import Sequence
from typing import Any

from llamon_agent.adapters.langgraph.hitl.formats import (
    ApprovalWords,
    InvalidAnswer,
    in_words,
    read_approval,
    read_response,
)
from llamon_agent.adapters.langgraph.hitl.json_schema import branches, mismatch, resolved
from llamon_agent.domain.events import Choice
from llamon_agent.domain.message import Metadata

_ALL = in_words("approve all", "reject all")
_UNCLEAR = "it is not a clear approval or rejection"


class Decisions:
    """One batch of tool calls, each to be decided: `{"action_requests": [...], "review_configs": [...]}`."""

    def __init__(self, request: Metadata) -> None:
        configs = {config["action_name"]: config["allowed_decisions"] for config in request["review_configs"]}
        self._allowed: list[Sequence[str]] = [configs.get(action["name"], ()) for action in request["action_requests"]]

    @classmethod
    def fits(cls, value: Any) -> bool:
        return (
            isinstance(value, dict)
            and _all_have(value.get("action_requests"), "name")
            and _all_have(value.get("review_configs"), "action_name", "allowed_decisions")
        )

    @property
    def hint(self) -> str:
        if len(self._allowed) == 1:
            return _hint(self._allowed[0])
        return "Answer 'approve all' or 'reject all', or decide each with data: {\"decisions\": [...]}."

    @property
    def choices(self) -> tuple[Choice, ...]:
        return _word_choices(self._allowed[0]) if len(self._allowed) == 1 else _ALL

    def from_text(self, text: str) -> Any:
        if len(self._allowed) == 1:
            return {"decisions": [_decision_in(text, self._allowed[0])]}
        approval = _clear(text)
        if approval.approved and not approval.everything:
            raise InvalidAnswer("it does not say whether it is for all of the actions")
        return {"decisions": [_decision(approval, allowed) for allowed in self._allowed]}

    def from_data(self, data: Any) -> Any:
        if isinstance(data, str | bool):
            return self.from_text(_word(data))
        decisions = data.get("decisions") if isinstance(data, dict) and "decisions" in data else [data]
        if not isinstance(decisions, list) or len(decisions) != len(self._allowed):
            raise InvalidAnswer(f"it must hold {len(self._allowed)} decisions")
        return {"decisions": [_checked(one, allowed) for one, allowed in zip(decisions, self._allowed, strict=True)]}


class Decision:
    """One tool call to be decided: `{"type": "tool_approval", ...}`; its schema lists the decisions it takes."""

    def __init__(self, schema: Metadata | None) -> None:
        self._schema = schema or {}
        self._allowed = _decision_types(self._schema) or ["approve", "reject"]

    @classmethod
    def fits(cls, value: Any) -> bool:
        return isinstance(value, dict) and value.get("type") == "tool_approval"

    @property
    def hint(self) -> str:
        return _hint(self._allowed)

    @property
    def choices(self) -> tuple[Choice, ...]:
        return _word_choices(self._allowed)

    def from_text(self, text: str) -> Any:
        return _decision_in(text, self._allowed)

    def from_data(self, data: Any) -> Any:
        if isinstance(data, str | bool):
            return self.from_text(_word(data))
        if reason := mismatch(data, self._schema):
            raise InvalidAnswer(reason)
        return _checked(data, self._allowed)


class Inbox:
    """The Agent Inbox's requests: one, or a list; the answer is always a list of responses."""

    def __init__(self, value: Any) -> None:
        requests = value if isinstance(value, list) else [value]
        self._allowed: list[list[str]] = [_inbox_types(request["config"]) for request in requests]

    @classmethod
    def fits(cls, value: Any) -> bool:
        requests = value if isinstance(value, list) else [value]
        return _all_have(requests, "action_request", "config") and all(isinstance(r["config"], dict) for r in requests)

    @property
    def hint(self) -> str:
        if len(self._allowed) == 1:
            return _inbox_hint(self._allowed[0])
        return "Answer 'approve all' or 'reject all', or each with data: {\"responses\": [{\"type\": ...}, ...]}."

    @property
    def choices(self) -> tuple[Choice, ...]:
        if len(self._allowed) > 1:
            return _ALL
        words = {"accept": "approve", "ignore": "reject"}
        return in_words(*(word for kind, word in words.items() if kind in self._allowed[0]))

    def from_text(self, text: str) -> Any:
        approval = read_approval(text)
        if len(self._allowed) > 1 and (approval is None or (approval.approved and not approval.everything)):
            raise InvalidAnswer("it does not say whether it is for all of the requests")
        return [_inbox_response(text, approval, allowed) for allowed in self._allowed]

    def from_data(self, data: Any) -> Any:
        if isinstance(data, str | bool):
            return self.from_text(_word(data))
        responses = data.get("responses") if isinstance(data, dict) and "responses" in data else data
        responses = responses if isinstance(responses, list) else [responses]
        if len(responses) != len(self._allowed):
            raise InvalidAnswer(f"it must hold {len(self._allowed)} responses")
        return [_inbox_checked(one, allowed) for one, allowed in zip(responses, self._allowed, strict=True)]


def _word_choices(allowed: Sequence[str]) -> tuple[Choice, ...]:
    """The decisions that a word alone makes."""
    return in_words(*(word for word in ("approve", "reject") if word in allowed))


def _decision_in(text: str, allowed: Sequence[str]) -> Metadata:
    """A decision in words. A response needs its word in front, unless nothing else is allowed."""
    words = read_response(text)
    if "respond" in allowed and (words is not None or len(allowed) == 1):
        return {"type": "respond", "message": text if words is None else words}
    return _decision(_clear(text), allowed)


def _decision(approval: ApprovalWords, allowed: Sequence[str]) -> Metadata:
    kind = "approve" if approval.approved else "reject"
    if kind not in allowed:
        raise InvalidAnswer(f"{kind} is not allowed here")
    return {"type": kind} if approval.reason is None else {"type": kind, "message": approval.reason}


def _checked(decision: Any, allowed: Sequence[str]) -> Metadata:
    """A decision that came as data, unchanged, if the graph takes it."""
    if not isinstance(decision, dict) or decision.get("type") not in allowed:
        raise InvalidAnswer(f"each decision's type must be {_either(allowed)}")
    match decision:
        case {"type": "edit", "edited_action": {"name": str(), "args": dict()}}:
            return decision
        case {"type": "edit"}:
            raise InvalidAnswer("an edit needs edited_action with name and args")
        case {"type": "respond", "message": str()} | {"type": "approve"}:
            return decision
        case {"type": "reject"} if isinstance(decision.get("message", ""), str):
            return decision
    raise InvalidAnswer("a decision's message must be text")


def _decision_types(schema: Metadata) -> list[str]:
    """The decisions that a schema takes: the constants of its branches' `type`."""
    properties = [resolved(branch.get("properties"), schema) for branch in branches(schema, schema)]
    kinds = [resolved(fields.get("type"), schema).get("const") for fields in properties]
    return [kind for kind in kinds if isinstance(kind, str)]


_INBOX = {"accept": "allow_accept", "edit": "allow_edit", "response": "allow_respond", "ignore": "allow_ignore"}


def _inbox_types(config: Metadata) -> list[str]:
    return [kind for kind, key in _INBOX.items() if config.get(key)]


def _inbox_response(text: str, approval: ApprovalWords | None, allowed: Sequence[str]) -> Metadata:
    """The inbox response of a text; where free words are allowed, other text is a response to the agent."""
    if "response" in allowed and (words := read_response(text)) is not None:
        return {"type": "response", "args": words}
    if "ignore" in allowed and text.strip().casefold() == "ignore":
        return {"type": "ignore", "args": None}
    if approval and approval.approved and "accept" in allowed:
        return {"type": "accept", "args": None}
    if approval and not approval.approved and "ignore" in allowed and not (approval.reason and "response" in allowed):
        return {"type": "ignore", "args": None}
    if "response" in allowed and not (approval and approval.approved):
        return {"type": "response", "args": text}
    raise InvalidAnswer(_UNCLEAR if approval is None else "that is not allowed here")


def _inbox_checked(response: Any, allowed: Sequence[str]) -> Metadata:
    if not isinstance(response, dict) or response.get("type") not in allowed:
        raise InvalidAnswer(f"each response's type must be {_either(allowed)}")
    match response:
        case {"type": "edit", "args": {"action": str(), "args": dict()}} | {"type": "response", "args": str()}:
            return response
        case {"type": "edit" | "response"}:
            raise InvalidAnswer("an edit needs args with action and args, a response needs text as args")
    return {"args": None, **response}


def _clear(text: str) -> ApprovalWords:
    if (approval := read_approval(text)) is None:
        raise InvalidAnswer(_UNCLEAR)
    return approval


def _word(data: str | bool) -> str:
    """The word for an approval that came as data."""
    return data if isinstance(data, str) else ("yes" if data else "no")


def _all_have(values: Any, *keys: str) -> bool:
    return (
        isinstance(values, list)
        and bool(values)
        and all(isinstance(value, dict) and all(key in value for key in keys) for value in values)
    )


_EDIT = '{"type": "edit", "edited_action": {"name": ..., "args": {...}}}'
_INBOX_EDIT = '{"type": "edit", "args": {"action": ..., "args": {...}}}'


def _hint(allowed: Sequence[str]) -> str:
    """How a decision is answered: in words, except an edit, which only data can hold."""
    if list(allowed) == ["respond"]:
        return "Answer with the text of your response."
    words = [f"'{kind}: <text>'" if kind == "respond" else kind for kind in allowed if kind != "edit"]
    return _in_words_or_data(words, _EDIT if "edit" in allowed else None)


def _inbox_hint(allowed: Sequence[str]) -> str:
    words = ["any other text as a response" if kind == "response" else kind for kind in allowed if kind != "edit"]
    words.sort(key=lambda each: each.startswith("any"))
    return _in_words_or_data(words, _INBOX_EDIT if "edit" in allowed else None)


def _in_words_or_data(words: Sequence[str], edit: str | None) -> str:
    if not words:
        return f"Edit with data: {edit}."
    return f"Answer {_either(words)}" + (f", or edit with data: {edit}." if edit else ".")


def _either(kinds: Sequence[str]) -> str:
    return " or ".join(kinds) if len(kinds) < 3 else ", ".join(kinds[:-1]) + " or " + kinds[-1]
