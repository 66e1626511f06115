"""What a server of 0.3 and 1.0 must translate between them: one row for each difference.

Each row makes something in one version and looks at it in both.
"""

import base64
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
import pytest
from a2a.compat.v0_3 import a2a_v0_3_pb2 as pb03
from tests.conformance.sites import JsonRpc, Rest, Site, message, state_of
from tests.conformance.test_old import OldHost, said
from tests.unit.inbound.a2a.push.receiver import receiving


class Both(msgspec.Struct, frozen=True):
    """One principal that speaks both versions."""

    at: Site
    token: str

    @property
    def new(self) -> JsonRpc:
        return JsonRpc(self.at, token=self.token)

    @property
    def rest(self) -> Rest:
        return Rest(self.at, token=self.token)

    @property
    def old(self) -> OldHost:
        return OldHost(self.at, self.token)

    async def old_get(self, task: Any, **more: object) -> Any:
        return await self.old.ask("tasks/get", {"id": task["id"], **more})

    async def old_rpc(self, name: str, request: Any, gives: Any) -> Any:
        """A call of 0.3's gRPC."""
        ask: Any = self.at.grpc.unary_unary(f"/a2a.v1.A2AService/{name}", response_deserializer=gives.FromString)
        return await ask(request.SerializeToString(), metadata=(("authorization", f"Bearer {self.token}"),))


async def names(both: Both) -> None:
    task = await both.new.begin("tck-complete-task")
    headers = both.old.headers
    assert (await both.old_get(task))["id"] == task["id"]
    assert (await both.at.http.get(f"/a2a/v1/tasks/{task['id']}", headers=headers)).json()["id"] == task["id"]
    assert (await both.rest.value("GetTask", id=task["id"]))["id"] == task["id"]
    got = await both.old_rpc("GetTask", pb03.GetTaskRequest(name=f"tasks/{task['id']}"), pb03.Task)
    assert got.id == task["id"]


async def enums(both: Both) -> None:
    task = await both.new.value("CancelTask", id=(await both.new.begin("tck-input-required"))["id"])
    old = await both.old_get(task)
    proto = await both.old_rpc("GetTask", pb03.GetTaskRequest(name=f"tasks/{task['id']}"), pb03.Task)
    assert (task["status"]["state"], old["status"]["state"]) == ("TASK_STATE_CANCELED", "canceled")
    assert proto.status.state == pb03.TASK_STATE_CANCELLED
    assert (task["history"][0]["role"], old["history"][0]["role"]) == ("ROLE_USER", "user")


async def parts(both: Both) -> None:
    raw = base64.b64encode(bytes(range(256))).decode()
    told = [{"text": "t"}, {"raw": raw, "filename": "f", "mediaType": "a/b"}, {"data": [1, None]}]
    task = await both.new.begin("tck-complete-task", parts=told)
    text, file, data = (await both.old_get(task))["history"][0]["parts"]
    assert text == {"kind": "text", "text": "t"}
    assert file == {"kind": "file", "file": {"bytes": raw, "name": "f", "mimeType": "a/b"}}
    assert data == {"kind": "data", "data": {"value": [1, None]}, "metadata": {"data_part_compat": True}}
    back = await both.old.ask("message/send", said("tck-complete-task", parts=[text, file, data]))
    assert (await both.new.value("GetTask", id=back["id"]))["history"][0]["parts"] == told


async def kinds(both: Both) -> None:
    bare = {"messageId": "tck-complete-task", "role": "user", "parts": [{"text": "no kind at all"}]}
    task = await both.old.ask("message/send", {"message": bare})
    assert (task["kind"], task["history"][0]["kind"], task["history"][0]["parts"][0]["kind"]) == (
        "task",
        "message",
        "text",
    )
    assert "kind" not in await both.new.value("GetTask", id=task["id"])


async def stream_events(both: Both) -> None:
    new = await both.new.events("SendStreamingMessage", **message("tck-input-required"))
    old = await both.old.events("message/stream", said("tck-input-required"))
    assert [list(event) for event in new][-1] == ["statusUpdate"]
    assert "final" not in new[-1]["statusUpdate"]
    assert (old[-1]["kind"], old[-1]["final"], old[-1]["status"]["state"]) == ("status-update", True, "input-required")


async def result_of_a_send(both: Both) -> None:
    assert list(await both.new.value("SendMessage", **message("tck-complete-task"))) == ["task"]
    assert (await both.old.ask("message/send", said("tck-complete-task")))["kind"] == "task"


async def waiting(both: Both) -> None:
    for configuration in ({}, {"blocking": True}):
        task = await both.old.ask("message/send", {**said("tck-complete-task"), "configuration": configuration})
        assert task["status"]["state"] == "completed"
    at_once = await both.old.ask("message/send", {**said("llamon-hold"), "configuration": {"blocking": False}})
    assert at_once["status"]["state"] in ("submitted", "working")
    await both.old.ask("tasks/cancel", {"id": at_once["id"]})


async def webhook_shapes(both: Both) -> None:
    task = await both.new.begin("tck-input-required")
    url, schemes = "http://127.0.0.1:9/hook", {"schemes": ["Bearer", "Basic"], "credentials": "c"}
    config = {"id": "w1", "url": url, "authentication": schemes}
    set_params = {"taskId": task["id"], "pushNotificationConfig": config}
    await both.old.ask("tasks/pushNotificationConfig/set", set_params)
    new = await both.new.value("GetTaskPushNotificationConfig", taskId=task["id"], id="w1")
    assert (new["url"], new["authentication"]) == (url, {"scheme": "Bearer", "credentials": "c"})
    assert (await both.new.value("ListTaskPushNotificationConfigs", taskId=task["id"]))["configs"] == [new]
    assert isinstance(await both.old.ask("tasks/pushNotificationConfig/list", {"id": task["id"]}), list)
    assert await both.new.value("DeleteTaskPushNotificationConfig", taskId=task["id"], id="w1") == {}
    gone = {"id": task["id"], "pushNotificationConfigId": "w1"}
    assert await both.old.ask("tasks/pushNotificationConfig/delete", gone) is None


async def cards(both: Both) -> None:
    get = both.at.http.get
    new = (await get("/.well-known/agent-card.json", headers={"A2A-Version": "1.0"})).json()
    old = (await get("/.well-known/agent.json")).json()
    assert old["securitySchemes"]["bearer"]["type"] == "http"
    assert "httpAuthSecurityScheme" in new["securitySchemes"]["bearer"]
    assert (old["security"], new["securityRequirements"]) == ([{"bearer": []}], [{"schemes": {"bearer": {}}}])
    assert old["supportsAuthenticatedExtendedCard"] is new["capabilities"]["extendedAgentCard"] is False


async def errors(both: Both) -> None:
    assert isinstance((await both.new.call("GetTask", id="unknown")).body["error"]["data"], list)
    assert "data" not in (await both.old.ask("tasks/get", {"id": "unknown"}))["error"]
    task = await both.old.ask("message/send", said("tck-complete-task"))
    assert await both.old.code_of("message/send", said("m", taskId=task["id"])) == -32004


async def history_length_0(both: Both) -> None:
    task = await both.new.begin("tck-complete-task")
    assert "history" not in await both.new.value("GetTask", id=task["id"], historyLength=0)
    request = pb03.GetTaskRequest(name=f"tasks/{task['id']}", history_length=0)
    assert len((await both.old_rpc("GetTask", request, pb03.Task)).history) == 1


async def following_what_has_ended(both: Both) -> None:
    task = await both.new.begin("tck-complete-task")
    assert [event["kind"] for event in await both.old.events("tasks/resubscribe", {"id": task["id"]})] == ["task"]
    assert await both.new.refused("SubscribeToTask", id=task["id"]) == "UNSUPPORTED_OPERATION"


async def canceling_twice(both: Both) -> None:
    task = await both.new.begin("tck-input-required")
    for _ in range(2):
        assert state_of(await both.new.value("CancelTask", id=task["id"])) == "CANCELED"
    assert await both.old.code_of("tasks/cancel", {"id": task["id"]}) == -32002


async def webhook_bodies(both: Both) -> None:
    async with receiving() as old, receiving() as new:
        task = await both.new.begin("tck-input-required")
        set_params = {"taskId": task["id"], "pushNotificationConfig": {"id": "old", "url": old.url}}
        await both.old.ask("tasks/pushNotificationConfig/set", set_params)
        await both.new.value("CreateTaskPushNotificationConfig", taskId=task["id"], id="new", url=new.url)
        await both.new.value("CancelTask", id=task["id"])
        told = await old.until(lambda hooks: bool(hooks) and hooks[-1].json["status"]["state"] == "canceled")
        assert told[-1].json["kind"] == "task"
        hooks = await new.until(lambda hooks: bool(hooks) and "statusUpdate" in hooks[-1].json)
        assert state_of(hooks[-1].json["statusUpdate"]) == "CANCELED"


async def extension_headers(both: Both) -> None:
    uri = next(
        extension["uri"]
        for extension in (await both.at.http.get("/.well-known/agent.json")).json()["capabilities"]["extensions"]
    )
    for header in ("A2A-Extensions", "X-A2A-Extensions"):
        answer = await JsonRpc(both.at, token=both.token, headers={header: uri}).call("ListTasks")
        assert answer.headers[header] == uri


async def timestamps(both: Both) -> None:
    task = await both.new.begin("tck-complete-task")
    for told in (task, await both.old_get(task)):
        assert told["status"]["timestamp"].endswith("Z")


async def both_jsons_of_old_rest(both: Both) -> None:
    of_the_schema = said("tck-complete-task")
    parts = [{"text": "x"}]
    of_the_proto = {"message": {"messageId": "tck-complete-task", "role": "ROLE_USER", "content": parts}}
    sent = [
        (await both.at.http.post("/a2a/v1/message:send", json=body, headers=both.old.headers)).json()
        for body in (of_the_schema, of_the_proto)
    ]
    assert sent[0]["status"]["state"] == "completed"
    assert sent[1]["task"]["status"]["state"] == "TASK_STATE_COMPLETED"


async def lists(both: Both) -> None:
    task = await both.new.begin("tck-complete-task")
    listed = (await both.at.http.get("/a2a/v1/tasks", headers=both.old.headers)).json()
    assert [each["id"] for each in listed] == [task["id"]]
    assert await both.old.code_of("tasks/list", {}) == -32601


CHECKLIST: list[Callable[[Both], Awaitable[None]]] = [
    names,
    enums,
    parts,
    kinds,
    stream_events,
    result_of_a_send,
    waiting,
    webhook_shapes,
    cards,
    errors,
    history_length_0,
    following_what_has_ended,
    canceling_twice,
    webhook_bodies,
    extension_headers,
    timestamps,
    both_jsons_of_old_rest,
    lists,
]


@pytest.mark.requirement("1.0/5.3-names")
@pytest.mark.parametrize("row", CHECKLIST, ids=lambda row: row.__name__)
async def test_both_versions_say_the_same_each_in_its_words(
    at: Site, token: str, row: Callable[[Both], Awaitable[None]]
) -> None:
    await row(Both(at, token))
