"""The shapes of graphs that people write, what each should do, and what is known not to work yet.

A gap is data: a test fails if one of them works, so that it is removed here together with its cause.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from tests.graphs.driving import Template
from tests.graphs.outcomes import COLUMNS, NONE, WORKS

SILENT = frozenset({"model fails", "cancels"})
"""Columns of a graph that calls no model."""

ASKS = frozenset({"asks"})
NO_MESSAGES = frozenset({"history", "remembers"})


@dataclass(frozen=True)
class Shape:
    """Shape: target is a file of shapes/ and a name in it; lacks are the columns that the graph cannot have.

    says is in the answer to the first message (or in its question), never is not.
    """

    target: str
    says: str
    lacks: frozenset[str] = ASKS
    never: str = "\0"
    template: Template | None = None

    @property
    def expected(self) -> Mapping[str, str]:
        return {column: NONE if column in self.lacks else WORKS for column in COLUMNS}


@dataclass(frozen=True)
class Gap:
    """What does not work.

    Shape: columns are those whose outcome is another one than expected; text is whether the answer has other words.
    """

    why: str
    columns: frozenset[str] = field(default_factory=frozenset)
    text: bool = False


PLAIN = ASKS | SILENT
OWN_FIELDS = ASKS | NO_MESSAGES
QUESTION = SILENT
MODEL = "You said: Please remember heron101."

SHAPES: Mapping[str, Shape] = {
    "tools": Shape("chat.py:with_tools", MODEL),
    "responses-api": Shape("chat.py:responses", MODEL),
    "by-hand": Shape("chat.py:by_hand", MODEL),
    "sync-node": Shape("chat.py:sync", MODEL),
    "dataclass-state": Shape("chat.py:dataclass_state", MODEL),
    "pydantic-state": Shape("chat.py:pydantic_state", MODEL),
    "subgraph-with-memory": Shape("chat.py:subgraph", MODEL),
    "context": Shape("runtime.py:context", "plain: Please remember heron101", PLAIN),
    "typed-context": Shape("runtime.py:typed_context", "none: Please remember heron101", PLAIN),
    "store": Shape("runtime.py:store", "call 1: Please remember heron101", PLAIN),
    "runtime-store": Shape("runtime.py:runtime_store", "call 1: Please remember heron101", PLAIN),
    "own-store": Shape("runtime.py:own_store", "call 1: Please remember heron101", PLAIN),
    "own-saver": Shape("runtime.py:own_saver", "heard: Please remember heron101", PLAIN),
    "user-id": Shape("runtime.py:user_id", "user ", PLAIN),
    "auth-user": Shape("runtime.py:auth_user", "user None: ", PLAIN),
    "factory": Shape("factories.py:plain", "plain: Please", PLAIN),
    "factory-uncompiled": Shape("factories.py:uncompiled", "uncompiled: Please", PLAIN),
    "factory-of-config": Shape("factories.py:of_config", "with a thread: Please", PLAIN),
    "factory-of-execution": Shape("factories.py:of_execution", "for a run: Please", PLAIN),
    "factory-of-runtime": Shape("factories.py:of_runtime", "runtime threads.create_run: Please", PLAIN),
    "factory-of-both": Shape("factories.py:of_both", "both threads.create_run: Please", PLAIN),
    "factory-managed": Shape("factories.py:managed", "managed: Please", PLAIN),
    "functional-text": Shape("factories.py:functional_text", "text PLEASE REMEMBER", PLAIN | NO_MESSAGES),
    "functional-asks": Shape("factories.py:functional_asks", "Which city?", QUESTION | NO_MESSAGES),
    "functional-messages": Shape("factories.py:functional_messages", "heard: Please remember", PLAIN),
    "one-field": Shape("states.py:one_field", f"report: {MODEL}", OWN_FIELDS),
    "loose-fields": Shape("states.py:loose_fields", f"report: {MODEL}", OWN_FIELDS, template={"topic": "{text}"}),
    "object-field": Shape(
        "states.py:object_field",
        "spam: Please remember heron101",
        OWN_FIELDS | SILENT,
        template={"letter": {"subject": "{text}"}},
    ),
    "dict-answer": Shape("states.py:dict_answer", "heard: Please remember heron101", PLAIN),
    "operator-add-dicts": Shape("states.py:operator_add_dicts", "heard: Please remember heron101", PLAIN),
    "operator-add-objects": Shape("states.py:operator_add_objects", "heard: Please remember heron101", PLAIN),
    "router": Shape("states.py:router", "routed: Please remember heron101", never="category"),
    "inner-text": Shape("states.py:inner_text", "routed: Please remember heron101", never="secret"),
    "hand-back": Shape("states.py:hand_back", "routed: Please remember heron101", PLAIN, never="Transferring"),
    "asks-text": Shape("questions.py:text", "Which city?", QUESTION),
    "asks-object": Shape("questions.py:object_", "Is this right?", QUESTION),
    "asks-inbox": Shape("questions.py:inbox", "Send it?", QUESTION),
    "asks-twice": Shape("questions.py:twice", "First?", QUESTION),
    "asks-by-error": Shape("questions.py:by_error", "Too long.", QUESTION),
    "asks-before-node": Shape("questions.py:before", "node", QUESTION),
    "asks-in-tool": Shape("questions.py:in_tool", "Send it to", frozenset()),
    "asks-by-middleware": Shape("questions.py:middleware", "remove", frozenset()),
}

GAPS: Mapping[str, Gap] = {
    "asks-by-error": Gap(
        "A node that raises NodeInterrupt asks again until the state has changed.",
        frozenset({"remembers", "asks", "restart"}),
    ),
}
