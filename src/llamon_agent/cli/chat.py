"""`llamon chat`: a conversation in the terminal.

Each turn runs on one event loop that outlives it; Ctrl-C ends the turn that is running, and with it the task, never the
conversation.
"""

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack

from llamon_agent.cli.conversation import connect_to, follow, show
from llamon_agent.cli.exits import Exit
from llamon_agent.cli.failure_text import failure_text
from llamon_agent.cli.options import Token
from llamon_agent.cli.questions import answer_parts, pick
from llamon_agent.cli.report import Outcome, new_view, outcome_of
from llamon_agent.cli.screen import Screen, complain
from llamon_agent.client.errors import RemoteError
from llamon_agent.client.rpc import Connection, Reply, new_message
from llamon_agent.domain.events import Choice, Question
from llamon_agent.domain.message import Part, Text

_PROMPT = "you> "


def chat(
    url: str,
    /,
    *,
    context: str | None = None,
    token: Token = None,
    timeout: float = 600.0,
) -> int:
    """Talk with an agent: it answers as it thinks, its questions are answered here, Ctrl-C cancels, Ctrl-D leaves.

    Parameters
    ----------
    url
        The agent: its origin, its card's URL or the URL that takes its calls.
    context
        The conversation to go on with.
    token
        The bearer token.
    timeout
        How many seconds to wait for an answer.
    """
    with asyncio.Runner() as runner:
        stack = AsyncExitStack()
        try:
            agent = runner.run(stack.enter_async_context(connect_to(url, token)))
            Chat(runner, agent, context_id=context, timeout_s=timeout).talk()
        finally:
            runner.run(stack.aclose())
    return Exit.OK


class Chat:
    """One conversation: what it is about, and the task that it is at."""

    def __init__(self, runner: asyncio.Runner, agent: Connection, *, context_id: str | None, timeout_s: float) -> None:
        self._runner = runner
        self._agent = agent
        self._context_id = context_id
        self._timeout_s = timeout_s
        self._screen = Screen()
        self._view = new_view()

    def talk(self) -> None:
        """Turn after turn, until the input ends."""
        name = self._agent.card.name if self._agent.card else "the agent"
        self._screen.note(f"You are talking with {name}. Ctrl-C cancels an answer, Ctrl-D leaves.")
        while (parts := self._next_parts()) is not None:
            self._turn(parts)
        if self._context_id is not None:
            self._screen.note(f"go on later with --context {self._context_id}")

    def _next_parts(self) -> tuple[Part, ...] | None:
        """What the person says: the answers that are asked for, else anything; None to leave."""
        while True:
            outcome = outcome_of(self._view)
            try:
                if outcome.exit is Exit.ASKS:
                    return self._answers(outcome)
                line = self._line(_PROMPT)
                return None if line is None else (Text.of(line),)
            except KeyboardInterrupt:
                if outcome.exit is Exit.ASKS:
                    self._cancel()
                else:
                    self._screen.note("\nCtrl-D leaves.")

    def _answers(self, outcome: Outcome) -> tuple[Part, ...] | None:
        self._screen.line(outcome.question)
        picked: list[Choice] = []
        for number, asked in enumerate(outcome.asked, start=1):
            several = f" {number} of {len(outcome.asked)}" if len(outcome.asked) > 1 else ""
            line = self._line(f"answer{several}{_offer(asked)}> ")
            if line is None:
                return None
            picked.append(pick(asked, line))
        return answer_parts(outcome.asked, picked)

    def _line(self, prompt: str) -> str | None:
        """A line with something in it, None at the end of input. Raises: KeyboardInterrupt."""
        while (line := self._screen.ask(prompt)) is not None:
            if line.strip():
                return line
        return None

    def _turn(self, parts: Sequence[Part]) -> None:
        """Say something and show the answer. What goes wrong ends the turn, not the conversation."""
        if self._view.is_over:
            self._view = new_view()
        message = new_message(parts, context_id=self._context_id, task_id=self._view.task_id)
        following = follow(
            self._agent, message, self._show, view=self._view, stream=self._agent.streams, timeout_s=self._timeout_s
        )
        try:
            self._runner.run(following)
        except KeyboardInterrupt:
            self._cancel()
        except RemoteError as error:
            self._fail(failure_text(error))
        else:
            self._close()

    def _show(self, reply: Reply) -> None:
        show(self._screen, self._view.apply(reply.event))
        self._context_id = self._view.context_id or self._context_id

    def _close(self) -> None:
        self._screen.end()
        outcome = outcome_of(self._view)
        if outcome.error:
            self._fail(outcome.error)

    def _cancel(self) -> None:
        """The person does not want the answer any more. Raises: KeyboardInterrupt, on a second Ctrl-C."""
        task_id = self._view.task_id
        self._screen.end()
        self._view = new_view()
        if task_id is None:
            self._screen.note("\nstopped listening")
            return
        try:
            self._runner.run(self._agent.cancel(task_id))
        except RemoteError as error:
            complain(failure_text(error))
        else:
            self._screen.note("\ncanceled")

    def _fail(self, text: str) -> None:
        """Say it. A question that still waits is asked again; any other task is left, and the next line begins anew."""
        self._screen.end()
        complain(text)
        if outcome_of(self._view).exit is not Exit.ASKS:
            self._view = new_view()


def _offer(asked: Question) -> str:
    """The known answers, as a prompt shows them."""
    offered = ", ".join(f"{number} {choice.label}" for number, choice in enumerate(asked.choices, start=1))
    return f" [{offered}]" if offered else ""
