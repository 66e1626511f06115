"""What A2A 0.3 demands, over JSON-RPC and HTTP+JSON; gRPC's own tests are those of its binding."""

from collections.abc import Mapping
from typing import Any

import httpx2
import pytest
from tests.conformance.sites import Site, site
from tests.unit.inbound.a2a.push.receiver import receiving

from llamon_agent.wire.sse import Reader

UNKNOWN = "unknown"


class OldHost:
    """A host that speaks 0.3 over JSON-RPC, without a version header."""

    def __init__(self, at: Site, token: str | None = None) -> None:
        self._http = at.http
        self.headers = {"Authorization": f"Bearer {token}"} if token else {}

    async def post(self, method: str, params: object) -> httpx2.Response:
        body = {"jsonrpc": "2.0", "id": "call-1", "method": method, "params": params}
        return await self._http.post("/a2a", json=body, headers=self.headers)

    async def ask(self, method: str, params: object) -> Any:
        """The response, which may be a stream's only event; its result where it has one."""
        answer = await self.post(method, params)
        is_stream = answer.headers["content-type"].startswith("text/event-stream")
        response = _json(Reader().feed(answer.content)[0].data) if is_stream else answer.json()
        return response.get("result", response)

    async def code_of(self, method: str, params: object) -> int:
        """The code of the error that a call gets."""
        code: int = (await self.ask(method, params))["error"]["code"]
        return code

    async def events(self, method: str, params: object) -> list[Any]:
        """A stream to its end."""
        response = await self.post(method, params)
        assert response.headers["content-type"].startswith("text/event-stream"), response.text
        return [_json(event.data)["result"] for event in Reader().feed(response.content)]


def _json(data: bytes) -> Any:
    return httpx2.Response(200, content=data).json()


def said(scenario: str, **more: object) -> dict[str, Any]:
    """Params of message/send."""
    parts = [{"kind": "text", "text": "hi"}]
    return {"message": {"kind": "message", "messageId": scenario, "role": "user", "parts": parts, **more}}


@pytest.fixture
def old(at: Site, token: str) -> OldHost:
    return OldHost(at, token)


@pytest.mark.requirement("0.3/3.2.1-content-type")
@pytest.mark.requirement("0.3/6.11-envelope")
@pytest.mark.requirement("0.3/7.1-send")
async def test_a_send_gives_a_bare_task_or_message(old: OldHost) -> None:
    response = await old.post("message/send", said("tck-complete-task"))
    body = response.json()
    assert response.headers["content-type"] == "application/json"
    assert (body["jsonrpc"], body["id"], body["result"]["kind"]) == ("2.0", "call-1", "task")
    direct = await old.ask("message/send", said("tck-message-response"))
    assert (direct["kind"], direct["role"], direct["parts"][0]["kind"]) == ("message", "agent", "text")


@pytest.mark.requirement("0.3/7.2-final")
@pytest.mark.parametrize("scenario", ["tck-complete-task", "tck-input-required", "llamon-fail", "tck-reject-task"])
async def test_a_stream_has_one_final_event_its_last(old: OldHost, scenario: str) -> None:
    events = await old.events("message/stream", said(scenario))
    assert events[0]["kind"] == "task"
    assert {event["kind"] for event in events[1:]} <= {"status-update", "artifact-update"}
    assert [event.get("final") for event in events if event.get("final")] == [True]
    assert events[-1]["final"] is True


@pytest.mark.requirement("0.3/3.5-names")
@pytest.mark.requirement("0.3/7.3-get")
@pytest.mark.requirement("0.3/7.4-cancel")
@pytest.mark.requirement("0.3/8-error-codes")
async def test_a_task_is_read_and_canceled_once(old: OldHost) -> None:
    task = await old.ask("message/send", said("tck-input-required"))
    assert await old.ask("tasks/get", {"id": task["id"]}) == task
    assert (await old.ask("tasks/cancel", {"id": task["id"]}))["status"]["state"] == "canceled"
    assert await old.code_of("tasks/cancel", {"id": task["id"]}) == -32002
    for method in ("tasks/get", "tasks/cancel", "tasks/resubscribe"):
        assert await old.code_of(method, {"id": UNKNOWN}) == -32001


@pytest.mark.requirement("0.3/7.9-resubscribe")
async def test_a_task_that_has_ended_is_followed_to_its_end(old: OldHost) -> None:
    task = await old.ask("message/send", said("tck-complete-task"))
    assert await old.events("tasks/resubscribe", {"id": task["id"]}) == [task]


@pytest.mark.requirement("0.3/7.5-push")
async def test_webhooks_are_kept_in_the_nested_shape_and_get_bare_tasks(old: OldHost) -> None:
    async with receiving() as receiver:
        task = await old.ask("message/send", said("tck-input-required"))
        params = {"taskId": task["id"], "pushNotificationConfig": {"url": receiver.url, "token": "t-1"}}
        kept = await old.ask("tasks/pushNotificationConfig/set", params)
        assert kept["pushNotificationConfig"]["url"] == receiver.url
        assert await old.ask("tasks/pushNotificationConfig/get", {"id": task["id"]}) == kept
        assert await old.ask("tasks/pushNotificationConfig/list", {"id": task["id"]}) == [kept]
        await old.ask("message/send", said("tck-complete-task", taskId=task["id"]))
        hooks = await receiver.until(lambda hooks: hooks[-1].json["status"]["state"] == "completed" if hooks else False)
        assert {hook.json["kind"] for hook in hooks} == {"task"}
        assert {hook.headers["x-a2a-notification-token"] for hook in hooks} == {"t-1"}
        gone = {"id": task["id"], "pushNotificationConfigId": kept["pushNotificationConfig"]["id"]}
        assert await old.ask("tasks/pushNotificationConfig/delete", gone) is None
        assert await old.ask("tasks/pushNotificationConfig/list", {"id": task["id"]}) == []


@pytest.mark.requirement("0.3/7.10-extended-card")
async def test_without_an_extended_card_asking_for_it_is_an_error(old: OldHost) -> None:
    assert await old.code_of("agent/getAuthenticatedExtendedCard", {}) == -32007


@pytest.mark.requirement("0.3/8-error-codes")
async def test_codes_that_0_3_does_not_know_never_reach_it() -> None:
    required = [{"uri": "https://example.com/extensions/careful/v1", "required": True}]
    async with site(extensions=required) as at:
        assert await OldHost(at).code_of("message/send", said("tck-complete-task")) == -32600


_REST: Mapping[str, tuple[str, str]] = {
    "get": ("GET", "/v1/tasks/{id}"),
    "cancel": ("POST", "/v1/tasks/{id}:cancel"),
    "subscribe": ("POST", "/v1/tasks/{id}:subscribe"),
    "push": ("GET", "/v1/tasks/{id}/pushNotificationConfigs"),
}


@pytest.mark.requirement("0.3/3.2.3-rest")
@pytest.mark.requirement("0.3/3.4-equivalent")
async def test_http_json_gives_what_json_rpc_gives(at: Site, old: OldHost) -> None:
    task = await old.ask("message/send", said("tck-input-required"))

    async def rest(name: str, task_id: str) -> httpx2.Response:
        method, path = _REST[name]
        return await at.http.request(method, "/a2a" + path.format(id=task_id), headers=old.headers)

    assert (await rest("get", task["id"])).json()["id"] == task["id"]
    assert (await rest("push", task["id"])).status_code == 200
    for name in ("get", "cancel", "subscribe"):
        unknown = await rest(name, UNKNOWN)
        assert (unknown.status_code, unknown.json()["code"]) == (404, -32001)
    assert (await rest("cancel", task["id"])).status_code == 200
    again = await rest("cancel", task["id"])
    assert again.json()["code"] == await old.code_of("tasks/cancel", {"id": task["id"]})
