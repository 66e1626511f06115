"""A project in the shape of LangChain's template of a reacting agent, served as it stands.

Source: the layout and the interfaces of github.com/langchain-ai/react-agent; the code is our own.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
from tests.e2e.conftest import running_edge
from tests.e2e.test_many_agents import says, write
from tests.model_server import ModelServer, answer, model_server, tool_call

PROJECT: Mapping[str, str] = {
    "langgraph.json": """
        {"dependencies": ["."], "graphs": {"agent": "./src/react_agent/graph.py:graph"}, "env": ".env"}
        """,
    "pyproject.toml": """
        [project]
        name = "react-agent"
        version = "0"

        [tool.setuptools]
        package-dir = {"react_agent" = "src/react_agent"}
        """,
    "src/react_agent/__init__.py": """
        '''Finds out and answers.'''

        from react_agent.graph import graph

        __all__ = ["graph"]
        """,
    "src/react_agent/prompts.py": """
        SYSTEM_PROMPT = "You help. It is {system_time}."
        """,
    "src/react_agent/context.py": """
        from __future__ import annotations

        import os
        from dataclasses import dataclass, field, fields
        from typing import Annotated

        from . import prompts


        @dataclass(kw_only=True)
        class Context:
            system_prompt: str = field(default=prompts.SYSTEM_PROMPT, metadata={"description": "What it is told."})
            model: Annotated[str, {"__template_metadata__": {"kind": "llm"}}] = field(
                default="anthropic/nobody", metadata={"description": "Which model, as provider/name."}
            )
            max_search_results: int = field(default=10, metadata={"description": "How much is found."})

            def __post_init__(self) -> None:
                for each in fields(self):
                    if getattr(self, each.name) == each.default:
                        setattr(self, each.name, os.environ.get(each.name.upper(), each.default))
        """,
    "src/react_agent/state.py": """
        from __future__ import annotations

        from dataclasses import dataclass, field
        from typing import Sequence

        from langchain_core.messages import AnyMessage
        from langgraph.graph import add_messages
        from langgraph.managed import IsLastStep
        from typing_extensions import Annotated


        @dataclass
        class InputState:
            messages: Annotated[Sequence[AnyMessage], add_messages] = field(default_factory=list)


        @dataclass
        class State(InputState):
            is_last_step: IsLastStep = field(default=False)
        """,
    "src/react_agent/tools.py": """
        from langgraph.runtime import get_runtime

        from react_agent.context import Context


        async def search(query: str) -> dict[str, object]:
            '''Search for something.'''
            return {"query": query, "most": get_runtime(Context).context.max_search_results}


        TOOLS = [search]
        """,
    "src/react_agent/utils.py": """
        from langchain.chat_models import init_chat_model


        def load_chat_model(fully_specified_name):
            provider, model = fully_specified_name.split("/", maxsplit=1)
            return init_chat_model(model, model_provider=provider)
        """,
    "src/react_agent/graph.py": """
        '''Reasons, and acts.'''

        from typing import Literal

        from langchain_core.messages import AIMessage
        from langgraph.graph import StateGraph
        from langgraph.prebuilt import ToolNode
        from langgraph.runtime import Runtime

        from react_agent.context import Context
        from react_agent.state import InputState, State
        from react_agent.tools import TOOLS
        from react_agent.utils import load_chat_model


        async def call_model(state: State, runtime: Runtime[Context]) -> dict[str, list[AIMessage]]:
            model = load_chat_model(runtime.context.model).bind_tools(TOOLS)
            told = runtime.context.system_prompt.format(system_time="noon")
            said = await model.ainvoke([{"role": "system", "content": told}, *state.messages])
            if state.is_last_step and said.tool_calls:
                return {"messages": [AIMessage(id=said.id, content="Nothing was found in time.")]}
            return {"messages": [said]}


        def route_model_output(state: State) -> Literal["__end__", "tools"]:
            return "tools" if state.messages[-1].tool_calls else "__end__"


        builder = StateGraph(State, input_schema=InputState, context_schema=Context)
        builder.add_node(call_model)
        builder.add_node("tools", ToolNode(TOOLS))
        builder.add_edge("__start__", "call_model")
        builder.add_conditional_edges("call_model", route_model_output)
        builder.add_edge("tools", "call_model")
        graph = builder.compile(name="ReAct Agent")
        """,
}


@asynccontextmanager
async def served(folder: Path) -> AsyncIterator[tuple[ModelServer, httpx.AsyncClient]]:
    """The project, on an edge of its own, and the server that its model runs on."""
    async with model_server() as model:
        for name, text in PROJECT.items():
            write(folder / name, text)
        told = {"OPENAI_API_KEY": "a key", "OPENAI_BASE_URL": model.url, "MODEL": "openai/m"}
        write(folder / ".env", "\n".join(f"{name}={value}" for name, value in told.items()))
        with running_edge("langgraph.json", data=folder / "data", cwd=folder, env={"NO_PROXY": "127.0.0.1"}) as edge:
            async with httpx.AsyncClient(base_url=edge.url, timeout=30) as http, asyncio.timeout(60):
                yield model, http


def last_request(model: ModelServer) -> list[tuple[str, Any]]:
    """What the model was given last, by role."""
    return [(message["role"], message.get("content")) for message in model.requests[-1]["messages"]]


async def test_the_react_template_answers_and_acts_with_the_defaults_of_its_context(tmp_path: Path) -> None:
    async with served(tmp_path) as (model, http):
        card = (await http.get("/.well-known/agent-card.json")).json()
        assert (card["name"], [skill["id"] for skill in card["skills"]]) == ("ReAct Agent", ["search"])

        model.says(answer("I ", "help."), tool_call("search", json.dumps({"query": "it"})), answer("Found."))
        assert await says(http, "/a2a", "Who are you?", contextId="c") == "I help."
        assert model.requests[0]["model"] == "m"
        assert last_request(model) == [("system", "You help. It is noon."), ("user", "Who are you?")]

        assert await says(http, "/a2a", "Find it.", contextId="c") == "Found."
        told = last_request(model)
        assert told[1:4] == [("user", "Who are you?"), ("assistant", "I help."), ("user", "Find it.")]
        assert (told[5][0], json.loads(told[5][1])) == ("tool", {"query": "it", "most": 10})
