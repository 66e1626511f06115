import pytest
from hypothesis import given
from hypothesis import strategies as st

from llamon_agent.adapters.langgraph.hitl.formats import ApprovalWords, read_approval


@pytest.mark.parametrize("text", ["yes", " Yes. ", "OK!", "approve", "go  ahead", "승인", "네", "예.", "승인합니다"])
def test_a_yes_is_read(text: str) -> None:
    assert read_approval(text) == ApprovalWords(approved=True)


@pytest.mark.parametrize("text", ["no", "No.", "reject", "거절", "아니오", "아니요!", "stop"])
def test_a_no_is_read(text: str) -> None:
    assert read_approval(text) == ApprovalWords(approved=False)


@pytest.mark.parametrize("text", ["approve all", "Yes all.", "모두 승인", "전체 승인"])
def test_a_yes_to_all_says_so(text: str) -> None:
    assert read_approval(text) == ApprovalWords(approved=True, everything=True)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("no, keep it", "keep it"),
        ("Reject: wrong file", "wrong file"),
        ("no - yes was a mistake", "yes was a mistake"),
        ("아니오, 그냥 둬", "그냥 둬"),
    ],
)
def test_a_no_keeps_its_reason(text: str, reason: str) -> None:
    assert read_approval(text) == ApprovalWords(approved=False, reason=reason)


@pytest.mark.parametrize(
    "text",
    ["", " ", "yes, delete it", "yes but not that one", "no problem", "yesno", "not sure", "maybe", "all", "네, 지워"],
)
def test_what_is_not_clear_is_no_verdict(text: str) -> None:
    assert read_approval(text) is None


@given(st.text())
def test_nothing_longer_than_a_known_word_is_ever_a_yes(text: str) -> None:
    verdict = read_approval(f"yes, {text}x")
    assert verdict is None or not verdict.approved
