"""The tasks that something is happening to in this process; every other task is what the store says of it."""

from collections import OrderedDict
from collections.abc import Callable, Iterator

from llamon_agent.domain.task import Task
from llamon_agent.runs.live import LiveTask

_REMEMBERED_SEQS = 4096
"""Of how many tasks that left memory the seq is remembered, so that a read that was under way is known to be old."""


class LiveTasks:
    """Live tasks by their ids. Shape: `make` brings a task to life."""

    def __init__(self, make: Callable[[Task], LiveTask]) -> None:
        self._make = make
        self._live: dict[str, LiveTask] = {}
        # A plain dict finds its oldest key only by walking over all that were deleted.
        self._last_seqs: OrderedDict[str, int] = OrderedDict()

    def __iter__(self) -> Iterator[LiveTask]:
        return iter(list(self._live.values()))

    def __len__(self) -> int:
        return len(self._live)

    def get(self, task_id: str) -> LiveTask | None:
        return self._live.get(task_id)

    def alive(self, task: Task) -> LiveTask:
        """The task in this process, from its record if need be; one that has ended is not kept."""
        live = self._live.get(task.id)
        if live is None:
            live = self._make(task)
            if not task.is_terminal:
                self._live[task.id] = live
        return live

    def last_seq(self, task_id: str) -> int:
        """What the store has kept of a task that left memory, at least; 0 where that is not known."""
        return self._last_seqs.get(task_id, 0)

    def is_current(self, task: Task) -> bool:
        """Whether a record that was just read is the newest; while it was read, the task may have come or gone."""
        return task.id not in self._live and task.seq >= self.last_seq(task.id)

    def gone_back(self, task: Task) -> None:
        """The store has lost what it had kept: from now on its older record is what is so."""
        self._remember(task.id, task.seq)

    def forget(self, live: LiveTask) -> None:
        """Leave the task to the store."""
        if self._live.pop(live.task.id, None) is not None and live.saved_seq:
            self._remember(live.task.id, live.saved_seq)

    def _remember(self, task_id: str, seq: int) -> None:
        """Keep the seq; where there are too many, the one that was told longest ago goes."""
        self._last_seqs[task_id] = seq
        self._last_seqs.move_to_end(task_id)
        if len(self._last_seqs) > _REMEMBERED_SEQS:
            self._last_seqs.popitem(last=False)
