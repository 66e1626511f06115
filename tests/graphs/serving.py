"""Serve a langgraph.json by the real command, drive each of its graphs, kill the edge and look again."""

import signal
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
from tests.e2e.conftest import Edge, running_edge
from tests.graphs.driving import AFTER, BEFORE, LIMIT_S, Drive, Step, Template, outcome_of
from tests.graphs.faults import fault, refusal, refused_by
from tests.graphs.outcomes import FAILS, WORKS, Found, Outcome
from tests.model_server import ModelServer

from llamon_agent.config.langgraph_json import agent_key

NAMED_KEYS = (
    "ARCADE_API_KEY", "COHERE_API_KEY", "DASHSCOPE_API_KEY", "DEEPSEEK_API_KEY", "EXA_API_KEY", "FIRECRAWL_API_KEY",
    "FIREWORKS_API_KEY", "GOOGLE_API_KEY", "GROQ_API_KEY", "MISTRAL_API_KEY", "NVIDIA_API_KEY", "OPENROUTER_API_KEY",
    "PERPLEXITY_API_KEY", "PINECONE_API_KEY", "TAVILY_API_KEY", "TOGETHER_API_KEY", "XAI_API_KEY",
)  # fmt: skip
"""Packages ask for these when their objects are made, before anything is called."""


def environment(model_url: str) -> dict[str, str]:
    """What a project is given: addresses of the model, and keys. Nothing in it is of ours."""
    root = model_url.removesuffix("/v1")
    return dict.fromkeys(NAMED_KEYS, "stub") | {
        "ANTHROPIC_API_KEY": "stub",
        "ANTHROPIC_API_URL": root,
        "ANTHROPIC_BASE_URL": root,
        "LANGCHAIN_TRACING_V2": "false",
        "LANGSMITH_TRACING": "false",
        "OLLAMA_BASE_URL": root,
        "OLLAMA_HOST": root,
        "OPENAI_API_BASE": model_url,
        "OPENAI_API_KEY": "stub",
        "OPENAI_BASE_URL": model_url,
        "TAVILY_API_BASE_URL": root,
    }


@dataclass
class Site:
    """A langgraph.json, and what it is served with.

    Shape: data is a folder to be made; env are further variables; founds are filled while they are found, and `report`
           is called at each step.
    """

    project: str
    target: Path
    data: Path
    python: Path
    model: ModelServer
    templates: Mapping[str, Template] = field(default_factory=dict)
    env: Mapping[str, str] = field(default_factory=dict)
    founds: dict[str, Found] = field(default_factory=dict)
    report: Callable[[], None] = lambda: None

    def serving(self) -> AbstractContextManager[Edge]:
        """The edge, in the project's folder; it is gone when the context ends, killed or not."""
        env = environment(self.model.url) | dict(self.env)
        return running_edge(self.target.name, data=self.data, cwd=self.target.parent, env=env, python=self.python)

    @property
    def log(self) -> str:
        log = self.data.parent / f"{self.data.name}.log"
        return log.read_text(errors="replace") if log.exists() else ""

    def starts(self, graph: str, *, works: bool) -> None:
        """Keep whether a graph is served."""
        why = "" if works else refusal(self.log, graph)
        self.note(graph, "starts", Outcome(WORKS if works else FAILS, why))
        if not works:
            self.founds[graph].fault = refused_by(why, self.target.parent)

    def note(self, graph: str, column: str, outcome: Outcome, log_from: int = 0) -> bool:
        """Keep an outcome, and whose fault the first failure is. Whether it works, or is not there at all."""
        found = self.founds.setdefault(graph, Found(self.project, graph))
        found.columns[column] = outcome
        if outcome.verdict == FAILS and not found.fault:
            found.fault = fault(self.log[log_from:], self.target.parent)
        self.report()
        return outcome.verdict != FAILS


async def drive(site: Site, graphs: list[str]) -> None:
    """Fill the outcomes of these graphs."""
    drives: dict[str, Drive] = {}
    async with httpx.AsyncClient(timeout=LIMIT_S) as http:
        try:
            with site.serving() as edge:
                places = await served(http, edge.url, graphs)
                drives |= {name: Drive(http, url, site.model, site.templates.get(name)) for name, url in places.items()}
                for name in graphs:
                    site.starts(name, works=name in places)
                for name, driven in drives.items():
                    await _steps(site, name, driven, BEFORE)
                edge.process.send_signal(signal.SIGKILL)
                edge.process.wait(10)
            with site.serving() as edge:
                for name, url in (await served(http, edge.url, graphs)).items():
                    drives[name].moved(url)
                    if site.founds[name].columns["sends"].verdict == WORKS:
                        await _steps(site, name, drives[name], AFTER)
        except AssertionError:  # it did not start
            for name in graphs:
                if name not in drives:
                    site.starts(name, works=False)
                else:
                    site.note(name, "restart", Outcome(FAILS, "the edge did not start again"))


async def _steps(site: Site, name: str, driven: Drive, steps: Mapping[str, Step]) -> None:
    """The columns in their order; without an answer to a plain call, no others are tried."""
    for column, step in steps.items():
        log_from = len(site.log)
        if not site.note(name, column, await outcome_of(step(driven)), log_from) and column == "sends":
            return


async def served(http: httpx.AsyncClient, url: str, graphs: list[str]) -> dict[str, str]:
    """Where each graph that is served is called, by its name in the langgraph.json."""
    listed: Any = (await http.get(f"{url}/agents")).json()
    names = {agent["name"] for agent in listed["agents"]}
    return {graph: f"{url}/a2a/{agent_key(graph)}/" for graph in graphs if agent_key(graph) in names}
