import base64

import msgspec
import pytest
from a2a.compat.v0_3 import a2a_v0_3_pb2 as pb03
from a2a.compat.v0_3 import proto_utils
from a2a.compat.v0_3 import types as models03
from a2a.types import a2a_pb2 as pb10
from google.protobuf import json_format
from hypothesis import given
from hypothesis import strategies as st
from tests.strategies import messages, params, without

from llamon_agent.domain.encoding import read_base64, read_timestamp, write_base64, write_timestamp
from llamon_agent.domain.errors import CallerError
from llamon_agent.domain.message import Message, Raw, Role
from llamon_agent.inbound.a2a.dialects import DIALECTS
from llamon_agent.wire.operations import Dialect, Operation
from llamon_agent.wire.v03 import schema as schema03
from llamon_agent.wire.v03 import values as v03
from llamon_agent.wire.v03_proto import schema as proto_schema
from llamon_agent.wire.v03_proto import values as proto_values
from llamon_agent.wire.v03_proto.codec import V03_PROTO
from llamon_agent.wire.v10 import schema as schema10
from llamon_agent.wire.v10 import values as v10

EVERY_DIALECT: tuple[Dialect, ...] = (*DIALECTS, V03_PROTO)


def over_03(message: Message) -> Message:
    """There and back, through the bytes."""
    return v03.message_in(msgspec.json.decode(v03.encode(v03.message_out(message)), type=schema03.Message))


def over_proto_03(message: Message) -> Message:
    written = v03.encode(proto_values.message_out(message))
    return proto_values.message_in(msgspec.json.decode(written, type=proto_schema.Message))


def over_10(message: Message) -> Message:
    return v10.message_in(msgspec.json.decode(v10.encode(v10.message_out(message)), type=schema10.Message))


@given(messages)
def test_1_0_carries_a_message_but_for_its_losses(message: Message) -> None:
    assert over_10(message) == without(v10.LOSSES, message)


@given(messages)
def test_0_x_carries_a_message_but_for_its_losses(message: Message) -> None:
    assert over_03(message) == without(v03.LOSSES, message)


@given(messages)
def test_0_3s_protobuf_carries_a_message_but_for_its_losses(message: Message) -> None:
    assert over_proto_03(message) == without(proto_values.LOSSES, message)


@given(messages)
def test_all_dialects_carry_the_same_message(message: Message) -> None:
    old, proto, new = over_03(message), over_proto_03(message), over_10(message)
    assert without(v03.LOSSES, new) == without(v10.LOSSES, old)
    assert without(proto_values.LOSSES, new) == without(v03.LOSSES, proto)


# What travels as binary protobuf.


@given(st.binary(max_size=40))
def test_a_file_survives_the_protobufs_byte_for_byte(content: bytes) -> None:
    message = Message(message_id="m1", role=Role.USER, parts=(Raw(data=content),))
    sent_03 = json_format.Parse(v03.encode(proto_values.message_out(message)), pb03.Message())
    sent_10 = json_format.Parse(v10.encode(v10.message_out(message)), pb10.Message())
    got_03 = json_format.MessageToJson(pb03.Message.FromString(sent_03.SerializeToString()))
    got_10 = json_format.MessageToJson(pb10.Message.FromString(sent_10.SerializeToString()))
    assert proto_values.message_in(msgspec.json.decode(got_03, type=proto_schema.Message)) == message
    assert v10.message_in(msgspec.json.decode(got_10, type=schema10.Message)) == message


@given(st.binary(max_size=40))
def test_a_file_is_read_and_written_as_the_official_client_of_0_3_does(content: bytes) -> None:
    text = base64.b64encode(content).decode()
    theirs = proto_utils.ToProto.file(models03.FileWithBytes(bytes=text))
    ours = proto_values.part_out(Raw(data=content)).file
    assert proto_values.file_bytes_in(theirs.file_with_bytes) == content
    assert json_format.Parse(v03.encode(ours), pb03.FilePart()) == theirs
    assert proto_utils.FromProto.file(theirs) == models03.FileWithBytes(bytes=text)


def opened(dialect: Dialect, body: bytes) -> list[Operation | CallerError]:
    """What becomes of a body under every method of a dialect; any other exception gets out."""
    results: list[Operation | CallerError] = []
    for open_params in dialect.methods.values():
        try:
            results.append(open_params(body))
        except CallerError as error:
            results.append(error)
    return results


@pytest.mark.parametrize("dialect", EVERY_DIALECT, ids=lambda dialect: type(dialect).__name__)
@given(value=params)
def test_any_json_params_give_an_operation_or_a_caller_error(dialect: Dialect, value: object) -> None:
    assert len(opened(dialect, msgspec.json.encode(value))) == len(dialect.methods)


@pytest.mark.parametrize("dialect", EVERY_DIALECT, ids=lambda dialect: type(dialect).__name__)
@given(body=st.binary(max_size=40))
def test_any_bytes_as_params_give_an_operation_or_a_caller_error(dialect: Dialect, body: bytes) -> None:
    assert len(opened(dialect, body)) == len(dialect.methods)


@given(st.binary(max_size=40), st.booleans(), st.booleans())
def test_base64_is_read_in_every_spelling(data: bytes, url_safe: bool, padded: bool) -> None:
    text = write_base64(data)
    text = text.replace("+", "-").replace("/", "_") if url_safe else text
    assert read_base64(text if padded else text.rstrip("=")) == data


@given(st.integers(min_value=0, max_value=253_402_300_799_999))
def test_a_written_timestamp_is_read_back_exactly(at_ms: int) -> None:
    assert read_timestamp(write_timestamp(at_ms), "timestamp") == at_ms
