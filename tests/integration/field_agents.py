"""Graphs without messages in their state, for test_fields.py."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypedDict

from langgraph.graph import START, StateGraph
from langgraph.types import interrupt
from pydantic import BaseModel


@dataclass
class Starter:
    changeme: str = "example"


class Order(BaseModel):
    item: str
    options: dict[str, int] = {}
    context_id: str = ""


class Receipt(TypedDict):
    total: int
    confirmation: str


class Kept(TypedDict, total=False):
    item: str
    options: dict[str, int]
    context_id: str
    total: int
    confirmation: str


class Loose(TypedDict, total=False):
    one: str
    other: str


async def start(state: Starter) -> dict[str, Any]:
    return {"changeme": f"output of {state.changeme}"}


async def price(state: Order) -> Kept:
    return {"total": sum(state.options.values())}


async def confirm(state: Kept) -> Kept:
    if state["total"] > 100 and interrupt("really?") != "yes":
        return {"confirmation": "dropped"}
    return {"confirmation": f"{state['item']} in {state['context_id']}"}


def _graph(builder: Any, *nodes: Any) -> Any:
    for before, node in zip((START, *(each.__name__ for each in nodes)), nodes, strict=False):
        builder.add_node(node.__name__, node)
        builder.add_edge(before, node.__name__)
    return builder.compile()


class Unspeakable:
    """A value without a JSON form, whose class fails when it is asked for its schema."""

    @classmethod
    def __get_pydantic_core_schema__(cls, *_: Any) -> Any:
        raise RuntimeError("no schema")


class Odd(TypedDict):
    q: str
    calls: Callable[[], int]
    unspeakable: Unspeakable


async def odd_answer(state: Odd) -> dict[str, Any]:
    return {"q": state["q"] * 2}


odd = _graph(StateGraph(Odd), odd_answer)
starter = _graph(StateGraph(Starter), start)
order = _graph(StateGraph(Kept, input_schema=Order, output_schema=Receipt), price, confirm)
loose = _graph(StateGraph(Loose), confirm)
