"""Files, data and several artifacts: what is sent and what comes back, byte for byte."""

import base64
import hashlib
from collections.abc import Container

import msgspec
import pytest
from tests.e2e.clients.agent import ALL_BYTES, TABLE
from tests.e2e.clients.running import Remote
from tests.e2e.clients.shapes import Artifact, ArtifactEvent, Part, rebuilt, text_of

URL = "https://example.com/a%20b?c=d#e"

SENT = [
    Part(kind="bytes", value=ALL_BYTES * 300, media_type="image/png", filename="그림.png"),
    Part(kind="bytes", value=b"\x00", media_type="application/octet-stream", filename="zero"),
    Part(kind="url", value=URL, media_type="application/pdf", filename="far.pdf"),
    Part(kind="data", value=TABLE),
    Part(kind="text", value='한글 \n\t"quoted" ☃ \U0001f600 '),
]


def sendable(remote: Remote) -> list[Part]:
    """What is sent, as far as the client can."""
    if "nulls" not in remote.client.bugs:
        return SENT
    return [part for part in SENT if part.value is not TABLE]


def known(remote: Remote, parts: list[Part]) -> list[Part]:
    """The parts as this client reads them."""
    return [_known(part, remote.client.bugs) for part in parts]


def _known(part: Part, bugs: Container[str]) -> Part:
    if "file names" in bugs:
        part = msgspec.structs.replace(part, filename="")
    if "file bytes" in bugs and part.kind == "bytes":
        part = msgspec.structs.replace(part, value=base64.b64encode(part.value))
    if "nulls" in bugs and part.value is TABLE:
        part = msgspec.structs.replace(part, value=TABLE | {"none": 0})
    return part


@pytest.mark.parametrize("streams", [False, True], ids=["sent", "streamed"])
def test_everything_that_is_sent_comes_back_as_it_was(remote: Remote, *, streams: bool) -> None:
    sent = sendable(remote)
    task = rebuilt(list(remote.stream("mirror", *sent))) if streams else remote.task("mirror", *sent)
    mirrored, answer = _apart(remote.get(task.id).artifacts)
    assert [part for artifact in mirrored for part in artifact.parts] == known(remote, sent)
    assert [artifact for artifact in task.artifacts if artifact.id.startswith("mirror")] == mirrored
    files = [part.value for part in sent if part.kind == "bytes"]
    assert text_of(answer.parts) == " ".join(hashlib.sha256(file).hexdigest() for file in files)


def _apart(artifacts: tuple[Artifact, ...]) -> tuple[list[Artifact], Artifact]:
    mirrored = [artifact for artifact in artifacts if artifact.id.startswith("mirror")]
    [answer] = [artifact for artifact in artifacts if not artifact.id.startswith("mirror")]
    return mirrored, answer


def test_several_artifacts_keep_their_names_their_parts_and_their_order(remote: Remote) -> None:
    task = remote.task("several")
    note, table, files, answer = task.artifacts
    assert (note.name, note.description) == ("note", "Some words.")
    assert note.parts == (Part(kind="text", value="first"), Part(kind="data", value={"second": 2}))
    assert (table.name, list(table.parts)) == ("table", known(remote, [Part(kind="data", value=TABLE)]))
    assert list(files.parts) == known(
        remote,
        [
            Part(kind="bytes", value=ALL_BYTES, media_type="application/octet-stream", filename="all.bin"),
            Part(kind="url", value=URL, media_type="application/pdf"),
        ],
    )
    assert text_of(answer.parts) == "That was all."
    assert remote.get(task.id) == task


def test_several_artifacts_are_streamed_as_they_are_stored(remote: Remote) -> None:
    events = list(remote.stream("several"))
    task = rebuilt(events)
    assert task.artifacts == remote.get(task.id).artifacts
    assert len({event.artifact.id for event in events if isinstance(event, ArtifactEvent)}) == 4


def test_data_that_is_no_object_is_wrapped_for_0_x_and_unwrapped_by_newer_clients(remote: Remote) -> None:
    [artifact] = remote.task("list").artifacts
    [part] = artifact.parts
    unwraps = remote.client.sdk in ("py1", "js1") and "part metadata" not in remote.client.bugs
    value = [1, "two", {"three": True}]
    assert part.value == (value if unwraps else {"value": value})
