"""A LangGraph agent that is sent files and data and answers with some. It needs no key and no network.

What a caller sends is in the content of the human message: text, data and text files as text, other files as content
blocks of LangChain. Besides the answer's text, the caller gets:

- artifacts, written to the stream writer as {"artifact": {...}} whenever one is ready;
- the images, audio and files in the content of the last AI message;
- the state's key `structured_response`, as create_agent(response_format=...) sets it.

The configuration says which files callers may send: `llamon serve --config examples/files_agent.yaml`.
"""

import base64
import csv
import io
from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.messages import AIMessage
from langgraph.config import get_stream_writer
from langgraph.graph import START, MessagesState, StateGraph

Block = Mapping[str, Any]
Row = dict[str, str | int]


def look(state: MessagesState) -> dict[str, list[AIMessage]]:
    """Say what came, make a list of it, and give the images back."""
    blocks: list[Any] = list(state["messages"][-1].content_blocks)
    rows = [row_of(block) for block in blocks]
    get_stream_writer()(
        {
            "artifact": {
                "name": "inventory",
                "description": "What was sent, as data and as a table.",
                "parts": [
                    {"data": rows},
                    {"bytes": table_of(rows), "media_type": "text/csv", "filename": "inventory.csv"},
                ],
            }
        }
    )
    said = "You sent " + ", ".join(f"{row['kind']} of {row['bytes']} bytes" for row in rows) + "."
    images = [block for block in blocks if block["type"] == "image"]
    return {"messages": [AIMessage([{"type": "text", "text": said}, *images])]}


def row_of(block: Block) -> Row:
    """One line of the inventory; a URL has no bytes here, as it was not fetched."""
    match block:
        case {"type": "text", "text": str(text)}:
            return {"kind": "text", "bytes": len(text.encode())}
        case {"mime_type": str(media_type), "base64": str(encoded)}:
            return {"kind": media_type, "bytes": len(base64.b64decode(encoded))}
    return {"kind": str(block.get("mime_type")), "bytes": 0}


def table_of(rows: Sequence[Row]) -> bytes:
    """The rows as CSV."""
    out = io.StringIO()
    writer = csv.DictWriter(out, ["kind", "bytes"])
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue().encode()


builder = StateGraph(MessagesState)
builder.add_node("look", look)
builder.add_edge(START, "look")

graph = builder.compile(name="files")
"""The graph, without a checkpointer: the server brings one."""
