"""Talks to the clients' programs. Source: programs/wire.py (the lines)."""

import json
import os
import subprocess
from collections import defaultdict, deque
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import Any

from tests.e2e.clients.catalogue import ROOT, Client, Program
from tests.e2e.clients.shapes import Event, Hook, Json, Page, Part, Sending, Task, Wire

_ids = count(1)


class Refused(Exception):
    """The error that the client raised: its type, and what it says."""


class Running:
    """A program that runs. It goes on with all its calls at once; we read what comes of one of them at a time."""

    def __init__(self, process: subprocess.Popen[str], log: Path) -> None:
        self._process = process
        self._log = log
        self._unread: defaultdict[int, deque[Json]] = defaultdict(deque)

    def call(self, call: str, of: str, **params: Any) -> Any:
        """What the call gives. Raises: Refused."""
        values = list(self.stream(call, of, **params))
        return values[-1] if values else None

    def stream(self, call: str, of: str, **params: Any) -> Generator[Any]:
        """What comes, as it comes. Closing it drops the call, as a caller does that hangs up. Raises: Refused."""
        number = next(_ids)
        self._write({"id": number, "call": call, "of": of, "params": params})
        try:
            while "value" in (said := self._next(number)):
                yield said["value"]
        except GeneratorExit:
            self._write({"id": number, "drop": True})
            raise
        if (end := said["end"]) is not None:
            raise Refused(f"{end['type']}: {end['text']}")

    def stop(self) -> None:
        """End the program; who waits for it gets an AssertionError."""
        self._process.kill()

    def _write(self, asked: Json) -> None:
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):  # it has ended, which the next reading says, with its log
            self._process.stdin.write(json.dumps(asked) + "\n")
            self._process.stdin.flush()

    def _next(self, number: int) -> Json:
        assert self._process.stdout is not None
        while not self._unread[number]:
            if not (line := self._process.stdout.readline()):
                raise AssertionError(f"the program has ended:\n{self._log.read_text()}")
            said = json.loads(line)
            self._unread[said["id"]].append(said)
        return self._unread[number].popleft()


@contextmanager
def running(program: Program, log: Path) -> Iterator[Running]:
    """Start a program; end it by ending its stdin."""
    with log.open("w") as errors:
        process = subprocess.Popen(
            program.command,
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            env=os.environ | {"PYTHONPATH": str(ROOT)},
        )
        with suppress(BrokenPipeError), process:  # a program that has ended reads no more
            yield Running(process, log)
            process.terminate()


class Remote:
    """A client of another project that is connected to our edge, and takes and gives our shapes."""

    def __init__(self, client: Client, program: Running, name: str) -> None:
        self.client = client
        self._program = program
        self._name = name

    def card(self) -> Json:
        card: Json = self._call("card")
        return card

    def send(self, *said: str | Part, **how: Any) -> Event:
        """The task, or the message. Shape: `how` is as in Sending."""
        return self._wire.event_in(self._call("send", request=self._wire.send(sending(*said, **how))))

    def task(self, *said: str | Part, **how: Any) -> Task:
        """The task of a send that is answered by one."""
        answer = self.send(*said, **how)
        assert isinstance(answer, Task), answer
        return answer

    def stream(self, *said: str | Part, **how: Any) -> Generator[Event]:
        return self._events("stream", self._wire.send(sending(*said, **how)))

    def subscribe(self, task: str) -> Generator[Event]:
        return self._events("subscribe", {"id": task})

    def kept(self, task: str) -> Task:
        """The task as the client itself built it from the stream, where it does."""
        return self._wire.task_in(self._call("kept", task_id=task))

    def get(self, task: str, history_length: int | None = None) -> Task:
        asked = {"id": task} if history_length is None else {"id": task, "historyLength": history_length}
        return self._wire.task_in(self._call("get", request=asked))

    def cancel(self, task: str) -> Task:
        return self._wire.task_in(self._call("cancel", request={"id": task}))

    def list_tasks(self, context: str, size: int, token: str = "") -> Page:
        page = self._call("list_tasks", request={"contextId": context, "pageSize": size, "pageToken": token})
        tasks = tuple(map(self._wire.task_in, page.get("tasks", ())))
        return Page(tasks=tasks, next_token=page.get("nextPageToken", ""), total=page["totalSize"])

    def set_push(self, hook: Hook) -> Hook:
        return self._wire.hook_in(self._call("set_push", request=self._wire.hook(hook)))

    def get_push(self, task: str, hook: str) -> Hook:
        return self._wire.hook_in(self._call("get_push", request=self._wire.hook_named(task, hook)))

    def list_push(self, task: str) -> tuple[Hook, ...]:
        return tuple(map(self._wire.hook_in, self._call("list_push", request=self._wire.hooks_of(task))))

    def delete_push(self, task: str, hook: str) -> None:
        self._call("delete_push", request=self._wire.hook_named(task, hook))

    def extended_card(self) -> Json:
        card: Json = self._call("extended_card")
        return card

    @property
    def _wire(self) -> Wire:
        return self.client.wire

    def _call(self, call: str, **params: Any) -> Any:
        return self._program.call(call, self._name, **params)

    def _events(self, call: str, request: Json) -> Generator[Event]:
        with closing(self._program.stream(call, self._name, request=request)) as values:
            for value in values:
                yield self._wire.event_in(value)


def sending(*said: str | Part, **how: Any) -> Sending:
    """A message of these texts and parts."""
    parts = tuple(Part(kind="text", value=each) if isinstance(each, str) else each for each in said)
    return Sending(parts=parts, **{"message_id": unique("m"), **how})


def unique(word: str) -> str:
    return f"{word}-{os.urandom(6).hex()}"
