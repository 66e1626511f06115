import json
from typing import Any

import msgspec
import pytest

from llamon_agent.domain.errors import BadJson, BadParams
from llamon_agent.wire.proto_json import SEND_KEYS, UNDERSCORE, read_count, read_proto_params, required, respell
from llamon_agent.wire.v03_proto import schema as v03
from llamon_agent.wire.v10 import schema as v10


class Params(msgspec.Struct, rename="camel"):
    page_size: int = 0


_PARAMS = msgspec.json.Decoder(Params)


def test_names_are_respelled_except_inside_what_callers_fill_freely() -> None:
    params = {
        "page_size": 1,
        "metadata": {"a_b": 1},
        "parts": [{"data": {"c_d": 1}, "media_type": "x/y"}],
        "alreadyCamel": {"oauth2_url": "a_b"},
    }
    assert json.loads(respell(json.dumps(params).encode())) == {
        "pageSize": 1,
        "metadata": {"a_b": 1},
        "parts": [{"data": {"c_d": 1}, "mediaType": "x/y"}],
        "alreadyCamel": {"oauth2Url": "a_b"},
    }


def test_params_are_read_in_either_spelling() -> None:
    assert read_proto_params(_PARAMS, b'{"pageSize":3}', markers=UNDERSCORE).page_size == 3
    assert read_proto_params(_PARAMS, b'{"page_size":3}', markers=UNDERSCORE).page_size == 3


def test_only_the_markers_make_params_be_respelled() -> None:
    assert read_proto_params(_PARAMS, b'{"page_size":3}', markers=SEND_KEYS).page_size == 0


@pytest.mark.parametrize("params", [b'{"page_size":', b'{"page_size":' + b"[" * 100_000])
def test_broken_json_in_the_protos_names_is_bad_json(params: bytes) -> None:
    with pytest.raises(BadJson):
        read_proto_params(_PARAMS, params, markers=UNDERSCORE)


def test_a_bad_field_has_the_name_that_json_has_for_it() -> None:
    with pytest.raises(BadParams, match=r"^pageSize is not valid\.$"):
        read_proto_params(_PARAMS, b'{"page_size":"x"}', markers=UNDERSCORE)


@pytest.mark.parametrize(
    ("spelled", "meant"), [(None, None), (0, 0), (5, 5), ("5", 5), (5.0, 5), ("2147483647", 2**31 - 1)]
)
def test_a_count_goes_by_any_of_its_spellings(spelled: Any, meant: int | None) -> None:
    assert read_count(spelled, "n") == meant


@pytest.mark.parametrize("spelled", [-1, "-1", 5.5, "5.5", "", "five", "٥", 2**31, "9999999999", 1e300])
def test_what_is_no_count_is_refused_by_its_field(spelled: Any) -> None:
    with pytest.raises(BadParams) as caught:
        read_count(spelled, "n")
    assert (caught.value.public, caught.value.field) == ("n is not valid.", "n")


@pytest.mark.parametrize("spelled", [1, 4, "4"])
def test_a_count_has_bounds(spelled: Any) -> None:
    with pytest.raises(BadParams):
        read_count(spelled, "n", least=2, most=3)


def test_a_required_string_is_not_empty() -> None:
    assert required("x", "id") == "x"
    for absent in ("", None):
        with pytest.raises(BadParams) as caught:
            required(absent, "id")
        assert (caught.value.public, caught.value.field) == ("id is required.", "id")


@pytest.mark.parametrize(
    "schemas",
    [
        (v10.Message, v10.Part, v10.SendMessageConfiguration, v10.SendMessageRequest),
        (v03.Message, v03.Part, v03.FilePart, v03.SendMessageConfiguration, v03.SendMessageRequest),
    ],
)
def test_each_of_the_protos_names_in_a_send_is_a_marker(schemas: tuple[type[msgspec.Struct], ...]) -> None:
    names = {field.name for schema in schemas for field in msgspec.structs.fields(schema) if "_" in field.name}
    assert names
    assert {name for name in names if not any(key in name.encode() for key in SEND_KEYS)} == set()
