"""Any JSON value in a DataPart, which holds only objects, in 0.3's JSON and in its protobuf alike.

Another value goes as `{"value": ...}` under a mark in the part's metadata, which the official SDK uses as well.
"""

from collections.abc import Mapping

from llamon_agent.domain.message import Data, Metadata

LOSSES: Mapping[str, str] = {
    "data.metadata.data_part_compat": "the key is taken: it marks a value that is no object, wrapped in one; left out",
    "data.metadata.empty": "an empty metadata object of such a wrapped value is read as none",
}
"""What such a part cannot say of a domain part."""

_WRAPPED = "data_part_compat"


def data_in(data: Metadata, metadata: Metadata | None) -> Data:
    """The value of a DataPart."""
    if metadata and metadata.get(_WRAPPED) is True and data.keys() == {"value"}:
        return Data(data=data["value"], metadata=_without_mark(metadata) or None)
    return Data(data=data, metadata=metadata)


def data_out(part: Data) -> tuple[Metadata, Metadata | None]:
    """The data and the metadata of a DataPart."""
    metadata = _without_mark(part.metadata)
    if isinstance(part.data, dict):
        return part.data, metadata
    return {"value": part.data}, {**(metadata or {}), _WRAPPED: True}


def _without_mark(metadata: Metadata | None) -> Metadata | None:
    if metadata is None or _WRAPPED not in metadata:
        return metadata
    return {key: value for key, value in metadata.items() if key != _WRAPPED}
