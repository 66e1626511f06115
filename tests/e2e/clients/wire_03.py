"""The JSON of 0.2 and 0.3: how the programs of 0.x SDKs are told what to send, and what they say."""

import base64
from typing import Any, Literal

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


class Wire03:
    def send(self, sending: Sending) -> Json:
        message = {
            "kind": "message",
            "messageId": sending.message_id,
            "role": "user",
            "contextId": sending.context,
            "taskId": sending.task,
            "parts": [_part_out(part) for part in sending.parts],
            "metadata": sending.metadata,
        }
        configuration: Json = {"blocking": sending.waits, "acceptedOutputModes": []}
        if sending.hook:
            configuration["pushNotificationConfig"] = self.hook(sending.hook)["pushNotificationConfig"]
        call = {"message": _given(message), "configuration": configuration, "metadata": sending.call_metadata}
        return _given(call)

    def hook(self, hook: Hook) -> Json:
        config = _given({"id": hook.id, "url": hook.url, "token": hook.token})
        return {"taskId": hook.task, "pushNotificationConfig": config}

    def hook_named(self, task: str, hook_id: str) -> Json:
        return {"id": task, "pushNotificationConfigId": hook_id}

    def hooks_of(self, task: str) -> Json:
        return {"id": task}

    def turn(self, role: str, text: str, message_id: str) -> Json:
        return {"kind": "message", "messageId": message_id, "role": role, "parts": [{"kind": "text", "text": text}]}

    def event_in(self, said: Json) -> Event:
        match said:
            case {"kind": "task"}:
                return self.task_in(said)
            case {"kind": "message"}:
                return _message_in(said)
            case {"kind": "status-update", "taskId": task, "status": status, "final": final}:
                return StatusEvent(task=task, state=status["state"], said=_said(status), final=final)
            case {"kind": "artifact-update", "taskId": task, "artifact": artifact, **flags}:
                return ArtifactEvent(
                    task=task,
                    artifact=_artifact_in(artifact),
                    append=bool(flags.get("append")),
                    last=bool(flags.get("lastChunk")),
                )
        raise AssertionError(f"not an event: {said}")

    def task_in(self, said: Json) -> Task:
        return Task(
            id=said["id"],
            context=said["contextId"],
            state=said["status"]["state"],
            said=_said(said["status"]),
            artifacts=tuple(map(_artifact_in, said.get("artifacts") or ())),
            history=tuple(map(_message_in, said.get("history") or ())),
            metadata=said.get("metadata") or {},
        )

    def hook_in(self, said: Json) -> Hook:
        config = said["pushNotificationConfig"]
        return Hook(id=config.get("id") or "", task=said["taskId"], url=config["url"], token=config.get("token") or "")


def _given(fields: Json) -> Json:
    """The fields that say something."""
    return {name: value for name, value in fields.items() if value not in (None, "")}


def _part_out(part: Part) -> Json:
    match part.kind:
        case "text" | "data":
            return {"kind": part.kind, part.kind: part.value}
        case "bytes":
            where = {"bytes": base64.b64encode(part.value).decode()}
        case "url":
            where = {"uri": part.value}
    return {"kind": "file", "file": where | _given({"mimeType": part.media_type, "name": part.filename})}


def _part_in(said: Json) -> Part:
    match said:
        case {"kind": "text", "text": text}:
            return Part(kind="text", value=text)
        case {"kind": "data", "data": data}:
            return Part(kind="data", value=data)
        case {"kind": "file", "file": {"bytes": str(encoded)}} if encoded:
            return _file("bytes", base64.b64decode(encoded), said["file"])
        case {"kind": "file", "file": {"uri": uri}}:
            return _file("url", uri, said["file"])
    raise AssertionError(f"not a part: {said}")


def _file(kind: Literal["bytes", "url"], value: Any, file: Json) -> Part:
    return Part(kind=kind, value=value, media_type=file.get("mimeType") or "", filename=file.get("name") or "")


def _message_in(said: Json) -> Message:
    return Message(
        id=said["messageId"],
        role=said["role"],
        context=said.get("contextId") or "",
        task=said.get("taskId") or "",
        parts=tuple(map(_part_in, said["parts"])),
    )


def _artifact_in(said: Json) -> Artifact:
    return Artifact(
        id=said["artifactId"],
        name=said.get("name") or "",
        description=said.get("description") or "",
        parts=tuple(map(_part_in, said["parts"])),
    )


def _said(status: Json) -> tuple[Part, ...]:
    message = status.get("message")
    return tuple(map(_part_in, message["parts"])) if message else ()
