"""The JSON of 1.0: how the programs of 1.x SDKs are told what to send, and what they say."""

import base64
from typing import Any

from tests.e2e.clients.shapes import (
    Artifact,
    ArtifactEvent,
    Event,
    Hook,
    Json,
    Message,
    Part,
    Sending,
    StatusEvent,
    Task,
)

_VALUE_KEYS = {"text": "text", "bytes": "raw", "url": "url", "data": "data"}


class Wire10:
    def send(self, sending: Sending) -> Json:
        message = {
            "messageId": sending.message_id,
            "role": "ROLE_USER",
            "contextId": sending.context,
            "taskId": sending.task,
            "parts": [_part_out(part) for part in sending.parts],
            "metadata": sending.metadata,
        }
        call = {"message": _given(message), "metadata": sending.call_metadata}
        configuration = {"taskPushNotificationConfig": self.hook(sending.hook)} if sending.hook else {}
        return _given(call) | {"configuration": configuration | {"returnImmediately": not sending.waits}}

    def hook(self, hook: Hook) -> Json:
        return _given({"id": hook.id, "taskId": hook.task, "url": hook.url, "token": hook.token})

    def hook_named(self, task: str, hook_id: str) -> Json:
        return {"taskId": task, "id": hook_id}

    def hooks_of(self, task: str) -> Json:
        return {"taskId": task}

    def turn(self, role: str, text: str, message_id: str) -> Json:
        return {"messageId": message_id, "role": f"ROLE_{role.upper()}", "parts": [{"text": text}]}

    def event_in(self, said: Json) -> Event:
        match said:
            case {"task": task}:
                return self.task_in(task)
            case {"message": message}:
                return _message_in(message)
            case {"statusUpdate": {"taskId": task, "status": status}}:
                return StatusEvent(task=task, state=_state(status), said=_said(status), final=None)
            case {"artifactUpdate": {"taskId": task, "artifact": artifact}}:
                return ArtifactEvent(
                    task=task,
                    artifact=_artifact_in(artifact),
                    append=said["artifactUpdate"].get("append", False),
                    last=said["artifactUpdate"].get("lastChunk", False),
                )
        raise AssertionError(f"not an event: {said}")

    def task_in(self, said: Json) -> Task:
        return Task(
            id=said["id"],
            context=said["contextId"],
            state=_state(said["status"]),
            said=_said(said["status"]),
            artifacts=tuple(map(_artifact_in, said.get("artifacts", ()))),
            history=tuple(map(_message_in, said.get("history", ()))),
            metadata=said.get("metadata") or {},
        )

    def hook_in(self, said: Json) -> Hook:
        return Hook(id=said.get("id", ""), task=said.get("taskId", ""), url=said["url"], token=said.get("token", ""))


def _given(fields: Json) -> Json:
    """The fields that say something; SDKs differ in what null and the empty string are to them."""
    return {name: value for name, value in fields.items() if value not in (None, "")}


def _part_out(part: Part) -> Json:
    value = base64.b64encode(part.value).decode() if part.kind == "bytes" else part.value
    return {_VALUE_KEYS[part.kind]: value} | _given({"mediaType": part.media_type, "filename": part.filename})


def _part_in(said: Json) -> Part:
    [(kind, value)] = [(kind, said[key]) for kind, key in _VALUE_KEYS.items() if key in said]
    return Part(
        kind=kind,  # type: ignore[arg-type]
        value=base64.b64decode(value) if kind == "bytes" else value,
        media_type=said.get("mediaType", ""),
        filename=said.get("filename", ""),
    )


def _message_in(said: Json) -> Message:
    return Message(
        id=said["messageId"],
        role=said["role"].removeprefix("ROLE_").lower(),
        context=said.get("contextId", ""),
        task=said.get("taskId", ""),
        parts=tuple(map(_part_in, said["parts"])),
    )


def _artifact_in(said: Json) -> Artifact:
    return Artifact(
        id=said["artifactId"],
        name=said.get("name", ""),
        description=said.get("description", ""),
        parts=tuple(map(_part_in, said["parts"])),
    )


def _state(status: Json) -> str:
    state: str = status["state"]
    return state.removeprefix("TASK_STATE_").lower().replace("_", "-")


def _said(status: Any) -> tuple[Part, ...]:
    message = status.get("message")
    return tuple(map(_part_in, message["parts"])) if message else ()
