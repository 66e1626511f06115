"""Files and data over a real socket, by the official client in its 1.0 and its 0.3 mode."""

from collections.abc import Iterator

import pytest
from a2a.types.a2a_pb2 import Message, Part, Role, SendMessageRequest
from a2a.utils.errors import ContentTypeNotSupportedError
from google.protobuf.json_format import MessageToDict
from tests.e2e.conftest import Edge, connected, running_edge

ALL_BYTES = bytes(range(256))


@pytest.fixture(scope="module")
def files_edge(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Edge]:
    data = tmp_path_factory.mktemp("files") / "data"
    with running_edge("--config", "examples/files_agent.yaml", data=data) as running:
        yield running


def sending(*parts: Part) -> SendMessageRequest:
    return SendMessageRequest(message=Message(message_id="m", role=Role.ROLE_USER, parts=parts))


@pytest.mark.parametrize("streaming", [True, False])
async def test_a_file_goes_there_and_back_byte_for_byte(files_edge: Edge, version: str, streaming: bool) -> None:
    image = Part(raw=ALL_BYTES, media_type="image/png", filename="a.png")
    async with connected(files_edge.url, version, streaming=streaming) as client:
        events = [event async for event in client.send_message(sending(Part(text="see"), image))]
    told = [event.artifact_update.artifact for event in events] + [
        artifact for event in events for artifact in event.task.artifacts
    ]
    made = {artifact.name: artifact for artifact in told}
    assert made["a.png"].parts == [image]
    rows, table = made["inventory"].parts
    assert MessageToDict(rows)["data"][1] == {"kind": "image/png", "bytes": 256}
    assert table.raw == b"kind,bytes\r\ntext,3\r\nimage/png,256\r\n"
    assert made["inventory"].description == "What was sent, as data and as a table."


async def test_a_file_that_the_agent_does_not_take_is_refused(files_edge: Edge, version: str) -> None:
    video = Part(raw=b"x", media_type="video/mp4")
    async with connected(files_edge.url, version, streaming=False) as client:
        with pytest.raises(ContentTypeNotSupportedError, match=r"message\.parts\[0\] is video/mp4"):
            _ = [event async for event in client.send_message(sending(video))]
