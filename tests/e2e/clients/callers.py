"""Clients as the scenarios see them: an official SDK with a host's usual habits, or a host's own program."""

from collections.abc import Iterator, Sequence
from contextlib import closing

from tests.e2e.clients.running import Remote, Running, unique
from tests.e2e.clients.scenarios import Shown, Turn
from tests.e2e.clients.shapes import Artifact, ArtifactEvent, answer_of, grown, text_of


class SdkCaller:
    """A host on an SDK: it keeps a conversation's ids, and attaches history as the message's metadata."""

    def __init__(self, remote: Remote) -> None:
        self._remote = remote
        self._asking: dict[str, str] = {}

    def say(self, text: str, *, conversation: str, history: Sequence[Turn] = ()) -> Shown:
        metadata = (
            {"history": [self._remote.client.wire.turn(*turn, unique("h")) for turn in history]} if history else None
        )
        task = self._remote.task(text, context=conversation, task=self._asking.pop(conversation, ""), metadata=metadata)
        if task.state == "input-required":
            self._asking[conversation] = task.id
        return Shown(text=answer_of(task) or text_of(task.said), failed=task.state == "failed")

    def stream(self, text: str, *, conversation: str) -> Iterator[str]:
        """By the events' own `append`."""
        artifacts: tuple[Artifact, ...] = ()
        with closing(self._remote.stream(text, context=conversation)) as events:
            for event in events:
                if isinstance(event, ArtifactEvent):
                    artifacts = grown(artifacts, event)
                    yield "".join(text_of(artifact.parts) for artifact in artifacts)

    def cancel(self, text: str) -> str:
        task = self._remote.task(text, waits=False)
        self._remote.cancel(task.id)
        return task.id


class ProgramCaller:
    """A host in an environment of its own. Source: its program in programs/, which has these methods."""

    def __init__(self, program: Running, name: str) -> None:
        self._program = program
        self._name = name

    def say(self, text: str, *, conversation: str, history: Sequence[Turn] = ()) -> Shown:
        more = {"history": [turn_of(*turn) for turn in history]} if history else {}
        shown = self._program.call("say", self._name, text=text, conversation=conversation, **more)
        return Shown(**shown)

    def stream(self, text: str, *, conversation: str) -> Iterator[str]:
        yield from self._program.stream("stream", self._name, text=text, conversation=conversation)

    def cancel(self, text: str) -> str:
        task: str = self._program.call("cancel", self._name, text=text)
        return task


def turn_of(role: str, text: str) -> dict[str, object]:
    """A turn as 1.0 writes it, which is what a host puts into metadata.history as it is."""
    return {"messageId": unique("h"), "role": f"ROLE_{role.upper()}", "parts": [{"text": text}]}
