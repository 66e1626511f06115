import json

import pytest

from llamon_agent.domain.errors import BadJson, BadRequest, CallerError
from llamon_agent.domain.plain import MAX_DEPTH
from llamon_agent.inbound.a2a.bindings.jsonrpc.envelope import (
    MAX_ID_BYTES,
    Call,
    read_call,
    read_id,
    result_around,
    write_error,
    write_result,
)
from llamon_agent.wire.json_body import MAX_VALUES


def body(members: str = "") -> bytes:
    return ('{"jsonrpc":"2.0","method":"message/send"' + members + "}").encode()


def test_a_request_is_read_with_its_params_unopened() -> None:
    assert read_call(body(',"id":1,"params": {"a": [1, 2]}')) == Call(b"1", "message/send", b'{"a": [1, 2]}', False)


@pytest.mark.parametrize(
    "call_id",
    ["1", "0", "-7", "1.50", "1e3", "9007199254740993", "9" * 1000, '"abc"', '""', '"\\u00e9\\n"', '"é"', "null"],
)
def test_an_id_is_kept_byte_for_byte(call_id: str) -> None:
    assert read_call(body(f',"id": {call_id} ')).id == call_id.encode()


def test_null_id_is_not_an_absent_id() -> None:
    assert not read_call(body(',"id":null')).is_notification
    assert read_call(body()).is_notification


def test_a_notifications_fault_is_answered_with_a_null_id() -> None:
    assert read_call(body()).id == b"null"


@pytest.mark.parametrize("params", ["[1]", '"x"', "null", "{}"])
def test_params_of_any_type_are_left_to_the_dialect(params: str) -> None:
    assert read_call(body(f',"params":{params}')).params == params.encode()


def test_absent_params_are_empty() -> None:
    assert read_call(body()).params == b""


@pytest.mark.parametrize(
    "text",
    [
        '{"method":"m","id":1}',
        '{"jsonrpc":"1.0","method":"m","id":1}',
        '{"jsonrpc":2.0,"method":"m","id":1}',
        '{"jsonrpc":"2.0","id":1}',
        '{"jsonrpc":"2.0","method":7,"id":1}',
        '{"jsonrpc":"2.0","method":null,"id":1}',
        '{"jsonrpc":"2.0","method":"m","id":true}',
        '{"jsonrpc":"2.0","method":"m","id":[1]}',
        '{"jsonrpc":"2.0","method":"m","id":{}}',
        f'{{"jsonrpc":"2.0","method":"m","id":"{"x" * MAX_ID_BYTES}"}}',
        "1",
        '"x"',
        "null",
        "{}",
    ],
)
def test_json_that_is_no_request_is_a_bad_request(text: str) -> None:
    with pytest.raises(BadRequest):
        read_call(text.encode())


@pytest.mark.parametrize(
    "text", ["[]", "[1]", '[{"jsonrpc":"2.0","method":"m","id":1},{"jsonrpc":"2.0","method":"m"}]']
)
def test_a_batch_gets_one_error_that_says_so(text: str) -> None:
    with pytest.raises(BadRequest) as caught:
        read_call(text.encode())
    assert "Batches are not supported" in caught.value.public


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b" ",
        b"{",
        b"\xef\xbb\xbf" + body(),
        body() + b"x",
        body() + body(),
        body(',"params":{"a":"\x01"}'),
        body(',"params":{"a":NaN}'),
        body(',"params":{"a":Infinity}'),
        body(',"params":{"a":-Infinity}'),
        body(',"params":{"a":1e999}'),
        body(',"params":{"a":[{"b":"\\ud800"}]}'),
        body(',"params":{"\\udc00":1}'),
        body(',"id":"\\ud800"'),
        body(',"params":{"a":"?"}').replace(b"?", b"\xff"),
        body(',"params":{"a":"?"}').replace(b"?", b"\xed\xa0\x80"),
        body(',"params":{"?":1}').replace(b"?", b"\xc3"),
        body(',"id":' + "9" * 5000),
        body().decode().encode("utf-16"),
        b"[" * 50_000,
        body(',"params":' + "[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1)),
        body(',"params":' + '{"a":' * (MAX_DEPTH + 1) + "1" + "}" * (MAX_DEPTH + 1)),
    ],
)
def test_what_parsers_disagree_on_is_bad_json(raw: bytes) -> None:
    with pytest.raises(BadJson):
        read_call(raw)


def test_nesting_is_counted_in_depth_and_not_in_brackets() -> None:
    for params in ("[" * (MAX_DEPTH - 1) + "]" * (MAX_DEPTH - 1), "[" + ",".join(["[{}]"] * 500) + "]"):
        assert read_call(body(f',"params":{params}')).params == params.encode()


@pytest.mark.parametrize("values", ["{}", "1", '"a"', '"\\\\"', '"\\""', "[[]]"])
def test_a_body_of_too_many_values_is_refused_before_it_is_parsed(values: str) -> None:
    with pytest.raises(BadRequest) as caught:
        read_call(body(',"params":[' + ",".join([values] * (MAX_VALUES + 1)) + ", and no end"))
    assert "values" in caught.value.public


@pytest.mark.parametrize("text", [",", "[1],{", '\\",', '\\\\\\",', "\\u0022,"])
def test_what_looks_like_values_in_a_text_is_text(text: str) -> None:
    assert read_call(body(f',"params":["{text * (MAX_VALUES + 1)}","a"]')).method == "message/send"


@pytest.mark.parametrize(
    "members",
    [
        ',"method":"tasks/cancel"',
        ',"id":1,"id":1',
        ',"params":{"message":{"parts":[{"text":"a","text":"b"}]}}',
        ',"params":[[{"a":1,"\\u0061":2}]]',
        ',"params":{"a\\"":"\\u0022","a\\u0022":1}',
        ',"params":{"":0,"":0}',
        ',"params":{"\\\\u0022":{},"\\\\u0022":{}}',
    ],
)
def test_a_duplicate_key_at_any_depth_is_a_bad_request(members: str) -> None:
    with pytest.raises(BadRequest) as caught:
        read_call(body(members))
    assert "same key twice" in caught.value.public


@pytest.mark.parametrize(
    "value",
    [
        '"\\u0022"',
        '"\\\\u0022"',
        '"\\\\"',
        '"\\"quoted\\" \\/ \\b"',
        '"안녕 \\uc548"',
        '{"a":{"a":{"a":"a"}}}',
        '[{"a":1},{"a":1}]',
        '{"A":1,"a":2}',
        "1.0e5",
        "123456789012345678901234567890",
    ],
)
def test_keys_that_only_look_alike_are_no_duplicates(value: str) -> None:
    assert read_call(body(f',"params":{value}')).params == value.encode()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"id":7}', b"7"),
        ('{"jsonrpc":"1.0","method":"m","id":"a"}', b'"a"'),
        ('{"jsonrpc":"2.0","id":null}', b"null"),
        ('{"id":true}', b"null"),
        ('{"id":1,"id":2}', b"null"),
        ('{"jsonrpc":"2.0"}', b"null"),
        ("[]", b"null"),
        ('{"id":7', b"null"),
        ('"\\ud800"', b"null"),
    ],
)
def test_a_bad_request_is_answered_with_the_id_it_has(text: str, expected: bytes) -> None:
    assert read_id(text.encode()) == expected


def test_every_refusal_is_a_caller_error_with_a_text_of_ours() -> None:
    with pytest.raises(CallerError) as caught:
        read_call(b'{"secret":')
    assert caught.value.public == BadJson.public


def test_a_result_is_a_response_with_the_same_id() -> None:
    response = json.loads(write_result(b"1.50", b'{"kind":"task"}'))
    assert response == {"jsonrpc": "2.0", "id": 1.5, "result": {"kind": "task"}}


def test_a_stream_joins_its_events_with_what_stands_around_a_result() -> None:
    head, tail = result_around(b'"a"')
    assert head + b"{}" + tail == write_result(b'"a"', b"{}")


def test_an_error_has_data_only_where_there_is_some() -> None:
    assert json.loads(write_error(b"null", -32600, 'a "text"')) == {
        "jsonrpc": "2.0",
        "id": None,
        "error": {"code": -32600, "message": 'a "text"'},
    }
    assert json.loads(write_error(b"1", -32001, "x", b"[1]"))["error"]["data"] == [1]
