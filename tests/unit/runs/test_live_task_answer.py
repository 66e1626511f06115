import pytest
from hypothesis import given
from hypothesis import strategies as st

from llamon_agent.domain.message import sound
from llamon_agent.runs.live_task import AnswerBuffer, Piece


def told(pieces: list[Piece | None]) -> str:
    """What a reader has that does as `append` says."""
    text = ""
    for piece in pieces:
        if piece is not None:
            text = text + piece.text if piece.append else piece.text
    return text


def test_every_piece_is_given_back_at_once() -> None:
    answer = AnswerBuffer("a")
    pieces = [answer.add("Hel"), answer.add("lo"), answer.add(""), answer.closing()]
    assert pieces == [Piece("Hel", append=False, last=False), Piece("lo", append=True, last=False), None, None]


def test_a_final_text_that_goes_on_is_sent_as_its_rest() -> None:
    answer = AnswerBuffer("a")
    answer.add("Hello")
    assert answer.closing("Hello world") == Piece(" world", append=True, last=True)
    assert (answer.text, answer.sent) == ("Hello", "Hello")


def test_a_final_text_that_was_never_sent_is_one_whole_piece() -> None:
    assert AnswerBuffer("a").closing("Hello") == Piece("Hello", append=False, last=True)


def test_a_final_text_that_differs_replaces_what_was_sent() -> None:
    answer = AnswerBuffer("a")
    answer.add("route: billing")
    assert answer.closing("Your bill is paid.") == Piece("Your bill is paid.", append=False, last=True)


def test_a_character_that_is_cut_in_two_waits_for_its_second_half() -> None:
    answer = AnswerBuffer("a")
    assert [answer.add("a\ud83d"), answer.add("\ude00b")] == [
        Piece("a", append=False, last=False),
        Piece("😀b", append=True, last=False),
    ]
    assert answer.closing() is None


def test_a_half_that_waits_in_vain_is_replaced() -> None:
    answer = AnswerBuffer("a")
    answer.add("\ud83d")
    assert (answer.sent, answer.text) == ("", "\ufffd")
    assert answer.closing() == Piece("\ufffd", append=False, last=True)
    assert answer.add("b") == Piece("\ufffdb", append=False, last=False)
    answer.add("\ud83d")
    assert answer.add("\ude00", restart=True) == Piece("\ufffd", append=False, last=False)


_HALVES = st.text(st.sampled_from("a한\ud83d\ude00"), max_size=6)


@given(st.lists(_HALVES, max_size=4))
def test_text_means_the_same_however_it_is_cut(cuts: list[str]) -> None:
    answer = AnswerBuffer("a")
    pieces = [answer.add(cut) for cut in cuts]
    assert told([*pieces, answer.closing()]) == sound("".join(cuts))


def test_a_restart_drops_what_came_before() -> None:
    answer = AnswerBuffer("a")
    pieces = [answer.add("Let me see."), answer.add("It is ", restart=True), answer.add("5.")]
    assert told(pieces) == "It is 5." == answer.text


@pytest.mark.parametrize(("text", "rest"), [("Hello", None), ("Hello!", Piece("!", append=True, last=False))])
def test_a_restart_with_what_was_sent_goes_on_from_it(text: str, rest: Piece | None) -> None:
    answer = AnswerBuffer("a")
    answer.add("Hello")
    answer.add("", restart=True)
    assert answer.add(text, restart=True) == rest
    assert answer.text == answer.sent == text


def test_a_restart_without_text_sends_nothing_until_the_end() -> None:
    answer = AnswerBuffer("a")
    answer.add("draft")
    assert answer.add("", restart=True) is None
    assert (answer.text, answer.sent) == ("", "draft")
    assert answer.closing() == Piece("", append=False, last=True)
    assert answer.closing("draft") is None


def test_no_text_is_no_artifact() -> None:
    answer = AnswerBuffer("a")
    assert answer.add("") is None
    assert answer.closing("") is None
    assert AnswerBuffer("b").closing() is None


steps = st.lists(st.tuples(st.text("ab", max_size=3), st.booleans()))


@given(steps, st.one_of(st.none(), st.text("ab", max_size=9)))
def test_the_pieces_joined_are_always_what_was_sent_and_none_but_a_withdrawal_is_empty(
    script: list[tuple[str, bool]], final: str | None
) -> None:
    answer, text = AnswerBuffer("a"), ""
    pieces: list[Piece | None] = []
    for piece, restart in script:
        pieces.append(answer.add(piece, restart=restart))
        text = piece if restart else text + piece
        assert (answer.text, told(pieces)) == (text, answer.sent)
    last = answer.closing(final)
    assert told([*pieces, last]) == (text if final is None else final)
    assert answer.closing(final) == last
    assert all(piece.text for piece in pieces if piece is not None)
    assert last is None or last.text or not last.append
