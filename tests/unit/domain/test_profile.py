from llamon_agent.domain.profile import HISTORY_SEEDING, ExtendedFields, Profile, Skill, extended
from llamon_agent.inbound.a2a.history.converter import _MAX_PREFILL_TURNS

ADD = Skill(id="add", name="Add", description="Adds.")
PLAIN = Profile(name="Demo", description="Answers.", version="1", skills=(ADD,), documentation_url="https://a/docs")


def test_what_the_extension_declares_is_what_is_kept() -> None:
    assert HISTORY_SEEDING.params == {"maxTurns": _MAX_PREFILL_TURNS, "metadataKey": "history"}
    assert not HISTORY_SEEDING.required
    assert PLAIN.extensions == (HISTORY_SEEDING,)


def test_an_extended_card_says_more_than_the_other() -> None:
    better = Skill(id="add", name="Add", description="Adds fast.")
    more = Skill(id="sub", name="Subtract", description="Subtracts.")
    extended_fields = ExtendedFields(description="For you.", skills=(more, better), documentation_url="https://a/more")
    said = extended(
        Profile(name="Demo", description="Answers.", version="1", skills=(ADD,), extended_fields=extended_fields)
    )
    assert (said.description, said.documentation_url) == ("For you.", "https://a/more")
    assert said.skills == (better, more)


def test_what_an_addition_leaves_out_stays() -> None:
    assert extended(PLAIN) == PLAIN
    one = Profile(
        name="Demo",
        description="Answers.",
        version="1",
        documentation_url="https://a",
        extended_fields=ExtendedFields(),
    )
    assert extended(one) == one
