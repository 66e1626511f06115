import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.strategies import messages, params, without

from llamon_agent.domain.errors import CallerError
from llamon_agent.domain.message import Message
from llamon_agent.inbound.a2a.dialects import DIALECTS
from llamon_agent.inbound.a2a.operations import Dialect, Operation
from llamon_agent.inbound.a2a.params import read_base64, write_base64
from llamon_agent.inbound.a2a.timestamp import read_timestamp, write_timestamp
from llamon_agent.inbound.a2a.v03 import codec as v03
from llamon_agent.inbound.a2a.v03 import schema as schema03
from llamon_agent.inbound.a2a.v10 import codec as v10
from llamon_agent.inbound.a2a.v10 import schema as schema10


def over_03(message: Message) -> Message:
    """There and back, through the bytes."""
    return v03.message_in(msgspec.json.decode(v03.encode(v03.message_out(message)), type=schema03.Message))


def over_10(message: Message) -> Message:
    return v10.message_in(msgspec.json.decode(v10.encode(v10.message_out(message)), type=schema10.Message))


@given(messages)
def test_1_0_carries_a_message_but_for_its_losses(message: Message) -> None:
    assert over_10(message) == without(v10.LOSSES, message)


@given(messages)
def test_0_x_carries_a_message_but_for_its_losses(message: Message) -> None:
    assert over_03(message) == without(v03.LOSSES, message)


@given(messages)
def test_both_dialects_carry_the_same_message(message: Message) -> None:
    old, new = over_03(message), over_10(message)
    assert without(v03.LOSSES, new) == without(v10.LOSSES, old)


def opened(dialect: Dialect, body: bytes) -> list[Operation | CallerError]:
    """What becomes of a body under every method of a dialect; any other exception gets out."""
    results: list[Operation | CallerError] = []
    for open_params in dialect.methods.values():
        try:
            results.append(open_params(body))
        except CallerError as error:
            results.append(error)
    return results


@pytest.mark.parametrize("dialect", DIALECTS, ids=["0.x", "1.0"])
@given(value=params)
def test_any_json_params_give_an_operation_or_a_caller_error(dialect: Dialect, value: object) -> None:
    assert len(opened(dialect, msgspec.json.encode(value))) == len(dialect.methods)


@pytest.mark.parametrize("dialect", DIALECTS, ids=["0.x", "1.0"])
@given(body=st.binary(max_size=40))
def test_any_bytes_as_params_give_an_operation_or_a_caller_error(dialect: Dialect, body: bytes) -> None:
    assert len(opened(dialect, body)) == len(dialect.methods)


@given(st.binary(max_size=40), st.booleans(), st.booleans())
def test_base64_is_read_in_every_spelling(data: bytes, url_safe: bool, padded: bool) -> None:
    text = write_base64(data)
    text = text.replace("+", "-").replace("/", "_") if url_safe else text
    assert read_base64(text if padded else text.rstrip("="), "raw") == data


@given(st.integers(min_value=0, max_value=253_402_300_799_999))
def test_a_written_timestamp_is_read_back_exactly(at_ms: int) -> None:
    assert read_timestamp(write_timestamp(at_ms), "timestamp") == at_ms
