from hypothesis import given
from hypothesis import strategies as st

from llamon_agent.runs.live_task import AnswerBuffer, Piece


def told(pieces: list[Piece | None]) -> str:
    """What a reader has that does as `append` says."""
    text = ""
    for piece in pieces:
        if piece is not None:
            text = text + piece.text if piece.append else piece.text
    return text


def test_the_last_piece_carries_the_last_text() -> None:
    answer = AnswerBuffer("a")
    pieces = [answer.add("Hel"), answer.add("lo"), answer.add(" wor"), answer.add("ld"), answer.closing()]
    assert pieces == [
        None,
        Piece("Hel", append=False, last=False),
        Piece("lo", append=True, last=False),
        Piece(" wor", append=True, last=False),
        Piece("ld", append=True, last=True),
    ]


def test_a_flushed_answer_is_closed_by_an_empty_piece() -> None:
    answer = AnswerBuffer("a")
    answer.add("thinking")
    assert answer.flush() == Piece("thinking", append=False, last=False)
    assert not answer.holds
    assert answer.flush() is None
    assert answer.closing() == Piece("", append=True, last=True)


def test_a_final_text_that_goes_on_is_told_as_its_rest() -> None:
    answer = AnswerBuffer("a")
    answer.add("Hello")
    assert answer.closing("Hello world") == Piece("Hello world", append=False, last=True)
    assert (answer.text, answer.sent) == ("Hello", "")


def test_a_final_text_that_differs_replaces_what_was_told() -> None:
    answer = AnswerBuffer("a")
    pieces = [answer.add("route: billing"), answer.flush(), answer.closing("Your bill is paid.")]
    assert pieces[-1] == Piece("Your bill is paid.", append=False, last=True)
    assert told(pieces) == "Your bill is paid."


def test_a_restart_drops_what_came_before() -> None:
    answer = AnswerBuffer("a")
    pieces = [answer.add("Let me see."), answer.flush(), answer.add("It is ", restart=True), answer.add("5.")]
    pieces.append(answer.closing())
    assert told(pieces) == "It is 5." == answer.text


def test_a_restart_that_is_never_followed_leaves_nothing_held() -> None:
    answer = AnswerBuffer("a")
    answer.add("draft")
    assert answer.add("", restart=True) is None
    assert answer.closing() is None


def test_no_text_is_no_artifact() -> None:
    answer = AnswerBuffer("a")
    assert answer.add("") is None
    assert answer.closing("") is None
    assert AnswerBuffer("b").closing() is None


def test_an_answer_whose_final_text_is_empty_takes_back_what_was_told() -> None:
    answer = AnswerBuffer("a")
    pieces = [answer.add("draft"), answer.flush(), answer.closing("")]
    assert told(pieces) == ""
    assert pieces[-1] is not None
    assert pieces[-1].last


steps = st.lists(st.one_of(st.tuples(st.text(max_size=4), st.booleans()), st.none()))


@given(steps, st.one_of(st.none(), st.text(max_size=9)))
def test_what_was_told_is_the_text_and_closes_once(script: list[tuple[str, bool] | None], final: str | None) -> None:
    answer = AnswerBuffer("a")
    pieces: list[Piece | None] = []
    for step in script:
        pieces.append(answer.flush() if step is None else answer.add(step[0], restart=step[1]))
        assert told(pieces) == answer.sent
    last = answer.closing(final)
    assert told([*pieces, last]) == (answer.text if final is None else final)
    assert answer.closing(final) == last
    assert [piece.last for piece in [*pieces, last] if piece is not None].count(True) == (0 if last is None else 1)
