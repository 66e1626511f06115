"""Which checkpoints of a thread can go, case by case; that a pruned thread goes on is tested with whole graphs."""

from hypothesis import given
from hypothesis import strategies as st

from llamon_agent.adapters.langgraph.checkpoints.pruning import Metadata, Saved, unneeded


def saved(*steps: str, namespace: str = "") -> list[Saved]:
    """A thread. Shape: each step is SOURCE:TASK, with +CHANNEL for a channel whose value is in an earlier one."""
    found: list[Saved] = []
    for number, step in enumerate(steps):
        step, *channels = step.split("+")
        source, _, task = step.partition(":")
        metadata = Metadata(
            source=source, task_id=task or None, counters_since_delta_snapshot={each: [1, 1] for each in channels}
        )
        found.append(Saved(namespace, f"{number:03}", found[-1].id if found else None, metadata))
    return found


def called(namespace: str, number: str, parent: str | None = None) -> Saved:
    """A checkpoint of a subgraph. Shape: parent is that of the graph in whose step it was called."""
    return Saved(namespace, number, None, Metadata(source="loop", parents={} if parent is None else {"": parent}))


def kept(thread: list[Saved], *, past_turns: int = 1, completed: str | None = None) -> list[str]:
    gone = unneeded(thread, past_turns=past_turns, completed=completed)
    return [f"{each.namespace} {each.id}".strip() for each in thread if each not in gone]


TWO = ("input:a", "loop:a", "loop:a", "input:b", "loop:b", "loop:b")


def test_nothing_of_an_empty_thread_can_go() -> None:
    assert unneeded([], past_turns=1, completed=None) == []
    assert unneeded([called("inner", "000")], past_turns=1, completed=None) == []


def test_of_completed_turns_the_last_checkpoints_are_kept() -> None:
    thread = saved(*TWO, "input:c", "loop:c", "loop:c")
    assert kept(thread, completed="c") == ["005", "008"]
    assert kept(thread, completed="c", past_turns=2) == ["002", "005", "008"]
    assert kept(thread, completed="c", past_turns=9) == ["002", "005", "008"]


def test_a_turn_that_may_go_on_is_kept_whole_with_what_was_before_it() -> None:
    assert kept(saved(*TWO)) == ["002", "003", "004", "005"]


def test_the_turn_of_another_task_than_the_one_that_has_ended_is_kept_whole() -> None:
    assert kept(saved(*TWO), completed="a") == ["002", "003", "004", "005"]


def test_a_repaired_turn_is_kept_with_its_repair() -> None:
    assert kept(saved(*TWO, "update")) == ["002", "003", "004", "005", "006"]


def test_a_thread_that_no_run_has_written_is_kept() -> None:
    assert kept(saved("update", "update"), completed="a") == ["000", "001"]


def test_a_task_that_began_twice_is_recovered_from_before_its_first_run() -> None:
    thread = saved("input:a", "loop:a", "input:b", "loop:b", "input:b", "loop:b")
    assert kept(thread, completed="b") == ["001", "003", "005"]


def test_a_value_is_kept_back_to_the_checkpoint_that_has_the_whole_of_it() -> None:
    thread = saved("input:a", "loop:a", "loop:a", "input:b", "loop:b+changes", "loop:b+changes")
    assert kept(thread, completed="b") == ["002", "003", "004", "005"]
    never_whole = saved("input:a+changes", "loop:a+changes", "loop:a+changes+more")
    assert kept(never_whole, completed="a") == ["000", "001", "002"]


def test_ancestors_in_a_circle_are_each_kept_once() -> None:
    counted = Metadata(source="loop", task_id="a", counters_since_delta_snapshot={"changes": [1, 1]})
    thread = [Saved("", "000", "001", counted), Saved("", "001", "000", counted)]
    assert kept(thread, completed="a") == ["000", "001"]


def test_a_subgraph_with_a_memory_keeps_its_newest_state_for_each_that_the_graph_keeps() -> None:
    inner = [called("inner", number, "000") for number in ("001a", "001b", "004a", "004b")]
    assert kept([*saved(*TWO), *inner], completed="b") == ["002", "005", "inner 001b", "inner 004b"]


def test_a_subgraphs_call_goes_with_the_step_that_made_it() -> None:
    calls = [called("inner:1", "001a", "001"), called("inner:2", "004a", "004")]
    assert kept([*saved(*TWO), *calls], completed="b") == ["002", "005"]
    assert kept([*saved(*TWO), *calls]) == ["002", "003", "004", "005", "inner:2 004a"]
    assert kept([*saved(*TWO), called("inner:3", "004b")], completed="b") == ["002", "005", "inner:3 004b"]


@st.composite
def threads(draw: st.DrawFn) -> tuple[list[str], str | None]:
    """The steps of a thread, and the task whose completion lets it be pruned: the last one, or none is completed.

    Shape: one task after the other, each with one input or several (it began again), and some of them repaired.
    """
    steps, tasks = [], draw(st.integers(1, 6))
    is_completed = draw(st.booleans())
    for number in range(tasks):
        for _ in range(draw(st.integers(1, 2))):
            steps.append(f"input:{number}")
            steps += [f"loop:{number}{draw(st.sampled_from(['', '+changes']))}" for _ in range(draw(st.integers(0, 4)))]
        if number < tasks - 1 or not is_completed:
            steps += ["update"] * draw(st.integers(0, 2))
    return steps, str(tasks - 1) if is_completed else None


@given(thread=threads(), past_turns=st.integers(1, 3), share=st.floats(0, 1))
def test_a_thread_of_which_some_were_deleted_keeps_the_same(
    thread: tuple[list[str], str | None], past_turns: int, share: float
) -> None:
    whole, completed = saved(*thread[0]), thread[1]
    gone = unneeded(whole, past_turns=past_turns, completed=completed)
    deleted = gone[: round(share * len(gone))]
    left = [each for each in whole if each not in deleted]
    assert unneeded(left, past_turns=past_turns, completed=completed) == gone[len(deleted) :]


@given(thread=threads(), past_turns=st.integers(1, 3))
def test_the_newest_is_always_kept(thread: tuple[list[str], str | None], past_turns: int) -> None:
    whole = saved(*thread[0])
    assert whole[-1] not in unneeded(whole, past_turns=past_turns, completed=thread[1])
