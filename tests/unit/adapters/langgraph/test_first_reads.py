"""The fields that a graph's first step reads are known from its code, or it is said that they are not."""

import functools
import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypedDict

import pytest
from langchain_core.runnables import RunnableLambda, RunnablePassthrough
from langgraph.graph import END, START, MessagesState, StateGraph
from pydantic import BaseModel

from llamon_agent.adapters.langgraph.first_reads import Reads, first_reads
from llamon_agent.adapters.langgraph.schema import ignores_messages, schema_of
from llamon_agent.adapters.langgraph.state import StateMapping, state_use


class Rag(TypedDict):
    """As tutorials on retrieval write it."""

    question: str
    generation: str
    documents: list[str]
    notes: Annotated[list[str], operator.add]


def retrieve(state: Rag) -> Any:
    documents = [state["question"]]
    return {"documents": documents, "question": state["question"]}


async def generate(state: Rag) -> Any:
    return {"generation": f"{state['documents']} {state['question']}"}


def may_have(state: Any, limit: int = 1) -> Any:
    if "notes" in state or state.get("generation", ""):
        state["documents"] = []
    return {**state, "generation": state["question"]}


def gives_it_on(state: Any) -> Any:
    return [helper(1, state), helper(1, again=2, state=state)]


def helper(_number: int, state: Any, *, again: Any = None) -> Any:
    """Gives it on, too, without an end."""
    return state["question"] if again is None else none_of_it(state)


def none_of_it(state: Any) -> Any:
    state["generation"] = "x"
    return state


def gives_it_on_forever(state: Any) -> Any:
    return gives_it_on_forever(state)


def gives_it_to_a_wrong_place(state: Any) -> Any:
    return nothing(state)  # type: ignore[call-arg]


def gives_it_to_a_wrong_name(state: Any) -> Any:
    return helper(1, "a", more=state)  # type: ignore[call-arg]


def gives_it_away(state: Rag) -> Any:
    return str(state)


def copies_it_for_other_code(state: Any) -> Any:
    return str({**state, "question": "x"})


def calls_a_method(state: Any) -> Any:
    return dict(state.items())


def nothing() -> None:
    return None


def traced(node: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(node)
    def wrapper(*given: Any) -> Any:
        return node(*given)

    return wrapper


@traced
def traced_node(state: Rag) -> Any:
    return {"generation": state["question"]}


class Nodes:
    def read(self, state: Rag) -> Any:
        return {"generation": state["question"]}

    @traced
    def read_traced(self, state: Rag) -> Any:
        return {"generation": f"{self} {state['question']}"}

    def __call__(self, state: Rag) -> Any:
        return {"generation": state["question"]}


class Wrapped:
    """A callable whose `func` is itself."""

    def __getattr__(self, name: str) -> Any:
        if name == "func":
            return self
        raise AttributeError(name)

    def __call__(self, state: Rag) -> Any:
        return {"generation": state["question"]}


def route(state: Rag) -> Literal["retrieve", "generate"]:
    return "retrieve" if state["question"] else "generate"


def built(first: Any, schema: Any = Rag) -> Any:
    builder = StateGraph(schema)
    builder.add_node("first", first)
    builder.add_node("generate", generate)
    builder.add_edge(START, "first").add_edge("first", "generate")
    return builder


def reads(*needed: str, optional: tuple[str, ...] = ()) -> Reads:
    return Reads(frozenset(needed), frozenset(optional))


@pytest.mark.parametrize(
    ("node", "expected"),
    [
        (retrieve, reads("question")),
        (may_have, reads("question", optional=("generation",))),
        (functools.partial(may_have, limit=2), reads("question", optional=("generation",))),
        (functools.partial(helper, 1), reads("question")),
        (traced_node, reads("question")),
        (traced(Nodes()), None),
        (Nodes().read, reads("question")),
        (Nodes().read_traced, reads("question")),
        (Wrapped(), None),
        (RunnableLambda(retrieve), reads("question")),
        (gives_it_on, reads("question")),
        (gives_it_on_forever, None),
        (gives_it_to_a_wrong_place, None),
        (gives_it_to_a_wrong_name, None),
        (gives_it_away, None),
        (copies_it_for_other_code, None),
        (calls_a_method, None),
        (Nodes(), None),
        (lambda state: {"generation": state["question"]}, None),
        (RunnablePassthrough(), None),
    ],
)
def test_a_node_reads_what_its_code_names(node: Any, expected: Reads | None) -> None:
    assert first_reads(built(node)) == expected


def test_all_first_nodes_count_and_what_chooses_among_them() -> None:
    builder = StateGraph(Rag)
    builder.add_node(retrieve)
    builder.add_node(generate)
    builder.add_conditional_edges(START, route)
    assert first_reads(builder) == reads("question", "documents")


def test_a_first_step_without_known_code_is_not_known() -> None:
    inner = built(retrieve).compile()
    assert first_reads(built(inner)) is None
    assert first_reads(StateGraph(Rag)) is None
    made = eval("lambda state: state['question']")  # code without a file
    assert first_reads(built(made)) is None


class Mail(TypedDict):
    """As LangGraph's guide on thinking in graphs writes it: the messages are notes of the nodes."""

    email: str
    sender: str
    draft: str | None
    messages: list[Any] | None


class Chat(MessagesState):
    topic: str
    notes: Annotated[list[str], operator.add]


class Loose(MessagesState, total=False):
    topic: str


def read_mail(state: Mail) -> Any:
    return {"messages": [f"Processing {state['email']}"]}


def draft(state: Mail) -> Any:
    return {"draft": f"{state['sender']}: {state['email']}"}


def look_up(state: Any) -> Any:
    return {"topic": state["topic"]}


def take_notes(state: Any) -> Any:
    return {"notes": [*state["notes"], "one"]}


def converse(state: Any) -> Any:
    return {"messages": [("ai", state["messages"][-1].text)]}


@pytest.mark.parametrize(
    ("schema", "nodes", "ignored"),
    [
        (Mail, [read_mail, draft], True),
        (Mail, [read_mail, gives_it_away], False),
        (Chat, [look_up], True),
        (Chat, [look_up, converse], False),
        (Chat, [take_notes], False),
        (Chat, [none_of_it], False),
        (Loose, [look_up], False),
        (MessagesState, [converse], False),
    ],
)
def test_a_graph_ignores_messages_that_no_node_reads_if_it_needs_another_field(
    schema: Any, nodes: list[Any], ignored: bool
) -> None:
    builder = StateGraph(schema).add_sequence(nodes)
    builder.add_edge(START, nodes[0].__name__)
    graph = builder.compile()
    assert ignores_messages(graph) is ignored
    assert not ignores_messages(RunnablePassthrough())
    if schema is Mail and ignored:
        use = state_use(graph, StateMapping())
        assert (use.takes_fields, use.text_field) == (True, "email")


@dataclass
class Asked:
    topic: str = ""
    style: str = ""


def by_attribute(state: Any) -> Any:
    state.style = "plain"
    return {"style": state.topic}


class Strict(BaseModel):
    topic: str
    style: str


class Relaxed(BaseModel):
    topic: str = ""
    style: str = ""


@pytest.mark.parametrize(
    ("node", "schema", "field"),
    [
        (retrieve, Rag, "question"),
        (may_have, Rag, "question"),
        (generate, Rag, "question"),
        (gives_it_away, Rag, None),
        (by_attribute, Asked, "topic"),
        (by_attribute, Relaxed, "topic"),
        (by_attribute, Strict, None),
    ],
)
def test_text_fills_the_only_string_field_that_the_first_step_reads(node: Any, schema: Any, field: str | None) -> None:
    builder = StateGraph(schema)
    builder.add_node("first", node)
    builder.add_edge(START, "first").add_edge("first", END)
    assert schema_of(builder.compile()).text_field == field
