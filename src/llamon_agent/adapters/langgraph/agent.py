"""A LangGraph graph as an agent: one turn in, run events out.

Every call goes one way: read the thread, decide what the turn means for it, run the graph or not, and read the thread
again, because only what is saved says whether the run is done or waits. The object holds no state of any run.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Sequence
from contextlib import aclosing, contextmanager
from dataclasses import replace
from traceback import walk_tb
from typing import Any

import msgspec
from langchain_core.messages import BaseMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.errors import GraphRecursionError, is_invalid_resume

from llamon_agent.adapters.artifacts import artifact_made
from llamon_agent.adapters.langgraph.checkpoints.access import NOT_KEPT
from llamon_agent.adapters.langgraph.checkpoints.unsaved_graphs import let_graphs_save_nothing
from llamon_agent.adapters.langgraph.checkpoints.whole_writes import save_whole_writes_only
from llamon_agent.adapters.langgraph.content import content_of
from llamon_agent.adapters.langgraph.context import context_for
from llamon_agent.adapters.langgraph.hitl.questions import CallerAnswer, ask
from llamon_agent.adapters.langgraph.plan import GraphCall, Respond, RunGraph, decide_plan
from llamon_agent.adapters.langgraph.resume import AlreadyDone, Past, decide_rest, past_of
from llamon_agent.adapters.langgraph.state import STRUCTURED, GraphResult, StateMapping, result_of_run
from llamon_agent.adapters.langgraph.stream_events import StreamTranslator
from llamon_agent.adapters.langgraph.thread import Graph, Thread, ThreadState, thread_config
from llamon_agent.adapters.langgraph.tool_calls import separate_tool_calls
from llamon_agent.adapters.langgraph.tool_history import with_tool_results
from llamon_agent.adapters.prompts import PrefillToLc, plain_prefill
from llamon_agent.domain.errors import AgentError, BackendError
from llamon_agent.domain.events import AgentEnding, AgentEvent, ArtifactMade, Complete, Delta, Interrupt, Started
from llamon_agent.domain.ids import random_id
from llamon_agent.domain.message import Data
from llamon_agent.domain.task import Artifact
from llamon_agent.runs.ports.agent import Turn

_NOT_THAT = "That answer was not taken: the agent does not accept its form."
_ASKS = "The agent asks for input; call invoke_with_hitl to answer it."

log = logging.getLogger(__name__)


class _Unfinished(Exception):
    """The stream ended, nothing waits for an answer, and yet nodes are next."""


class _NoMemory(Exception):
    """A graph without a checkpointer has raised an interrupt."""


class LangGraphAgent:
    """Drives one graph for all its threads. Shared by all runs.

    One run per thread at a time: the run service holds a lock per context around `run`; whoever calls the other methods
    directly does the same, or two first turns at once seed twice and lose one.
    """

    def __init__(
        self,
        graph: Graph,
        *,
        prefill_to_lc: PrefillToLc = plain_prefill,
        mapping: StateMapping | None = None,
        window_size: int | None = None,
    ) -> None:
        separate_tool_calls(graph)
        save_whole_writes_only(graph)
        let_graphs_save_nothing()
        self._graph = graph
        self._context = context_for(graph)
        self._prefill_to_lc = prefill_to_lc
        self._mapping = mapping or StateMapping()
        self._window_size = window_size

    @property
    def graph(self) -> Graph:
        """What it drives."""
        return self._graph

    @property
    def survives_restart(self) -> bool:
        """Whether its threads outlive the process. See runs.ports.Agent."""
        checkpointer = self._graph.checkpointer
        return bool(checkpointer) and not isinstance(checkpointer, InMemorySaver)

    def run(self, turn: Turn) -> AsyncGenerator[AgentEvent]:
        """Answer one turn. See runs.ports.Agent."""
        call = GraphCall(
            content=content_of(turn.message, turn.prompt),
            message_id=f"{turn.task_id}:{turn.message.message_id}",
            prefill=self._prefill_to_lc(turn.prefill) if turn.prefill else (),
            received=turn.history_received,
            answer=CallerAnswer.of(turn.message, turn.prompt) if turn.answers else None,
            answer_id=turn.answer_id,
        )
        config = thread_config(turn.thread_id, session_id=turn.session_id, task_id=turn.task_id)
        thread = self._thread(config)
        return self._take(thread, call) if turn.attempt == 1 else self._take_again(thread, call, turn)

    async def close_turn(self, thread_id: str) -> None:
        """Put a thread right that nobody goes on with. See runs.ports.Agent."""
        with _agent_errors():
            await self._thread(thread_config(thread_id)).repair()

    async def delete_thread(self, thread_id: str) -> None:
        """Delete a thread. See runs.ports.Agent."""
        with _agent_errors():
            await self._thread(thread_config(thread_id)).delete()

    async def invoke(
        self, prompt: str, *, thread_id: str, prefill_messages: Sequence[BaseMessage] | None = None
    ) -> str:
        """The whole answer to a prompt. Raises: AgentError, also if the graph asks for input (see invoke_with_hitl)."""
        outcome = await self.invoke_with_hitl(prompt, thread_id=thread_id, prefill_messages=prefill_messages)
        if isinstance(outcome, Interrupt):
            raise AgentError(_ASKS)
        return outcome

    async def stream(
        self, prompt: str, *, thread_id: str, prefill_messages: Sequence[BaseMessage] | None = None
    ) -> AsyncIterator[str]:
        """The answer to a prompt, piece by piece.

        Shape:  the pieces joined are what the graph said; where it began anew (text before a tool call, say), an empty
                line is between, and an answer that was not streamed, or not so, comes whole at the end.
        Raises: AgentError, also if the graph asks for input.
        """
        said = ""
        async with aclosing(self._prompted(prompt, thread_id, prefill_messages)) as events:
            async for event in events:
                match event:
                    case Delta(text=text, restart=restart):
                        if text:
                            yield f"\n\n{text}" if restart and said else text
                        said = text if restart else said + text
                    case Complete(text=str() as whole) if whole and whole != said:
                        yield f"\n\n{whole}" if said else whole
                    case Interrupt():
                        raise AgentError(_ASKS)

    async def invoke_with_hitl(
        self,
        prompt: str = "",
        *,
        thread_id: str,
        prefill_messages: Sequence[BaseMessage] | None = None,
        resume: Any = msgspec.UNSET,
    ) -> str | Interrupt:
        """The whole answer, or the questions that the graph waits with.

        Shape:  resume answers the questions of an earlier call, as text or as data, and the prompt is not looked at:
                {"answers": {id: value}} where there are several. An answer that does not fit gives the Interrupt again.
        Raises: AgentError, also if nothing waits for an answer.
        """
        said = ""
        async with aclosing(self._prompted(prompt, thread_id, prefill_messages, resume)) as events:
            async for event in events:
                match event:
                    case Delta(text=text, restart=restart):
                        said = text if restart else said + text
                    case Complete(text=str() as whole):
                        said = whole
                    case Interrupt():
                        return event
        return said

    def _prompted(
        self, prompt: str, thread_id: str, prefill: Sequence[BaseMessage] | None, resume: Any = msgspec.UNSET
    ) -> AsyncGenerator[AgentEvent]:
        answer = None
        if resume is not msgspec.UNSET:
            answer = CallerAnswer(text=resume) if isinstance(resume, str) else CallerAnswer(data=(resume,))
        seeds = prefill or ()
        new_id = random_id()
        call = GraphCall(prompt, message_id=new_id, prefill=seeds, received=len(seeds), answer=answer, answer_id=new_id)
        return self._mended(self._thread(thread_config(thread_id)), call)

    def _thread(self, config: RunnableConfig) -> Thread:
        return Thread(self._graph, config, self._context)

    async def _mended(self, thread: Thread, call: GraphCall) -> AsyncGenerator[AgentEvent]:
        """A call without `close_turn`: closed in the middle, it repairs its thread itself.

        Being closed once the last event is out leaves a pause as it is.
        """
        has_ended = False
        try:
            async with aclosing(self._take(thread, call)) as events:
                async for event in events:
                    has_ended = isinstance(event, AgentEnding)
                    yield event
        except (asyncio.CancelledError, GeneratorExit):
            if not has_ended:
                await self._repair_after_stop(thread)
            raise

    async def _take(self, thread: Thread, call: GraphCall) -> AsyncGenerator[AgentEvent]:
        """A call from its begin on."""
        state = await self._read(thread)
        plan = decide_plan(call, state, self._mapping, self._window_size)
        async with aclosing(self._carried_out(thread, call, plan)) as events:
            async for event in events:
                yield event

    async def _take_again(self, thread: Thread, call: GraphCall, turn: Turn) -> AsyncGenerator[AgentEvent]:
        """What is left of a turn whose process has died in the middle of it."""
        with _agent_errors():
            past = await past_of(thread, turn.task_id)
            state = await thread.read()
        plan: RunGraph | Respond | AlreadyDone | None = None
        if past is not None:
            plan = decide_rest(call, self._begun(call, past), state, past, turn.asked)
        again = self._take(thread, call) if plan is None else self._carried_out(thread, call, plan, past)
        async with aclosing(again) as events:
            async for event in events:
                yield event

    def _begun(self, call: GraphCall, past: Past) -> Started:
        """How a turn was begun, as far as a new message was."""
        first = replace(call, answer=None)
        return decide_plan(first, past.as_it_was(), self._mapping, self._window_size).started

    async def _carried_out(
        self, thread: Thread, call: GraphCall, plan: RunGraph | Respond | AlreadyDone, past: Past | None = None
    ) -> AsyncGenerator[AgentEvent]:
        """The one path of every call: what was decided, done and told."""
        yield plan.started
        if isinstance(plan, Respond):
            if plan.drops_pause:
                with _agent_errors():
                    await thread.repair()
            if past is not None:
                with _agent_errors():
                    for correction in await self._corrections(thread, self._translator(call, past)):
                        yield correction
            yield plan.ending
            return
        if isinstance(plan, AlreadyDone):
            assert past is not None  # else nobody would know
            for told in _ending_of(result_of_run(self._mapping, past.before_for(past.after), past.after), call):
                yield told
            return
        translator = self._translator(call, past)
        try:
            async with aclosing(thread.stream(plan.given)) as chunks:
                async for chunk in chunks:
                    for event in translator.translate(chunk):
                        yield event
            if past is not None:
                translator.before = past.before_for(translator.after)
            last = await self._last_events(thread, translator, call)
        except BackendError:  # where the thread is kept is away; whoever goes on with it puts it right
            raise
        except Exception as exc:  # the graph's own code, which may raise anything
            if not is_invalid_resume(exc):
                await self._repair_after_stop(thread)
                raise AgentError(_public(exc)) from exc
            questions = (await self._read(thread)).questions
            last = [*await self._corrections(thread, translator), ask(questions, _NOT_THAT)]
        for final in last:
            yield final

    async def _read(self, thread: Thread) -> ThreadState:
        """The thread as it is; one that a lost process left half done is put right first."""
        with _agent_errors():
            state = await thread.read()
            if state.unfinished or (not state.questions and with_tool_results(state.messages)):
                await thread.repair()
                state = await thread.read()
            return state

    async def _last_events(self, thread: Thread, translator: StreamTranslator, call: GraphCall) -> list[AgentEvent]:
        """What the run has come to, by what is saved of it: its question, or its artifacts and its answer."""
        state = await thread.read()
        if state.questions:
            return [*await self._corrections(thread, translator), ask(state.questions)]
        if state.unfinished:
            raise _Unfinished
        if translator.interrupted:
            raise _NoMemory
        return list(_ending_of(result_of_run(self._mapping, translator.before, translator.after), call))

    def _translator(self, call: GraphCall, past: Past | None) -> StreamTranslator:
        """The translator of a run. After an answered question, only the attempt itself knows which text is its own."""
        translator = StreamTranslator(self._mapping.output_key, goes_on=past is not None and call.answer is None)
        translator.before = past.before if past is not None else None
        return translator

    async def _corrections(self, thread: Thread, translator: StreamTranslator) -> Sequence[Delta]:
        """Withdraws, at a pause, the text that is not in the state."""
        return translator.at_pause(await thread.messages_at_pause()) if thread.is_saved else ()

    async def _repair_after_stop(self, thread: Thread) -> None:
        """Put the thread right behind a run that was stopped or has failed; the caller hears of what stopped it."""
        try:
            await thread.repair()
        except Exception:  # the graph's own code again, or its checkpointer's; the run has ended one way or another
            log.warning("could not repair the thread after a run; the next turn will try again", exc_info=True)


def _ending_of(outcome: GraphResult, call: GraphCall) -> Iterator[ArtifactMade | Complete]:
    """What a run has come to: each file of the answer under its name, its structured response, and its text.

    Shape: artifacts are called after the answer, so that a run that tells them once more replaces them.
    """
    for number, file in enumerate(outcome.files, 1):
        yield artifact_made(Artifact(artifact_id=f"{call.answer_id}-{number}", parts=(file,), name=file.filename))
    if outcome.data is not msgspec.UNSET:
        artifact_id = f"{call.answer_id}-{STRUCTURED}"
        yield artifact_made(Artifact(artifact_id=artifact_id, parts=(Data(data=outcome.data),), name=STRUCTURED))
    yield Complete(text=outcome.text or "")


@contextmanager
def _agent_errors() -> Iterator[None]:
    """Whatever fails inside is the agent's failure, but for where its threads are kept."""
    try:
        yield
    except BackendError:
        raise
    except Exception as exc:  # a checkpointer may be the agent author's, too
        raise AgentError(_public(exc)) from exc


def _public(error: Exception) -> str | None:
    """What a caller may know of a failure; None is our general text. Never the error's own words."""
    match error:
        case AgentError(public=public):  # from inside the graph, where somebody wrote it for the caller
            return public
        case GraphRecursionError():
            return "The agent did not finish within its limit of steps."
        case _Unfinished():
            return "The agent stopped before it was finished."
        case _NoMemory():
            return "The agent asked for input, but it keeps no state to go on from; it needs a checkpointer."
    return NOT_KEPT if _failed_to_save(error) else None


def _failed_to_save(error: Exception) -> bool:
    """Whether it was raised while a value was encoded for a checkpoint: the agent's state, or what it asks.

    Its type does not tell, as the encoder raises TypeError. Source: langgraph SerializerProtocol.dumps_typed.
    """
    return any(frame.f_code.co_name == "dumps_typed" for frame, _line in walk_tb(error.__traceback__))
