"""A seed says what happens in a round, and tells of all that can."""

from tests.crash.plan import Plan, plan_of


def drawn(plan: Plan) -> object:
    """A plan as what can be compared."""
    return (
        [(each.begins_after_s, each.scenario, each.messages) for each in plan.conversations],
        plan.deaths,
        plan.outage,
    )


def test_a_seed_gives_the_same_plan_each_time() -> None:
    assert drawn(plan_of(7)) == drawn(plan_of(7))
    assert drawn(plan_of(7)) != drawn(plan_of(8))


def test_every_way_to_die_is_planned() -> None:
    plans = [plan_of(seed) for seed in range(200)]
    ways = {str(death) for plan in plans for death in plan.deaths}
    writes = {f"{when} {kind} save" for when in ("before", "after") for kind in ("terminal", "paused", "unsettled")}
    assert ways >= {
        *writes,
        "at random",
        "stopped",
        "before create",
        "after take_over",
        "after aput",
        "before aput_writes",
    }
    assert not any(plan.outage for plan in plans)


def test_with_a_database_either_it_dies_or_the_edge() -> None:
    plans = [plan_of(seed, database=True) for seed in range(50)]
    assert {bool(plan.outage) for plan in plans} == {True, False}
    assert all(bool(plan.outage) != bool(plan.deaths) for plan in plans)


def test_no_two_messages_are_alike() -> None:
    tokens = [sent.token for seed in range(3) for each in plan_of(seed).conversations for sent in each.messages]
    assert len(set(tokens)) == len(tokens)
