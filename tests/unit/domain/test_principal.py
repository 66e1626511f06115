from hypothesis import given
from hypothesis import strategies as st

from llamon_agent.domain.principal import DEFAULT_PRINCIPAL, Principal, owner_of, thread_id


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
    assert owner_of(Principal("alice"), None) == owner_of(Principal("alice"), "") == "alice"


principals = st.one_of(st.text(":1at", min_size=1, max_size=5), st.just("tenant:1:a:b"), st.just("tenant:"))
tenants = st.one_of(st.none(), st.text(":1a", max_size=6))


@given(principals, tenants, principals, tenants)
def test_two_pairs_of_principal_and_tenant_are_never_one_owner(
    principal: str, tenant: str | None, other_principal: str, other: str | None
) -> None:
    same = (principal, tenant or "") == (other_principal, other or "")
    assert (owner_of(Principal(principal), tenant) == owner_of(Principal(other_principal), other)) == same
