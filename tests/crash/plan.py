"""What happens in one round, all of it drawn from its seed."""

from collections.abc import Sequence
from random import Random
from typing import NamedTuple

from tests.crash.faults import Fault, Kind, Moment
from tests.crash.hosts import Sent
from tests.crash.said import AGENTS
from tests.crash.scenarios import ASKING, TALKING

CONVERSATIONS = 10
"""How many there are in a round."""

BEGIN_WITHIN_S = 0.5

FAULT_WITHIN_S = 1.5
"""How long a life may be in which a fault is not reached."""

MOMENTS: tuple[Moment, ...] = ("before", "after")
UNENDED: tuple[Kind, ...] = ("paused", "unsettled")

OUTAGES = 0.4
"""In which part of the rounds with a database it is the database that dies."""


class Conversation(NamedTuple):
    """Some messages in one context, and how their host sends them."""

    begins_after_s: float
    scenario: str
    messages: list[Sent]
    random: Random


class Death(NamedTuple):
    """How one life of the edge ends.

    Shape: by its fault; by a kill, or a stop where it goes `gracefully`, if there is none or it is not reached in time.
    Units: after_s counts from the life's start.
    """

    after_s: float
    fault: Fault | None
    gracefully: bool = False

    def __str__(self) -> str:
        return str(self.fault) if self.fault else "stopped" if self.gracefully else "at random"


class Outage(NamedTuple):
    """A time in which the database is dead. Units: both count from the moment before."""

    after_s: float
    lasts_s: float


class Plan(NamedTuple):
    """A round's plan.

    Shape: outage is None where the edge dies; else the database does, under one living edge.
    """

    seed: int
    conversations: Sequence[Conversation]
    deaths: Sequence[Death]
    outage: Outage | None = None


def plan_of(seed: int, *, database: bool = False) -> Plan:
    """The plan of a seed; with a database, which dies in some of the rounds instead of the edge."""
    random = Random(seed)
    conversations = [_conversation(random, seed, number) for number in range(CONVERSATIONS)]
    deaths = [_death(random) for _ in range(random.choice((1, 1, 1, 2, 2, 3, 4)))]
    if database and random.random() < OUTAGES:
        return Plan(seed, conversations, [], Outage(random.uniform(0.02, 1.2), random.uniform(0, 1)))
    return Plan(seed, conversations, deaths)


def _conversation(random: Random, seed: int, number: int) -> Conversation:
    agent = random.choice(AGENTS)
    scenario = random.choice(ASKING if agent == "asking" else TALKING)
    context = f"c{seed}-{number}"
    messages = [Sent(agent, f"t{seed}-{number}-{turn}", context) for turn in range(random.randint(1, 3))]
    return Conversation(random.uniform(0, BEGIN_WITHIN_S), scenario, messages, Random(random.random()))


def _death(random: Random) -> Death:
    match random.randrange(11):
        case 0 | 1 | 2 | 3:
            return Death(random.uniform(0.02, 1.2), None)
        case 4:
            return Death(random.uniform(0.02, 1.2), None, gracefully=True)
        case 5 | 6 | 7:
            return Death(FAULT_WITHIN_S, _fault(random, "save", "terminal", most=4))
        case 8:
            return Death(FAULT_WITHIN_S, _fault(random, "save", random.choice(UNENDED), most=4))
        case 9:
            return Death(FAULT_WITHIN_S, _fault(random, random.choice(("create", "take_over")), "", most=3))
        case _:
            return Death(FAULT_WITHIN_S, _fault(random, random.choice(("aput", "aput_writes")), "", most=15))


def _fault(random: Random, method: str, kind: Kind, *, most: int) -> Fault:
    return Fault(random.choice(MOMENTS), method, kind, random.randint(1, most))
