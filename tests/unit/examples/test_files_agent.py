"""The files agent as its own text describes it, driven through the adapter as its configuration serves it."""

from pathlib import Path

import msgspec
from langgraph.checkpoint.memory import InMemorySaver
from tests.unit.adapters.langgraph.scripted import agent_of, events_of, turn, whole

from llamon_agent.adapters.langgraph.load import load_graph
from llamon_agent.domain.events import ArtifactMade
from llamon_agent.domain.message import Data, Message, Part, Raw, Role, Text, Url

FILE = Path(__file__).parents[3] / "examples" / "files_agent.py"

PNG = Raw(data=b"\x89PNG", media_type="image/png", filename="a.png")


async def answer(*parts: Part) -> tuple[str | None, list[tuple[str | None, tuple[Part, ...]]]]:
    """The text, and the artifacts by name."""
    graph = (await load_graph(f"{FILE}:graph", checkpointer=InMemorySaver())).graph
    message = Message(message_id="m", role=Role.USER, parts=parts)
    events = await events_of(agent_of(graph), msgspec.structs.replace(turn("see"), message=message))
    made = [event.artifact for event in events if isinstance(event, ArtifactMade)]
    return whole(events), [(artifact.name, artifact.parts) for artifact in made]


async def test_it_lists_what_it_was_sent_and_gives_images_back() -> None:
    address = Url(url="https://example.com/a.pdf", media_type="application/pdf")
    text, artifacts = await answer(Text.of("see"), PNG, address)
    assert text == "You sent text of 3 bytes, image/png of 4 bytes, application/pdf of 0 bytes."
    rows = [
        {"kind": "text", "bytes": 3},
        {"kind": "image/png", "bytes": 4},
        {"kind": "application/pdf", "bytes": 0},
    ]
    table = b"kind,bytes\r\ntext,3\r\nimage/png,4\r\napplication/pdf,0\r\n"
    inventory = (Data(data=rows), Raw(data=table, media_type="text/csv", filename="inventory.csv"))
    assert artifacts == [("inventory", inventory), ("a.png", (PNG,))]


async def test_text_alone_is_listed_too() -> None:
    text, artifacts = await answer(Text.of("see"))
    assert text == "You sent text of 3 bytes."
    assert [name for name, _ in artifacts] == ["inventory"]
