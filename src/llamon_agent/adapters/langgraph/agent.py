"""A LangGraph graph as an agent: one turn in, run events out.

Every call does the same: read the thread, decide what the turn means for it, run the graph or not, and read the thread
again, because only the saved state shows whether the run is done or waits. The object holds no state of any run.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Any

import msgspec
from langchain_core.messages import BaseMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.base import BaseStore

from llamon_agent.adapters.langgraph.checkpoints.patches import allow_unsaved_graphs, save_whole_writes_only
from llamon_agent.adapters.langgraph.context import context_fields, context_for
from llamon_agent.adapters.langgraph.entries import form_of, in_form, keep_readable_messages
from llamon_agent.adapters.langgraph.factory import GraphSource
from llamon_agent.adapters.langgraph.failures import NoMemory, Unfinished, agent_errors, public_text
from llamon_agent.adapters.langgraph.hitl.questions import CallerAnswer, ask
from llamon_agent.adapters.langgraph.plan import GraphCall, Respond, RunGraph, decide_plan
from llamon_agent.adapters.langgraph.resume import AlreadyDone, Past, decide_rest, past_of
from llamon_agent.adapters.langgraph.run_values import NO_VALUES, RunValues
from llamon_agent.adapters.langgraph.schema import IDS, Placed
from llamon_agent.adapters.langgraph.state import (
    GraphResult,
    StateMapping,
    StateUse,
    content_of,
    ending_of,
    result_of_entry,
    result_of_run,
    result_with_fields,
    state_use,
)
from llamon_agent.adapters.langgraph.stores.owned import Table
from llamon_agent.adapters.langgraph.stream_events import StreamTranslator
from llamon_agent.adapters.langgraph.thread import Graph, Thread, ThreadState, thread_config
from llamon_agent.adapters.langgraph.tool_calls import separate_tool_calls
from llamon_agent.adapters.langgraph.versions import is_invalid_resume
from llamon_agent.adapters.prompts import PrefillToLc, plain_prefill
from llamon_agent.domain.caller import DEFAULT_PRINCIPAL
from llamon_agent.domain.errors import AgentError, AnswerIncomplete, BackendError
from llamon_agent.domain.events import AgentEnding, AgentEvent, ArtifactMade, Complete, Delta, Interrupt, Started
from llamon_agent.domain.ids import random_id
from llamon_agent.domain.message import Data, Message, Role, Text
from llamon_agent.runs.live_task import AnswerBuffer
from llamon_agent.runs.ports.agent import Turn

_NOT_THAT = "That answer was not taken: the agent does not accept its form."
_ASKS = "The agent asks for input; call invoke_with_hitl to answer it."

log = logging.getLogger(__name__)


Plan = RunGraph | Respond | AlreadyDone


class LangGraphAgent:
    """Drives one graph for all its threads. Shared by all runs.

    One run per thread at a time: the run service holds a lock per context around `run`. Callers of the other methods
    must do the same, or two first turns at once seed twice and one is lost.
    """

    def __init__(
        self,
        graph: Graph | GraphSource,
        *,
        prefill_to_lc: PrefillToLc = plain_prefill,
        mapping: StateMapping | None = None,
        window_size: int | None = None,
        values: RunValues = NO_VALUES,
        stores: Table | None = None,
    ) -> None:
        self._source = source = graph if isinstance(graph, GraphSource) else GraphSource(graph)
        graph = source.graph
        separate_tool_calls(graph)
        save_whole_writes_only(graph)
        allow_unsaved_graphs()
        keep_readable_messages()
        self._graph = graph
        self._values = values
        self._all_stores = stores
        self._stores = stores if graph.store is None else None
        self._context = context_for(graph, values.context)
        self._context_fields = context_fields(graph)
        self._prefill_to_lc = prefill_to_lc
        self._mapping = mapping or StateMapping()
        self._use = state_use(graph, self._mapping)
        self._form = form_of(graph)
        self._window_size = window_size

    @property
    def graph(self) -> Graph:
        """The graph that it drives, or, where each run makes its own, the one outside of runs."""
        return self._graph

    @property
    def use(self) -> StateUse:
        """How the graph's state is used."""
        return self._use

    @property
    def survives_restart(self) -> bool:
        """Whether its threads outlive the process. See runs.ports.Agent."""
        checkpointer = self._graph.checkpointer
        return bool(checkpointer) and not isinstance(checkpointer, InMemorySaver)

    def objection(self, message: Message) -> str | None:
        """Why a message cannot begin a turn. See runs.ports.ChecksMessages."""
        placed = self._use.placed(message, {})
        return None if placed is None else placed.problem

    def run(self, turn: Turn) -> AsyncGenerator[AgentEvent]:
        """Answer one turn. See runs.ports.Agent."""
        if self._source.make is not None:
            return self._with_made_graph(self._thread_of(turn), lambda agent: agent.run(turn))
        call = GraphCall(
            content=content_of(turn.message, turn.prompt),
            message_id=f"{turn.task_id}:{turn.message.message_id}",
            prefill=self._prefill_to_lc(turn.prefill) if turn.prefill else (),
            received=turn.history_received,
            answer=CallerAnswer.of(turn.message, turn.prompt) if turn.answers else None,
            answer_id=turn.answer_id,
            task_id=turn.task_id,
            placed=self._use.placed(turn.message, {name: getattr(turn, name) for name in IDS}),
        )
        return self._events(self._thread_of(turn), call, None if turn.attempt == 1 else turn)

    async def close_turn(self, thread_id: str) -> None:
        """Repair a thread whose turn will not go on. See runs.ports.Agent."""
        with agent_errors():
            await self._thread(thread_config(thread_id)).repair()

    async def delete_thread(self, thread_id: str) -> None:
        """Delete a thread. See runs.ports.Agent."""
        with agent_errors():
            await self._thread(thread_config(thread_id)).delete()

    async def prune_thread(self, thread_id: str, *, completed: str | None) -> bool:
        """Delete a thread's old checkpoints. See runs.ports.PrunesThreads."""
        with agent_errors():
            return await self._thread(thread_config(thread_id)).prune(completed=completed)

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

        Shape:  the joined pieces are the graph's text. Where it began anew (after a tool call, say), an empty line is
                between; an answer that was not streamed, or streamed differently, comes whole at the end.
        Raises: AgentError, also if the graph asks for input.
        """
        answer, piece, begun = AnswerBuffer(""), None, False
        async with aclosing(self._prompted(prompt, thread_id, prefill_messages)) as events:
            async for event in events:
                match event:
                    case Delta(text=text, restart=restart):
                        piece = answer.add(text, restart=restart)
                    case Complete(text=whole):
                        piece = answer.closing(whole)
                    case Interrupt():
                        raise AgentError(_ASKS)
                if piece is not None and piece.text:
                    yield f"\n\n{piece.text}" if begun and not piece.append else piece.text
                    piece, begun = None, True

    async def invoke_with_hitl(
        self,
        prompt: str = "",
        *,
        thread_id: str,
        prefill_messages: Sequence[BaseMessage] | None = None,
        resume: Any = msgspec.UNSET,
    ) -> str | Interrupt:
        """The whole answer, or the questions that the graph asks.

        Shape:  resume answers the questions of an earlier call, as text or as data, and the prompt is ignored:
                {"answers": {id: value}} where there are several. An answer that does not fit gives the Interrupt again.
        Raises: AgentError, also if no question is pending.
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
        if self._source.make is not None:
            thread = self._thread(thread_config(thread_id))
            return self._with_made_graph(thread, lambda agent: agent._prompted(prompt, thread_id, prefill, resume))
        seeds = prefill or ()
        new_id = random_id()
        answers = resume is not msgspec.UNSET
        prompt = resume if isinstance(resume, str) else "" if answers else prompt
        part = Data(data=resume) if answers and not isinstance(resume, str) else Text(text=prompt)
        message = Message(message_id=new_id, role=Role.USER, parts=(part,))
        call = GraphCall(
            content_of(message, prompt),
            message_id=new_id,
            prefill=seeds,
            received=len(seeds),
            answer=CallerAnswer.of(message, prompt) if answers else None,
            answer_id=new_id,
            placed=self._use.placed(message, {"thread_id": thread_id}),
        )
        thread = self._thread(thread_config(thread_id))
        return self._repairing(thread, self._events(thread, call))

    async def _with_made_graph(
        self, thread: Thread, begin: Callable[["LangGraphAgent"], AsyncGenerator[AgentEvent]]
    ) -> AsyncGenerator[AgentEvent]:
        """The events of a call whose graph is made for it, from an agent that drives this graph alone.

        The last one comes after what the factory opened is closed: whoever reads it may read no further.
        """
        is_made, ending = False, None
        try:
            async with self._source.made_for(thread) as graph:
                is_made = True
                async with aclosing(begin(self._driving(graph))) as events:
                    async for event in events:
                        if isinstance(event, AgentEnding):
                            ending = event
                            break
                        yield event
        except AgentError:
            if not is_made:  # else a question would still wait, and meet the next message
                await self._repair_after_stop(thread)
            raise
        if ending is not None:
            yield ending

    def _driving(self, graph: Graph) -> "LangGraphAgent":
        """An agent that differs from this one by its graph only."""
        return LangGraphAgent(
            graph,
            prefill_to_lc=self._prefill_to_lc,
            mapping=self._mapping,
            window_size=self._window_size,
            values=self._values,
            stores=self._all_stores,
        )

    def _thread_of(self, turn: Turn) -> Thread:
        """The thread of a turn, with what the graph's code learns of its caller."""
        values = self._values.configurable_for(turn)
        config = thread_config(turn.thread_id, values, session_id=turn.session_id, task_id=turn.task_id)
        context = self._values.context_for(self._context, self._context_fields, turn)
        return Thread(self._graph, config, context, self._store_of(turn.caller.owner))

    def _thread(self, config: RunnableConfig) -> Thread:
        return Thread(self._graph, config, self._context, self._store_of(DEFAULT_PRINCIPAL))

    def _store_of(self, owner: str) -> BaseStore | None:
        return None if self._stores is None else self._stores.of(owner)

    async def _repairing(self, thread: Thread, events: AsyncGenerator[AgentEvent]) -> AsyncGenerator[AgentEvent]:
        """The events of a call for callers without `close_turn`: if it is closed in the middle, it repairs its thread.

        If it is closed after the last event, a pause stays.
        """
        has_ended = False
        try:
            async with aclosing(events):
                async for event in events:
                    has_ended = isinstance(event, AgentEnding)
                    yield event
        except (asyncio.CancelledError, GeneratorExit):
            if not has_ended:
                await self._repair_after_stop(thread)
            raise

    async def _plan(self, thread: Thread, call: GraphCall, again: Turn | None) -> tuple[Plan, Past | None]:
        """What to do with a call. Shape: again is the turn whose process ended in the middle of it, if it is one."""
        if again is not None:
            with agent_errors():
                past = await past_of(thread, again.task_id)
                state = await thread.read()
            if past is not None and (rest := decide_rest(call, self._begun(call, past), state, past, again.asked)):
                return rest, past
        plan = decide_plan(call, await self._read(thread), self._mapping, self._window_size)
        return plan, await self._asked_in(thread, call)

    async def _asked_in(self, thread: Thread, call: GraphCall) -> Past | None:
        """What is saved of the runs that led to an answered question: fields that they wrote belong to the answer."""
        if call.answer is None or not self._use.gives_fields:
            return None
        with agent_errors():
            return await past_of(thread, call.task_id)

    def _begun(self, call: GraphCall, past: Past) -> Started:
        """How a turn was begun, as far as a new message was."""
        placed = call.placed and Placed(call.placed.values)  # an answer need not fit; a new message has fitted
        first = replace(call, answer=None, placed=placed)
        return decide_plan(first, past.as_it_was(), self._mapping, self._window_size).started

    async def _events(self, thread: Thread, call: GraphCall, again: Turn | None = None) -> AsyncGenerator[AgentEvent]:
        """The events of a call: the one generator of every call."""
        plan, past = await self._plan(thread, call, again)
        yield plan.started
        if isinstance(plan, Respond):
            for event in await self._response(thread, call, plan, past):
                yield event
            return
        if isinstance(plan, AlreadyDone):
            assert past is not None  # else there is no plan of this kind
            for ending in self._ending_of_past(call, past):
                yield ending
            return
        translator = self._translator(call, past)
        try:
            async with aclosing(await self._stream(thread, plan)) as chunks:
                async for chunk in chunks:
                    for event in translator.translate(chunk):
                        yield event
            if past is not None:
                translator.before = self._before(past, translator.after)
            last = await self._last_events(thread, translator, call, past)
        except BackendError:  # the storage is away; the next run of the thread repairs it
            raise
        except Exception as exc:  # the graph's own code, which may raise anything
            if isinstance(exc, AnswerIncomplete):
                for kept in translator.broken_off():
                    yield kept
            if not is_invalid_resume(exc):
                await self._repair_after_stop(thread)
                raise AgentError(public_text(exc)) from exc
            questions = (await self._read(thread)).questions
            last = [*await self._corrections(thread, translator), ask(questions, _NOT_THAT)]
        for final in last:
            yield final

    async def _response(
        self, thread: Thread, call: GraphCall, plan: Respond, past: Past | None
    ) -> Sequence[AgentEvent]:
        """The events of a call that runs no node: corrections of an earlier attempt, and the end."""
        with agent_errors():
            if plan.drops_pause:
                await thread.repair()
            corrections = [] if past is None else await self._corrections(thread, self._translator(call, past))
        return [*corrections, plan.ending]

    async def _read(self, thread: Thread) -> ThreadState:
        """The thread as it is; if a lost process left it half done, it is repaired first."""
        with agent_errors():
            state = await thread.read()
            if state.unfinished or (not state.questions and state.lacks_results):
                await thread.repair()
                state = await thread.read()
            return state

    def _ending_of_past(self, call: GraphCall, past: Past) -> Iterator[ArtifactMade | Complete]:
        """The last events of a run that had come to its end before."""
        translator = self._translator(call, past)
        translator.after = self._use.read(past.after)
        translator.before = self._before(past, past.after)
        return ending_of(self._result(call, translator, past), call.answer_id)

    async def _stream(self, thread: Thread, plan: RunGraph) -> AsyncGenerator[Any]:
        given = await thread.takes(self._use.given(in_form(self._form, plan.given)))
        return thread.stream(given, with_updates=self._use.gives_fields)

    def _result(self, call: GraphCall, translator: StreamTranslator, past: Past | None) -> GraphResult:
        """The result of a run, from its stream and from what is saved of its earlier attempts."""
        use, before, after = self._use, translator.before, translator.after
        if use.entry is not None:
            return result_of_entry(after or {}, call.is_sent)
        result = GraphResult()
        if use.reads_messages or not use.gives_fields:
            result = result_of_run(use.mapping, before, after, call.is_sent)
        if not use.gives_fields:
            return result
        filled = (use.text_field or "",) if call.placed is None else call.placed.values.keys()
        if past is None:
            return result_with_fields(use, result, translator.begun, after, translator.written, filled)
        begun = translator.begun if past.begun is None else past.begun
        written = translator.written | past.written
        return result_with_fields(use, result, begun, after, written, past.filled or filled)

    async def _last_events(
        self, thread: Thread, translator: StreamTranslator, call: GraphCall, past: Past | None
    ) -> list[AgentEvent]:
        """The end of a run, from its saved state: its question, or its artifacts and its answer."""
        state = await thread.read()
        if state.questions:
            return [*await self._corrections(thread, translator), ask(state.questions)]
        if state.unfinished:
            raise Unfinished
        if translator.interrupted:
            raise NoMemory
        return list(ending_of(self._result(call, translator, past), call.answer_id))

    def _translator(self, call: GraphCall, past: Past | None) -> StreamTranslator:
        """The translator of a run. After an answered question, only the attempt itself knows which text is its own."""
        goes_on = past is not None and call.answer is None
        use, is_entry = self._use, self._use.entry is not None
        translator = StreamTranslator(use.streamed_key, goes_on=goes_on, read=use.read, tokens_only=is_entry)
        translator.before = {} if is_entry else past.before if past is not None else None
        return translator

    def _before(self, past: Past, after: Any) -> Any:
        """The state before a task's runs. What an entrypoint returned in an earlier turn is no state of this one."""
        return past.before_for(after) if self._use.entry is None else {}

    async def _corrections(self, thread: Thread, translator: StreamTranslator) -> Sequence[Delta]:
        """Withdraws, at a pause, the text that is not in the state."""
        if not thread.is_saved:
            return ()
        return translator.at_pause(await thread.messages_at_pause() if self._use.entry is None else ())

    async def _repair_after_stop(self, thread: Thread) -> None:
        """Repair the thread after a run that was stopped or has failed; an error of the repair is only logged."""
        try:
            await thread.repair()
        except Exception:  # the graph's own code again, or its checkpointer's; the run has ended one way or another
            log.warning("could not repair the thread after a run; the next turn will try again", exc_info=True)
