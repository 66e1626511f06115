import asyncio
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.strategies import ids, json_values, params
from tests.unit.inbound.a2a.edges import edge
from tests.unit.inbound.a2a.exchange import exchange

from llamon_agent.domain.errors import BadRequest, CallerError
from llamon_agent.domain.events import Complete, Delta
from llamon_agent.inbound.a2a.bindings.asgi import Admission, Auth
from llamon_agent.inbound.a2a.bindings.jsonrpc.binding import RpcApp
from llamon_agent.inbound.a2a.bindings.jsonrpc.envelope import read_call, read_id
from llamon_agent.inbound.a2a.dialects import DIALECTS
from llamon_agent.testing.scripted import Step

requests = st.fixed_dictionaries(
    {"jsonrpc": st.sampled_from(["2.0", "2.0", "2.0", "1.0", 2])},
    optional={
        "id": st.none() | st.integers() | st.text(max_size=5) | json_values,
        "method": st.sampled_from([method for dialect in DIALECTS for method in dialect.methods]) | ids,
        "params": params | json_values,
    },
)
ANSWER: list[Step] = [Delta(text="x"), Complete()]

bodies = st.binary(max_size=60) | requests.map(lambda request: json.dumps(request).encode())


@given(bodies)
def test_any_bytes_are_a_call_or_a_caller_error(body: bytes) -> None:
    try:
        call = read_call(body)
    except CallerError:
        json.loads(read_id(body))
    else:
        assert json.loads(call.id) == json.loads(body).get("id")


@settings(deadline=None, max_examples=60)
@given(st.lists(bodies, min_size=1, max_size=4))
def test_any_bodies_posted_are_answered_and_never_with_a_5xx(posted: list[bytes]) -> None:
    async def post() -> None:
        async with edge(*[ANSWER for _ in posted], wait_s=0.5) as it:
            app = RpcApp(it.endpoint, Admission(auth=Auth({})))
            for body in posted:
                done = await exchange(app, body)
                assert done.status in (200, 204)
                if done.headers.get(b"content-type") == b"application/json":
                    response = json.loads(done.body)
                    assert response["jsonrpc"] == "2.0"
                    assert response.get("error", {}).get("code") != -32603, response

    asyncio.run(post())


escapes = st.sampled_from(["", "a", "\\u0061", "\\u0022", '\\"', "\\\\", "\\\\u0022", "\\/", "/", "한", "\\ud55c", ":"])
strings = st.lists(escapes, max_size=3).map(lambda pieces: '"' + "".join(pieces) + '"')
texts = st.recursive(
    strings | st.sampled_from(["1", "1.50", "true", "null", " [ ] ", "{ }"]),
    lambda inner: (
        st.lists(inner, max_size=3).map(lambda items: "[" + ", ".join(items) + "]")
        | st.lists(st.tuples(strings, inner), max_size=3).map(
            lambda pairs: "{" + ",".join(f"{key} : {value}" for key, value in pairs) + "}"
        )
    ),
    max_leaves=8,
)


def has_duplicates(text: str) -> bool:
    """By a parser that sees every key: slow, and right."""
    found = False

    def look(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        nonlocal found
        found = found or len(dict(pairs)) != len(pairs)
        return dict(pairs)

    json.loads(text, object_pairs_hook=look)
    return found


@given(texts)
def test_duplicate_keys_are_found_however_they_are_spelled(text: str) -> None:
    body = f'{{"jsonrpc":"2.0","id":1,"method":"m","params":{text}}}'.encode()
    if has_duplicates(text):
        with pytest.raises(BadRequest):
            read_call(body)
    else:
        assert json.loads(read_call(body).params) == json.loads(text)
