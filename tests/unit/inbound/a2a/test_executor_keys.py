import msgspec
import pytest

from llamon_agent.domain.errors import BadParams
from llamon_agent.domain.message import Message, Role, Text
from llamon_agent.inbound.a2a.executor import key_of

HI = Message(message_id="m1", role=Role.USER, parts=(Text.of("hi"),), metadata={"b": 1, "a": 2})


def test_without_a_header_or_an_option_there_is_no_key() -> None:
    assert key_of(HI, None, None, by_message_id=False) is None


def test_a_header_is_a_key_and_goes_before_the_messages_id() -> None:
    for by_message_id in (False, True):
        key = key_of(HI, None, "m1", by_message_id=by_message_id)
        assert key is not None
        assert key[0] == "header:m1"


def test_a_messages_id_never_meets_a_header() -> None:
    by_id, by_header = key_of(HI, None, None, by_message_id=True), key_of(HI, None, "m1", by_message_id=True)
    assert by_id is not None
    assert by_header is not None
    assert (by_id[0] != by_header[0], by_id[1]) == (True, by_header[1])


def test_a_messages_id_of_any_length_makes_a_short_key() -> None:
    keys = [
        key_of(msgspec.structs.replace(HI, message_id=id), None, None, by_message_id=True)
        for id in ("x" * 100_000, "x" * 100_001)  # noqa: A001 -- the field's name
    ]
    assert None not in keys
    assert [len(key[0]) < 100 for key in keys if key] == [True, True]
    assert keys[0] != keys[1]


def test_the_digest_is_of_all_that_is_said_in_whatever_order() -> None:
    def digest(message: Message, metadata: dict[str, object] | None = None) -> str:
        key = key_of(message, metadata, "k", by_message_id=False)
        assert key is not None
        return key[1]

    other_order = msgspec.structs.replace(HI, metadata={"a": 2, "b": 1})
    assert digest(HI) == digest(other_order)
    others = [
        digest(msgspec.structs.replace(HI, parts=(Text.of("ho"),))),
        digest(msgspec.structs.replace(HI, context_id="c")),
        digest(HI, {"history": []}),
    ]
    assert len({digest(HI), *others}) == 4


@pytest.mark.parametrize("header", ["", "x" * 256, "a\tb", "\x00"])
def test_what_is_no_key_is_refused(header: str) -> None:
    with pytest.raises(BadParams, match="Idempotency-Key"):
        key_of(HI, None, header, by_message_id=False)
