"""Which headers of a run's caller go on."""

from typing import Any

import pytest
from langchain_core.runnables import RunnableConfig

from llamon_agent.client.langgraph.forwarded_headers import ForwardedHeaders
from llamon_agent.domain.caller import Private
from llamon_agent.domain.errors import ConfigError


def forwarded(names: tuple[str, ...], configurable: dict[str, Any]) -> dict[str, str]:
    return dict(ForwardedHeaders(names, has_token=False).of_run({"configurable": configurable}))


def of_host(**headers: str) -> dict[str, Any]:
    """What an edge puts into a run."""
    return {"a2a": Private[Any]({"headers": Private(headers)})}


def test_only_chosen_headers_go_on_whatever_the_case_of_their_names() -> None:
    sent = of_host(traceparent="t", **{"x-user-id": "u", "X-Odd": "o"})
    assert forwarded(("TraceParent", "x-odd", "x-not-sent"), sent) == {"traceparent": "t", "x-odd": "o"}
    assert forwarded((), sent) == {}


def test_headers_that_langgraphs_own_server_chose_go_on_too() -> None:
    assert forwarded(("X-User-Id",), {"x-user-id": "u", "thread_id": "t"}) == {"x-user-id": "u"}


@pytest.mark.parametrize("host", [Private({"headers": Private({})}), Private({}), {"headers": None}, None, "text"])
def test_under_an_edge_only_its_headers_count(host: object) -> None:
    assert forwarded(("x-user-id",), {"x-user-id": "of the configuration", "a2a": host}) == {}


@pytest.mark.parametrize("config", [{}, {"configurable": {}}, {"configurable": {"x-user-id": 3}}])
def test_nothing_goes_on_where_nothing_is(config: RunnableConfig) -> None:
    assert dict(ForwardedHeaders(("x-user-id",), has_token=True).of_run(config)) == {}


@pytest.mark.parametrize("names", ["x-user-id", ("x user",), ("Content-Type",), (3,), ("x-ok", "authorization")])
def test_a_list_that_cannot_be_is_a_mistake_of_configuration(names: Any) -> None:
    with pytest.raises(ConfigError, match="forward_headers"):
        ForwardedHeaders(names, has_token=True)


def test_authorization_can_be_chosen_where_there_is_no_token() -> None:
    assert forwarded(("Authorization",), of_host(authorization="Bearer x")) == {"authorization": "Bearer x"}


def test_what_goes_on_shows_no_value() -> None:
    chosen = ForwardedHeaders(("x-a",), has_token=False).of_run({"configurable": of_host(**{"x-a": "canary"})})
    assert "canary" not in repr(chosen)
