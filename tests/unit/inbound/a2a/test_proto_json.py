import json
from typing import Any

import msgspec
import pytest

from llamon_agent.domain.errors import BadJson, BadParams
from llamon_agent.inbound.a2a.proto_json import read_count, read_proto_params, required, respell


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
    assert read_proto_params(_PARAMS, b'{"pageSize":3}', tell=b"_").page_size == 3
    assert read_proto_params(_PARAMS, b'{"page_size":3}', tell=b"_").page_size == 3


def test_only_what_tells_makes_params_be_respelled() -> None:
    assert read_proto_params(_PARAMS, b'{"page_size":3}', tell=b'"message_id"').page_size == 0


@pytest.mark.parametrize("params", [b'{"page_size":', b'{"page_size":' + b"[" * 100_000])
def test_broken_json_in_the_protos_names_is_bad_json(params: bytes) -> None:
    with pytest.raises(BadJson):
        read_proto_params(_PARAMS, params, tell=b"_")


def test_a_bad_field_is_told_in_the_name_that_json_has_for_it() -> None:
    with pytest.raises(BadParams, match=r"^pageSize is not valid\.$"):
        read_proto_params(_PARAMS, b'{"page_size":"x"}', tell=b"_")


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
