"""Messages of LangGraph's generative UI, as artifacts: a host that can show a component finds its name and its props.

A graph writes them to its stream with `push_ui_message` and `delete_ui_message`. Each component is one data artifact:
it has the component's id and name, its data are the props, and its metadata say that it is one (`"type": "ui"`). A
change of a component replaces its artifact. A2A cannot take an artifact back, so a component that is removed becomes
one without props, with the type `remove-ui`.

Source: langgraph.graph.ui (UIMessage, RemoveUIMessage, ui_message_reducer).
"""

from collections.abc import Mapping
from typing import Any

from llamon_agent.adapters.artifacts import artifact_made
from llamon_agent.adapters.langgraph.hitl.questions import json_safe
from llamon_agent.domain.events import ArtifactMade
from llamon_agent.domain.message import Data, Metadata
from llamon_agent.domain.task import Artifact

UI = "ui"
"""The key of the state that keeps the components, unless the graph names another."""

_INTERNAL = frozenset({"merge", "name", "run_id", "tags"})
"""Metadata that LangGraph writes for its own server."""


class UiMessages:
    """The components of one run. Shape: state is that at the run's start; its components may be changed, too."""

    def __init__(self) -> None:
        self._props: dict[str, Any] = {}

    def artifact(self, written: Any, state: Any) -> ArtifactMade | None:
        """The artifact of what a node wrote to the stream; None if it is no message of a component."""
        match written:
            case {"type": "ui", "id": str(ui_id), "name": str(name), "props": Mapping() as props, **rest} if ui_id:
                metadata = rest.get("metadata")
                metadata = dict(metadata) if isinstance(metadata, Mapping) else {}
                if metadata.get("merge"):
                    props = {**self._known(ui_id, state), **props}
                self._props[ui_id] = dict(props)
                kept = {key: value for key, value in metadata.items() if key not in _INTERNAL}
                return _made(ui_id, name, dict(props), {**kept, "type": "ui"})
            case {"type": "remove-ui", "id": str(ui_id)} if ui_id:
                self._props.pop(ui_id, None)
                return _made(ui_id, None, {}, {"type": "remove-ui"})
        return None

    def _known(self, ui_id: str, state: Any) -> Mapping[str, Any]:
        """The props of a component so far, in this run or from an earlier one."""
        if ui_id in self._props:
            return self._props[ui_id]  # type: ignore[no-any-return]
        kept = state.get(UI) if isinstance(state, dict) else None
        found = [each for each in kept if isinstance(each, dict)] if isinstance(kept, list) else []
        return next((each["props"] for each in found if each.get("id") == ui_id and "props" in each), {})


def _made(ui_id: str, name: str | None, props: Mapping[str, Any], metadata: Metadata) -> ArtifactMade:
    artifact = Artifact(
        artifact_id=ui_id, name=name, parts=(Data(data=json_safe(props)),), metadata=json_safe(metadata)
    )
    return artifact_made(artifact)
