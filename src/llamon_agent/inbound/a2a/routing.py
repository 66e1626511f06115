"""Which agent a call on the default agent's path means.

A message may name one in its metadata, where the configuration allows it. What follows such a message has to find its
way without: a call by a task's id goes to the agent that has the task, and a message in a context to the agent that
waits in it for an answer, because clients often answer by the context alone.
"""

from collections.abc import Sequence

from llamon_agent.domain.errors import BadParams, TaskNotFound
from llamon_agent.domain.message import Message
from llamon_agent.domain.task import PAUSED, TaskQuery
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


class Routing:
    """The agents that the default path reaches.

    Shape: key is the metadata key that names one of `allow` or the default agent, None where nothing may be chosen;
           `also` are agents of earlier days, whose tasks are still found; those of them that are `gone` take no
           more messages.
    """

    def __init__(
        self,
        runs: RunService,
        *,
        default: str,
        key: str | None = None,
        allow: Sequence[str] = (),
        also: Sequence[str] = (),
        gone: Sequence[str] = (),
    ) -> None:
        self._runs = runs
        self._default = default
        self._key = key
        self._choices = tuple(dict.fromkeys((default, *allow)))
        self.agents = tuple(dict.fromkeys((default, *allow, *also)))
        self._listening = tuple(agent for agent in self.agents if agent not in gone)

    async def agent_for(self, operation: Operation, owner: str) -> str:
        """The agent that the operation is for. Raises: BadParams, TaskNotFound; BackendError."""
        match operation:
            case SendMessage(message=Message(task_id=str() as task_id)):
                return self._agreed(await self._holder(owner, task_id), self._named(operation))
            case SendMessage(message=message):
                return self._named(operation) or await self._asking(owner, message.context_id)
            case (
                GetTask(task_id=task_id)
                | CancelTask(task_id=task_id)
                | Subscribe(task_id=task_id)
                | SetPushConfig(task_id=task_id)
                | GetPushConfig(task_id=task_id)
                | ListPushConfigs(task_id=task_id)
                | DeletePushConfig(task_id=task_id)
            ):
                return await self._holder(owner, task_id)
        return self._default

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

    async def _holder(self, owner: str, task_id: str) -> str:
        """The agent that has the task."""
        for agent in self.agents:
            try:
                await self._runs.get(owner, agent, task_id)
            except TaskNotFound:
                continue
            return agent
        raise TaskNotFound

    async def _asking(self, owner: str, context_id: str | None) -> str:
        """The agent that waits in the context for an answer, or else the default one."""
        for agent in self._listening if context_id is not None else ():
            query = TaskQuery(owner=owner, agent=agent, context_id=context_id, states=tuple(PAUSED), limit=1)
            if (await self._runs.list(query)).tasks:
                return agent
        return self._default
