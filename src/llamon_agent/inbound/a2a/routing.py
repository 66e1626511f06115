"""Chooses the endpoint of the agent that a call on the default agent's path means: by its tenant, or by its metadata.

A message may name one in its metadata, where the configuration allows it. What follows such a message has to find its
way without: a call by a task's id goes to the agent that has the task, and a message in a context to the agent that
waits in it for an answer, because clients often answer by the context alone.
"""

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from llamon_agent.domain.errors import BadParams, TaskNotFound
from llamon_agent.domain.message import Message
from llamon_agent.inbound.a2a.endpoint import Endpoint, EndpointReply, ParsedRequest, RequestHead
from llamon_agent.runs.service import RunService
from llamon_agent.wire.operations import (
    CancelTask,
    DeletePushConfig,
    GetPushConfig,
    GetTask,
    ListPushConfigs,
    Operation,
    SendMessage,
    SetPushConfig,
    Subscribe,
)

_ABSENT = object()


class Router:
    """The agents that the default path reaches, as one `Performer`.

    Shape: main is the default agent's endpoint there, endpoints are those of all agents by name, which a tenant may
           be; key is the metadata key that names one of `allow` or the default agent, None where nothing may be chosen;
           `also` are agents that were the default one, whose tasks are still found; those of them that are `gone` take
           no more messages.
    """

    def __init__(
        self,
        runs: RunService,
        *,
        main: Endpoint,
        endpoints: Mapping[str, Endpoint],
        key: str | None = None,
        allow: Sequence[str] = (),
        also: Sequence[str] = (),
        gone: Sequence[str] = (),
    ) -> None:
        self.agent = main.agent
        self._runs = runs
        self._main = main
        self._endpoints = endpoints
        self._key = key
        self._choices = tuple(dict.fromkeys((main.agent, *allow)))
        self._agents = tuple(dict.fromkeys((*self._choices, *also)))
        self._takes_messages = tuple(agent for agent in self._agents if agent not in gone)
        self._chooses = key is not None or bool(also)

    async def perform(self, request: ParsedRequest, head: RequestHead, *, size_bytes: int) -> EndpointReply:
        """Carry out a request at the endpoint of the agent that it means. Raises: CallerError, BackendError."""
        operation = request.operation
        endpoint = self._main
        if operation.tenant is not None and operation.tenant in self._endpoints:  # an agent's own interface names it so
            endpoint = self._endpoints[operation.tenant]
            request = replace(request, operation=replace(operation, tenant=None))
        elif self._chooses:
            name = await self.agent_for(operation, head.caller.of_tenant(operation.tenant).owner)
            endpoint = self._endpoints.get(name, self._main)
        return await endpoint.perform(request, head, size_bytes=size_bytes)

    async def agent_for(self, operation: Operation, owner: str) -> str:
        """The agent that the operation is for. Raises: BadParams, TaskNotFound; BackendError."""
        match operation:
            case SendMessage(message=Message(task_id=str() as task_id)):
                return self._agreed(await self._agent_of_task(owner, task_id), self._named(operation))
            case SendMessage(message=message):
                return self._named(operation) or await self._waiting_agent(owner, message.context_id)
            case (
                GetTask(task_id=task_id)
                | CancelTask(task_id=task_id)
                | Subscribe(task_id=task_id)
                | SetPushConfig(task_id=task_id)
                | GetPushConfig(task_id=task_id)
                | ListPushConfigs(task_id=task_id)
                | DeletePushConfig(task_id=task_id)
            ):
                return await self._agent_of_task(owner, task_id)
        return self.agent

    def _named(self, operation: SendMessage) -> str | None:
        """The agent that the message names; what it says itself wins over what the call says."""
        if self._key is None:
            return None
        places = (operation.message.metadata, operation.metadata)
        name = next((place[self._key] for place in places if place and self._key in place), _ABSENT)
        if name is _ABSENT:
            return None
        if not isinstance(name, str) or name not in self._choices:
            raise BadParams(
                f"metadata.{self._key} must name one of {', '.join(self._choices)}; leave it out otherwise."
            )
        return name

    def _agreed(self, holder: str, named: str | None) -> str:
        if named is not None and named != holder:
            raise BadParams(f"metadata.{self._key} is not the agent of that task; leave it out or name the task's own.")
        return holder

    async def _agent_of_task(self, owner: str, task_id: str) -> str:
        """The agent that has the task."""
        for agent in self._agents:
            try:
                await self._runs.get(owner, agent, task_id)
            except TaskNotFound:
                continue
            return agent
        raise TaskNotFound

    async def _waiting_agent(self, owner: str, context_id: str | None) -> str:
        """The agent that waits in the context for an answer, or else the default one."""
        if context_id is None:
            return self.agent
        for agent in self._takes_messages:
            if await self._runs.paused_in(owner, agent, context_id) is not None:
                return agent
        return self.agent
