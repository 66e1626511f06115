import msgspec
import pytest

from llamon_agent.domain.encoding import write_base64
from llamon_agent.domain.errors import BadJson, BadParams
from llamon_agent.wire.json_body import MAX_PARTS, check_part_count, read_file, read_params


class Inner(msgspec.Struct):
    name: str


class Outer(msgspec.Struct):
    inner: Inner
    several: list[Inner] = []
    free: dict[str, Inner] = {}


DECODER = msgspec.json.Decoder(Outer)


@pytest.mark.parametrize(
    ("params", "says"),
    [
        (b"", "params are required and must be an object."),
        (b"null", "params must be an object."),
        (b"[1]", "params must be an object."),
        (b'"x"', "params must be an object."),
        (b"{}", "inner is required."),
        (b'{"inner":{}}', "inner.name is required."),
        (b'{"inner":{"name":7}}', "inner.name is not valid."),
        (b'{"inner":{"name":"x"},"several":[{"name":"x"},{}]}', "several[1].name is required."),
        (b'{"inner":{"name":"x"},"free":{"a` - at `$.b`":{"name":1}}}', "free[...].name is not valid."),
    ],
)
def test_the_error_for_bad_params_names_the_field(params: bytes, says: str) -> None:
    with pytest.raises(BadParams) as caught:
        read_params(DECODER, params)
    assert caught.value.public == says


@pytest.mark.parametrize(
    "params",
    [b"{", b'{"inner":{"name":"\xff"}}', b'{"inner":{"name":"\\ud800"}}', b'{"ignored":' + b"[" * 100_000],
    ids=["cut off", "bad UTF-8", "a lone surrogate", "too deep"],
)
def test_what_no_reader_takes_is_bad_json(params: bytes) -> None:
    with pytest.raises(BadJson):
        read_params(DECODER, params)


@pytest.mark.parametrize("text", ["+/+/", "-_-_", "-/+_"])
def test_base64_may_be_standard_or_url_safe(text: str) -> None:
    assert read_file(text, "raw") == b"\xfb\xff\xbf"


@pytest.mark.parametrize("text", ["aGk=", "aGk"])
def test_base64_may_be_padded_or_not(text: str) -> None:
    assert read_file(text, "raw") == b"hi"


@pytest.mark.parametrize("text", ["a", "aGk!", "aG k=", "aGk==", "=", "aGk\n", "안녕"])
def test_bad_base64_is_refused_by_its_field(text: str) -> None:
    with pytest.raises(BadParams) as caught:
        read_file(text, "message.parts[0].raw")
    assert caught.value.public == "message.parts[0].raw is not valid base64."


def test_base64_is_written_in_the_standard_letters_with_padding() -> None:
    assert write_base64(b"\xfb\xff\xbf\x00") == "+/+/AA=="


def test_a_message_may_have_many_parts_and_not_too_many() -> None:
    check_part_count([0] * MAX_PARTS)
    with pytest.raises(BadParams, match=r"message\.parts must have at most 1000 parts"):
        check_part_count([0] * (MAX_PARTS + 1))
