"""One round: hosts send, the edge dies as planned, comes back, and everything is looked at."""

import asyncio
import traceback
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import httpx
from a2a.types.a2a_pb2 import TaskState, TaskStatus
from a2a.utils.errors import A2AError
from google.protobuf.json_format import MessageToDict
from tests.crash import effects, verdicts
from tests.crash.edge import Edge
from tests.crash.hosts import Host, Sent
from tests.crash.plan import Conversation, Death, Outage, Plan
from tests.crash.returning import NoStream
from tests.crash.scenarios import SCENARIOS, is_left_asked
from tests.postgres_server import PostgresServer

ROUND_WITHIN_S = 60.0
"""How long a round may take until every task is settled."""

STOPS_WITHIN_S = 10.0
"""How long most supervisors wait."""

DATABASE_IS_BACK_WITHIN_S = 15.0
"""How long the edge may take to find that its database is back."""


@dataclass
class Report:
    """What a round, or several, came to."""

    counts: Counter[str] = field(default_factory=Counter)
    violations: list[str] = field(default_factory=list)

    def __iadd__(self, other: "Report") -> "Report":
        self.counts += other.counts
        self.violations += other.violations
        return self


class Round:
    """A round of an edge that is down when it begins and up when it has ended."""

    def __init__(self, edge: Edge, host: Host, plan: Plan, database: PostgresServer | None = None) -> None:
        self._edge = edge
        self._database = database
        self._host = host
        self._plan = plan
        self._sent = [sent for conversation in plan.conversations for sent in conversation.messages]
        self._unfinished = {conversation.messages[0].context for conversation in plan.conversations}
        self.report = Report()

    async def run(self) -> Report:
        with self._finding("the round"):
            async with asyncio.timeout(ROUND_WITHIN_S), asyncio.TaskGroup() as group:
                for conversation in self._plan.conversations:
                    group.create_task(self._converse(conversation))
                await self._die()
        with self._finding("the end of the round"):
            async with asyncio.timeout(ROUND_WITHIN_S):
                await self._look()
        return self.report

    # --- what happens -------------------------------------------------------------------------------------------------

    async def _converse(self, conversation: Conversation) -> None:
        await asyncio.sleep(conversation.begins_after_s)
        with self._finding(f"{conversation.scenario} of {[sent.token for sent in conversation.messages]}"):
            await SCENARIOS[conversation.scenario](self._host, conversation.messages, conversation.random)
        self._unfinished.discard(conversation.messages[0].context)

    async def _die(self) -> None:
        """Let the edge live and die as planned, and live once more after that."""
        for death in self._plan.deaths:
            await self._live(death)
        await self._edge.start()
        if self._plan.outage is not None:
            await self._lose_database(self._plan.outage)

    async def _lose_database(self, outage: Outage) -> None:
        """Kill the database under the living edge; it is back when the edge answers again."""
        assert self._database is not None
        await asyncio.sleep(outage.after_s)
        await asyncio.to_thread(self._database.kill)
        await asyncio.sleep(outage.lasts_s)
        await asyncio.to_thread(self._database.start)
        async with asyncio.timeout(DATABASE_IS_BACK_WITHIN_S):
            await self._host.until_answered()
        await self._edge.store_is_back()
        self.report.counts["deaths of the database"] += 1

    async def _live(self, death: Death) -> None:
        """One life."""
        started = await self._edge.start(death.fault)
        reached = not started
        if started:
            try:
                async with asyncio.timeout(death.after_s):
                    await self._edge.died()
                reached = True
            except TimeoutError:
                await (self._stop() if death.gracefully else self._kill())
        if reached and not self._edge.was_killed:
            self._find(f"the edge ended by itself, with {self._edge.exit_code}")
        self.report.counts["deaths"] += 1
        self.report.counts[f"death {death if reached or death.fault is None else 'at random'}"] += 1

    async def _kill(self) -> None:
        self._edge.kill()
        await self._edge.died()

    async def _stop(self) -> None:
        """Ask the edge to stop, which it does in time and without complaint."""
        self._edge.terminate()
        try:
            async with asyncio.timeout(STOPS_WITHIN_S):
                await self._edge.died()
        except TimeoutError:
            self._find("the edge did not stop in time")
            await self._kill()
        else:
            if self._edge.exit_code:
                self._find(f"the edge stopped with {self._edge.exit_code}")

    # --- what is looked at --------------------------------------------------------------------------------------------

    async def _look(self) -> None:
        for sent in filter(is_left_asked, self._sent):
            await self._answer_late(sent)
        probes = await self._probe()
        for sent in self._sent:
            if sent.task_id:
                await self._host.get(sent)
        for agent in sorted({sent.agent for sent in self._sent}):
            for task in await self._host.unsettled(agent):
                self._find(f"{agent}: task {task.id} is still {TaskState.Name(task.status.state)}")
        for sent in self._sent:
            if len(found := await self._host.in_context(sent)) > 1:
                self._find(f"{sent.token}: {len(found)} tasks were made of it")
        self._judge([*self._sent, *probes])

    async def _answer_late(self, sent: Sent) -> None:
        """A question that has waited through the deaths is as it was, and can be answered."""
        before = TaskStatus()
        before.CopyFrom(sent.task.status)
        await self._host.get(sent)
        if sent.task.status != before:
            self._find(f"{sent.token}: its question has changed while it waited, from {before} to {sent.task.status}")
        await self._host.answer(sent, "approve")

    async def _probe(self) -> list[Sent]:
        """Every thread takes one more turn."""
        threads = {(sent.agent, sent.context) for sent in self._sent if sent.task_id}
        probes = [Sent(agent, f"{context}-probe", context) for agent, context in sorted(threads)]
        for probe in probes:
            await self._host.block(probe)
            await self._host.answer(probe, "approve")
        return probes

    def _judge(self, messages: Sequence[Sent]) -> None:
        lines = verdicts.by_token(effects.read(self._edge.effects))
        outage = self._plan.outage is not None
        for sent in messages:
            for wrong in verdicts.judge(sent, lines.get(sent.token, []), deaths=self._edge.deaths, outage=outage):
                self._find(f"{sent.agent} {sent.token} (task {sent.task_id}): {wrong}")
            self._count(sent, lines.get(sent.token, []))
        for context in sorted({sent.context for sent in messages}):
            for wrong in verdicts.judge_thread([sent for sent in messages if sent.context == context]):
                self._find(f"{context}: {wrong}")

    def _count(self, sent: Sent, lines: Sequence[effects.Line]) -> None:
        counts = self.report.counts
        if not sent.task_id:
            counts["messages never accepted"] += 1
            return
        counts["tasks"] += 1
        counts[f"tasks {TaskState.Name(sent.state).removeprefix('TASK_STATE_').lower()}"] += 1
        counts["tasks whose first answer was lost"] += sent.was_found
        counts["steps of a running node done again"] += verdicts.repeats(sent, lines)[0]
        attempt = MessageToDict(sent.task.metadata).get("run", {}).get("attempt", 1)
        if attempt > 1:
            counts["runs recovered"] += 1
            counts[f"runs recovered in attempt {attempt:.0f}"] += 1

    # --- what is found ------------------------------------------------------------------------------------------------

    @contextmanager
    def _finding(self, what: str) -> Iterator[None]:
        """What fails inside is a violation, and the rest goes on."""
        try:
            yield
        except TimeoutError:
            waiting = [
                f"{each.scenario} {sent.agent} {sent.token} {TaskState.Name(sent.state)} (task {sent.task_id})"
                for each in self._plan.conversations
                for sent in each.messages
                if sent.context in self._unfinished
            ]
            self._find(f"{what} did not come to its end: {'; '.join(waiting)}")
        except (A2AError, httpx.HTTPError, NoStream, AssertionError, ExceptionGroup):
            self._find(f"{what} broke: {traceback.format_exc()}")

    def _find(self, words: str) -> None:
        self.report.violations.append(f"seed {self._plan.seed}: {words}")
