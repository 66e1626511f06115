"""Drive one served graph as a host does, by the official client, and note what works.

Whether earlier words reached the model is asked of the model server, which keeps every request; a graph without a model
is asked by its answer. Every word that a step says is said once only, so that no step can take another's.
"""

import asyncio
import copy
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from itertools import count, cycle
from typing import Any

import httpx
from a2a.client import Client, ClientConfig, ClientFactory
from a2a.client.card_resolver import A2ACardResolver
from a2a.types.a2a_pb2 import (
    CancelTaskRequest,
    GetTaskRequest,
    Message,
    Part,
    Role,
    SendMessageConfiguration,
    SendMessageRequest,
    SubscribeToTaskRequest,
    Task,
    TaskState,
)
from google.protobuf.json_format import MessageToDict, ParseDict
from tests.e2e.test_official_client import rebuilt, text_of, turn, unique
from tests.graphs.outcomes import FAILS, NONE, WORKS, Outcome
from tests.graphs.stub.improvised import BROKEN, SLOW, WELL
from tests.model_server import ModelServer

LIMIT_S = 90
"""How long one call may take. Foreign graphs call the model dozens of times."""

_PAUSED = (TaskState.TASK_STATE_INPUT_REQUIRED, TaskState.TASK_STATE_AUTH_REQUIRED)
_RUNNING = (TaskState.TASK_STATE_SUBMITTED, TaskState.TASK_STATE_WORKING)
_REPLIES = ("yes", "accept", "approve", "ignore", "continue", "1", "no")
"""Tried in turn. The last one ends the clarifying questions of a graph whose model is asked whether to ask one."""
_MOST_QUESTIONS = 12

Template = Mapping[str, Any]
"""What a graph takes that needs more than a text: the value of a data part. "{text}" in its strings is the text."""


@dataclass
class Kept:
    """What a graph has before the edge is killed, to be looked for afterwards."""

    context: str = ""
    word: str = ""
    question: Task | None = None


class Drive:
    """One graph, and how it is called."""

    def __init__(self, http: httpx.AsyncClient, url: str, model: ModelServer, template: Template | None = None) -> None:
        self._http, self._url, self._model, self._template = http, url, model, template
        self._clients: dict[bool, Client] = {}
        self._words = (f"heron{number}" for number in count(101))
        self._takes_messages = True
        self._asked: Task | None = None
        self.kept = Kept()

    def moved(self, url: str) -> None:
        """The edge has been started again, at another address."""
        self._url = url
        self._clients.clear()

    async def _client(self, *, streaming: bool = False) -> Client:
        """The official client as it comes: everything it knows is from the card."""
        if streaming not in self._clients:
            card = await A2ACardResolver(self._http, self._url).get_agent_card()
            config = ClientConfig(httpx_client=self._http, streaming=streaming)
            self._clients[streaming] = ClientFactory(config).create(card)
        return self._clients[streaming]

    def _saying(self, text: str, *, context: str = "", task: Task | None = None) -> SendMessageRequest:
        message = Message(message_id=unique("m"), role=Role.ROLE_USER, context_id=context or unique())
        if task is not None:
            message.task_id, message.context_id = task.id, task.context_id
        part = Part(text=text)
        if self._template is not None and task is None:
            part = ParseDict({"data": filled(self._template, text)}, Part())
        message.parts.append(part)
        return SendMessageRequest(message=message)

    async def _answer(self, request: SendMessageRequest) -> Task:
        """The task of a call that waits."""
        client = await self._client()
        [only] = [event async for event in client.send_message(request)]
        return only.task

    async def call(self) -> None:
        """A message, until its task ends or asks."""
        await self._answer(self._saying("Say it"))

    async def _told(self, text: str, context: str = "") -> Task:
        """The task at its end, with all its questions answered."""
        return await self._settled(await self._answer(self._saying(text, context=context)))

    async def _settled(self, task: Task) -> Task:
        for reply, _ in zip(cycle(_REPLIES), range(_MOST_QUESTIONS), strict=False):
            if task.status.state not in _PAUSED:
                break
            self._asked = self._asked or copy.deepcopy(task)
            task = await self._answer(self._saying(reply, task=task))
        return task

    def _got(self, word: str, since: int, task: Task) -> bool:
        """Whether the word is in a request to the model since then, or in the answer."""
        asked = any(word in json.dumps(request) for request in self._model.requests[since:])
        return asked or word in str(task.artifacts)

    # The columns, in the order in which they are found.

    async def sends(self) -> Outcome:
        word = next(self._words)
        self.kept.context, self.kept.word = unique(), word
        task = await self._answer(self._saying(f"Please remember {word}", context=self.kept.context))
        if task.status.state in _PAUSED:
            self._asked = copy.deepcopy(task)
            return Outcome(WORKS, f"asks: {_said(task)}")
        return _ended(task)

    async def streams(self) -> Outcome:
        client = await self._client(streaming=True)
        request = self._saying(f"Say {next(self._words)}")
        events = [event async for event in client.send_message(request)]
        whole = rebuilt(events)
        kept = await client.get_task(GetTaskRequest(id=whole.id))
        pieces = sum(event.HasField("artifact_update") for event in events)
        if text_of(kept.artifacts) != text_of(whole.artifacts):
            return Outcome(FAILS, f"streamed {text_of(whole.artifacts)!r}, kept {text_of(kept.artifacts)!r}")
        if kept.status.state in _PAUSED:
            return Outcome(WORKS, "asks")
        return _ended(kept, f"{pieces} pieces")

    async def history(self) -> Outcome:
        word = next(self._words)
        request = self._saying(f"What is {next(self._words)}?")
        turns = [turn("user", f"I like {word}", "1.0"), turn("agent", "Noted.", "1.0")]
        ParseDict({"history": turns}, request.message.metadata)
        since = len(self._model.requests)
        task = await self._settled(await self._answer(request))
        told = MessageToDict(task.metadata).get("history", {})
        self._takes_messages = told.get("reason") != "no_messages_channel"
        if not self._takes_messages:
            return Outcome(NONE, "no messages")
        return _judged(self._got(word, since, task), task, f"the model did not get it: {told}")

    async def remembers(self) -> Outcome:
        task = await self._first_turn()
        since = len(self._model.requests)
        task = await self._told(f"And {next(self._words)}?", self.kept.context)
        if not self._takes_messages:
            return Outcome(NONE, "no messages")
        return _judged(self._got(self.kept.word, since, task), task, "the model did not get the first turn")

    async def _first_turn(self) -> Task:
        """The first turn, until its end."""
        if self._asked is not None:
            return await self._settled(self._asked)
        return Task()

    async def asks(self) -> Outcome:
        """A question that an answer ends; and one more, which is left open."""
        if self._asked is None:
            return Outcome(NONE)
        task = await self._answer(self._saying(f"Again {next(self._words)}"))
        left = await self._answer(self._saying(f"Later {next(self._words)}"))
        self.kept.question = left if left.status.state in _PAUSED else None
        return _ended(await self._settled(task))

    async def cancels(self) -> Outcome:
        """A cancel while the model is silent. A graph that calls no model has no such moment."""
        self._model.waiting.clear()
        request = self._saying(f"Take your time, {SLOW} {next(self._words)}")
        request.configuration.CopyFrom(SendMessageConfiguration(return_immediately=True))
        task = await self._answer(request)
        client = await self._client(streaming=True)
        if not await self._is_waiting(client, task):
            return Outcome(NONE)
        started = asyncio.get_running_loop().time()
        canceled = await client.cancel_task(CancelTaskRequest(id=task.id))
        took = asyncio.get_running_loop().time() - started
        works = canceled.status.state == TaskState.TASK_STATE_CANCELED
        return Outcome(WORKS if works else FAILS, f"{_state(canceled)} after {took:.1f} s")

    async def _is_waiting(self, client: Client, task: Task) -> bool:
        """Whether the model is waiting before the task ends."""

        async def ended() -> None:
            if task.status.state in _RUNNING:
                async for event in client.subscribe(SubscribeToTaskRequest(id=task.id)):
                    state = event.task.status.state or event.status_update.status.state
                    if state and state not in _RUNNING:
                        return

        waits = [asyncio.ensure_future(self._model.waiting.wait()), asyncio.ensure_future(ended())]
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        for each in waits:
            each.cancel()
        await asyncio.gather(*waits, return_exceptions=True)
        return self._model.waiting.is_set()

    async def model_fails(self) -> Outcome:
        context, since = unique(), len(self._model.requests)
        broken = await self._told(f"Please break: {BROKEN}", context)
        if len(self._model.requests) == since:
            return Outcome(NONE)
        again = await self._told(f"Are you {WELL}, {next(self._words)}?", context)
        return _judged(bool(_said(again)), again, "no answer", f"{_state(broken)}: {_said(broken)}")

    async def restart(self) -> Outcome:
        """After `kill -9` and a new start: the conversation goes on, and the open question is answered."""
        if self.kept.question is not None:
            task = await self._settled(self.kept.question)
            if task.status.state != TaskState.TASK_STATE_COMPLETED:
                return _ended(task)
        since = len(self._model.requests)
        task = await self._told(f"Still there, {next(self._words)}?", self.kept.context)
        if not self._takes_messages:
            return _ended(task)
        return _judged(self._got(self.kept.word, since, task), task, "the model did not get the first turn")


Step = Callable[[Drive], Awaitable[Outcome]]

BEFORE: Mapping[str, Step] = {
    "sends": Drive.sends,
    "streams": Drive.streams,
    "history": Drive.history,
    "remembers": Drive.remembers,
    "asks": Drive.asks,
    "model fails": Drive.model_fails,
    "cancels": Drive.cancels,
}
AFTER: Mapping[str, Step] = {"restart": Drive.restart}


async def outcome_of(step: Awaitable[Outcome]) -> Outcome:
    """What a step found. Whatever the client or the graph raises is found, too."""
    try:
        async with asyncio.timeout(LIMIT_S):
            return await step
    except Exception as exc:  # noqa: BLE001  (the client raises errors of several packages)
        return Outcome(FAILS, f"{type(exc).__name__}: {str(exc).splitlines()[0] if str(exc) else ''}"[:300])


def filled(value: Any, text: str) -> Any:
    """A template with the text in it."""
    if isinstance(value, str):
        return value.replace("{text}", text)
    if isinstance(value, Mapping):
        return {key: filled(each, text) for key, each in value.items()}
    return [filled(each, text) for each in value] if isinstance(value, list) else value


def _ended(task: Task, note: str = "") -> Outcome:
    """Works if the task is completed and has an answer."""
    return _judged(bool(task.artifacts), task, "completed without an answer", note)


def _judged(holds: bool, task: Task, problem: str, note: str = "") -> Outcome:
    if task.status.state != TaskState.TASK_STATE_COMPLETED:
        return Outcome(FAILS, f"{_state(task)}: {_said(task)}")
    return Outcome(WORKS, note or _said(task)) if holds else Outcome(FAILS, problem)


def _state(task: Task) -> str:
    return TaskState.Name(task.status.state).removeprefix("TASK_STATE_").lower()


def _said(task: Task) -> str:
    """What the caller reads: the answer, or the status."""
    parts = [part for artifact in task.artifacts for part in artifact.parts]
    if task.status.state != TaskState.TASK_STATE_COMPLETED or not parts:
        parts = list(task.status.message.parts)
    said = " ".join(
        part.text or (str(MessageToDict(part.data)) if part.HasField("data") else "a file") for part in parts
    )
    return " ".join(said.split())[:200]
