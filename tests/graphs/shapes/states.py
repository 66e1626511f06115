"""States without messages, with messages of other forms, and answers that are not where one looks first."""

import operator
from typing import Annotated, Any, TypedDict

from langchain.chat_models import init_chat_model
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.graph import START, MessagesState, StateGraph
from pydantic import BaseModel

model = init_chat_model("openai:stub")


def _of(schema: Any, *nodes: Any, **more: Any) -> Any:
    builder = StateGraph(schema, **more)
    builder.add_sequence([(node.__name__, node) for node in nodes])
    return builder.add_edge(START, nodes[0].__name__).compile()


class Topic(TypedDict):
    topic: str
    report: str


class TopicIn(TypedDict):
    topic: str


class Loose(TypedDict, total=False):
    topic: str
    report: str


class Letter(TypedDict):
    letter: dict[str, str]
    verdict: str


class LetterIn(TypedDict):
    letter: dict[str, str]


async def reports(state: Topic) -> dict[str, Any]:
    said = await model.ainvoke([HumanMessage(state["topic"])])
    return {"report": f"report: {said.content}"}


async def judges(state: Letter) -> dict[str, Any]:
    return {"verdict": f"spam: {state['letter']['subject']}"}


one_field = _of(Topic, reports, input_schema=TopicIn)
loose_fields = _of(Loose, reports)
object_field = _of(Letter, judges, input_schema=LetterIn)


class Dicts(TypedDict):
    messages: Annotated[list[Any], operator.add]


async def says_a_dict(state: MessagesState) -> dict[str, Any]:
    return {"messages": [{"role": "assistant", "content": f"heard: {_human(state)}"}]}


async def reads_dicts(state: Dicts) -> dict[str, Any]:
    """Subscripts its messages, as they came."""
    heard = ", ".join(each["content"] for each in state["messages"] if each["role"] == "user")
    return {"messages": [{"role": "assistant", "content": f"heard: {heard}"}]}


async def reads_objects(state: Dicts) -> dict[str, Any]:
    heard = ", ".join(each.content for each in state["messages"] if each.type == "human")
    return {"messages": [AIMessage(f"heard: {heard}")]}


def _human(state: MessagesState) -> str:
    return ", ".join(str(message.content) for message in state["messages"] if message.type == "human")


dict_answer = _of(MessagesState, says_a_dict)
operator_add_dicts = _of(Dicts, reads_dicts)
operator_add_objects = _of(Dicts, reads_objects)


class Category(BaseModel):
    category: str


async def routes(state: MessagesState) -> dict[str, Any]:
    """What this model call says is for the graph only."""
    chosen = await model.with_structured_output(Category, method="json_schema").ainvoke(state["messages"])
    assert isinstance(chosen, Category)
    return {}


async def thinks(state: MessagesState) -> dict[str, Any]:
    await model.ainvoke([HumanMessage("secret thoughts"), *state["messages"]])
    return {}


async def answers(state: MessagesState) -> dict[str, Any]:
    return {"messages": [AIMessage(f"routed: {_human(state)}")]}


async def hands_back(state: MessagesState) -> dict[str, Any]:
    """As a supervisor's worker does, at the end."""
    call = {"name": "transfer_back_to_supervisor", "args": {}, "id": "back-1"}
    back = AIMessage("Transferring back to supervisor", tool_calls=[call], name="worker")
    return {"messages": [back, ToolMessage("Successfully transferred back", tool_call_id="back-1", name=call["name"])]}


router = _of(MessagesState, routes, answers)
inner_text = _of(MessagesState, answers, thinks)
hand_back = _of(MessagesState, answers, hands_back)
