import copy
import json
import pickle
from collections.abc import Callable

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from llamon_agent.domain.caller import DEFAULT_PRINCIPAL, Caller, Private, thread_id


def test_the_default_principals_thread_is_the_context_itself() -> None:
    assert thread_id(DEFAULT_PRINCIPAL, "c1") == "c1"


def test_another_principals_thread_of_the_same_context_is_another() -> None:
    assert thread_id("alice", "c1") == "principal:5:alice:c1"


def test_a_context_that_looks_like_another_principals_thread_is_not_theirs() -> None:
    assert thread_id(DEFAULT_PRINCIPAL, thread_id("alice", "c1")) != thread_id("alice", "c1")


owners = st.one_of(st.just(DEFAULT_PRINCIPAL), st.text(":1a", min_size=1, max_size=5))
contexts = st.one_of(
    st.text(":1a", max_size=6), st.builds(lambda tail: f"principal:{tail}", st.text(":1a", max_size=6))
)


@given(owners, contexts, owners, contexts)
def test_two_pairs_never_share_a_thread(owner: str, context: str, other_owner: str, other: str) -> None:
    same = (owner, context) == (other_owner, other)
    assert (thread_id(owner, context) == thread_id(other_owner, other)) == same


def test_without_a_tenant_the_principal_is_the_owner() -> None:
    assert Caller(principal="alice").owner == Caller(principal="alice", tenant="").owner == "alice"


principals = st.one_of(st.text(":1at", min_size=1, max_size=5), st.just("tenant:1:a:b"), st.just("tenant:"))
tenants = st.one_of(st.none(), st.text(":1a", max_size=6))


@given(principals, tenants, principals, tenants)
def test_two_pairs_of_principal_and_tenant_are_never_one_owner(
    principal: str, tenant: str | None, other_principal: str, other: str | None
) -> None:
    same = (principal, tenant or "") == (other_principal, other or "")
    first, second = Caller(principal=principal, tenant=tenant), Caller(principal=other_principal, tenant=other)
    assert (first.owner == second.owner) == same


FULL = Caller(
    principal="ann",
    tenant="blue",
    scopes=("read",),
    claims=Private({"sub": "c4nary", "groups": ["c4nary"]}),
    headers=Private({"x-user-id": "c4nary"}),
)


def test_what_is_kept_of_a_caller_is_who_it_is_and_not_what_it_brought() -> None:
    kept = msgspec.json.encode(FULL.kept)
    assert msgspec.json.decode(kept) == {"principal": "ann", "tenant": "blue", "scopes": ["read"]}
    assert msgspec.json.decode(kept, type=Caller) == Caller(principal="ann", tenant="blue", scopes=("read",))
    assert FULL.kept.owner == FULL.owner


def test_a_caller_that_brought_nothing_is_kept_as_it_is() -> None:
    ann = Caller(principal="ann")
    assert ann.kept is ann


@pytest.mark.parametrize("encode", [msgspec.json.encode, msgspec.msgpack.encode, json.dumps, pickle.dumps])
@pytest.mark.parametrize("value", [FULL, FULL.claims, FULL.headers])
def test_what_a_caller_brought_cannot_be_encoded_by_oversight(
    encode: Callable[[object], object], value: object
) -> None:
    with pytest.raises(TypeError):
        encode(value)


def test_a_copy_of_what_a_caller_brought_is_itself() -> None:
    assert copy.deepcopy({"claims": FULL.claims})["claims"] is FULL.claims


def test_a_log_line_shows_no_value_that_a_caller_brought() -> None:
    assert "c4nary" not in repr(FULL)
    assert "x-user-id" in repr(FULL)


def test_claims_and_headers_are_read_as_mappings() -> None:
    assert FULL.headers["x-user-id"] == "c4nary"
    assert FULL.headers.get("x-other") is None
    assert dict(FULL.claims) == {"sub": "c4nary", "groups": ["c4nary"]}
    assert len(FULL.claims) == 2


def test_an_empty_tenant_is_none() -> None:
    assert FULL.of_tenant("").tenant is None
    assert FULL.of_tenant("red").tenant == "red"
