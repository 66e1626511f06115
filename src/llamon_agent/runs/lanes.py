"""One run per context at a time; later messages wait their turn, in order, and not too many of them.

A context has a lane. At most one task holds it, working or paused, and runs wait behind it. A paused task keeps its
lane: what waits was written before its question was asked, so it is no answer to it, and a run beside a pending
question would lose it. Everything is synchronous, so a decision and its reservation are one step.
"""

from collections import deque

from llamon_agent.domain.errors import ContextIsBusy
from llamon_agent.runs.live import LiveTask
from llamon_agent.runs.run import Run

LaneKey = tuple[str, str, str]
"""(owner, agent, context id)"""


def lane_key(live: LiveTask) -> LaneKey:
    """The lane of a task."""
    return live.task.owner, live.task.agent, live.task.context_id


class _Lane:
    def __init__(self) -> None:
        self.holder: LiveTask | None = None
        self.waiting: deque[Run] = deque()


class Lanes:
    """All lanes that are not empty."""

    def __init__(self, *, most_waiting: int) -> None:
        self._lanes: dict[LaneKey, _Lane] = {}
        self._most_waiting = most_waiting

    def holder(self, key: LaneKey) -> LiveTask | None:
        """The task that has the context now."""
        lane = self._lanes.get(key)
        return lane.holder if lane is not None else None

    def is_free(self, key: LaneKey) -> bool:
        """Whether a new run could start at once."""
        return key not in self._lanes

    def check_room(self, key: LaneKey) -> None:
        """Raises: ContextIsBusy: as many runs wait as may."""
        lane = self._lanes.get(key)
        if lane is not None and len(lane.waiting) >= self._most_waiting:
            raise ContextIsBusy

    def hold(self, live: LiveTask) -> None:
        """Give the task its context, if nobody has it."""
        lane = self._lanes.setdefault(lane_key(live), _Lane())
        lane.holder = lane.holder or live

    def queue(self, run: Run) -> None:
        """Let the run wait behind the holder."""
        self._lanes[lane_key(run.live)].waiting.append(run)

    def blocks(self, live: LiveTask) -> bool:
        """Whether runs wait behind this task."""
        lane = self._lanes.get(lane_key(live))
        return lane is not None and lane.holder is live and bool(lane.waiting)

    def leave(self, run: Run) -> Run | None:
        """The run's task needs its context no more; the run whose turn it is now, already holding it."""
        return self._vacate(run.live, run)

    def forget(self, live: LiveTask) -> None:
        """Drop a holder that nobody waits behind."""
        self._vacate(live, None)

    def _vacate(self, live: LiveTask, run: Run | None) -> Run | None:
        key = lane_key(live)
        lane = self._lanes.get(key)
        if lane is None:
            return None
        if run is not None and run in lane.waiting:
            lane.waiting.remove(run)
        if lane.holder is not live:
            return None
        if not lane.waiting:
            del self._lanes[key]
            return None
        upcoming = lane.waiting.popleft()
        lane.holder = upcoming.live
        return upcoming
