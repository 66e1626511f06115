import pytest
from hypothesis import given
from hypothesis import strategies as st

from llamon_agent.inbound.a2a.bindings.rest.paths import Place, place_of

TASKS = [
    ("message:send", {"POST": "SendMessage"}),
    ("message:stream", {"POST": "SendStreamingMessage"}),
    ("tasks", {"GET": "ListTasks"}),
    ("tasks/t1", {"GET": "GetTask"}),
    ("tasks/t1:cancel", {"POST": "CancelTask"}),
    ("tasks/t1:subscribe", {"POST": "SubscribeToTask", "GET": "SubscribeToTask"}),
    (
        "tasks/t1/pushNotificationConfigs",
        {"POST": "CreateTaskPushNotificationConfig", "GET": "ListTaskPushNotificationConfigs"},
    ),
    (
        "tasks/t1/pushNotificationConfigs/c1",
        {"GET": "GetTaskPushNotificationConfig", "DELETE": "DeleteTaskPushNotificationConfig"},
    ),
]


def at(path: str) -> Place | None:
    return place_of(path.split("/"))


@pytest.mark.parametrize(("path", "operations"), [*TASKS, ("extendedAgentCard", {"GET": "GetExtendedAgentCard"})])
def test_each_operation_of_1_0_has_its_path_with_and_without_a_tenant(path: str, operations: dict[str, str]) -> None:
    place, tenants = at(path), at(f"acme/{path}")
    assert place is not None
    assert tenants is not None
    assert (place.version, place.operations, place.tenant) == ("1.0", operations, None)
    assert (tenants.version, tenants.operations, tenants.tenant) == ("1.0", operations, "acme")
    assert (tenants.task_id, tenants.config_id) == (place.task_id, place.config_id)


@pytest.mark.parametrize(("path", "operations"), [*TASKS, ("card", {"GET": "GetExtendedAgentCard"})])
def test_each_operation_of_0_3_has_its_path_below_v1(path: str, operations: dict[str, str]) -> None:
    place = at(f"v1/{path}")
    assert place is not None
    assert (place.version, place.operations, place.tenant) == ("0.3", operations, None)


@pytest.mark.parametrize(
    ("path", "task_id", "config_id"),
    [
        ("tasks/t1", "t1", ""),
        ("tasks/t1:cancel", "t1", ""),
        ("tasks/t1/pushNotificationConfigs/c1", "t1", "c1"),
        ("tasks/a:b:c", "a:b:c", ""),
        ("tasks/a:b:subscribe", "a:b", ""),
        ("tasks/a:cancel:x", "a:cancel:x", ""),
        ("tasks/:cancel", ":cancel", ""),
        ("tasks/", "", ""),
        ("tasks/a:cancel/pushNotificationConfigs", "a:cancel", ""),
        ("tasks/message:send", "message:send", ""),
    ],
)
def test_ids_may_hold_colons_and_only_a_known_verb_at_the_end_is_one(path: str, task_id: str, config_id: str) -> None:
    for place in (at(path), at(f"v1/{path}"), at(f"acme/{path}")):
        assert place is not None
        assert (place.task_id, place.config_id) == (task_id, config_id)


@pytest.mark.parametrize(
    ("path", "version"),
    [
        ("message:send/", "1.0"),
        ("tasks/t1/x", "1.0"),
        ("tasks/t1/pushNotificationConfigs/c1/x", "1.0"),
        ("acme/tasks/t1/x", "1.0"),
        ("extendedAgentCard/x", "1.0"),
        ("v1", "0.3"),
        ("v1/extendedAgentCard", "0.3"),
        ("v1/acme/tasks", "0.3"),
        ("v1/message:end", "0.3"),
    ],
)
def test_a_path_that_looks_like_ours_and_is_none_has_no_operations(path: str, version: str) -> None:
    assert at(path) == Place(version=version)


@pytest.mark.parametrize("path", ["", "weather", "weather/", "card", "message:end", "acme/v1/tasks", "a/b/tasks"])
def test_what_does_not_look_like_ours_is_left_to_others(path: str) -> None:
    assert at(path) is None


def test_the_agents_own_path_is_not_ours() -> None:
    assert place_of([]) is None


def test_an_empty_tenant_is_none() -> None:
    place = at("/tasks")
    assert place is not None
    assert place.tenant is None


@given(st.lists(st.sampled_from(["v1", "tasks", "message:send", "x", "", "x:cancel", "card"]) | st.text(), max_size=6))
def test_any_segments_are_a_place_or_none(segments: list[str]) -> None:
    place = place_of(segments)
    assert place is None or place.version in ("1.0", "0.3")
