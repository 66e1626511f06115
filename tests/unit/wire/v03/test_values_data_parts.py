from typing import Any

import pytest

from llamon_agent.domain.message import Data, Metadata
from llamon_agent.wire.v03.values import data_in, data_out

MARK = {"data_part_compat": True}


@pytest.mark.parametrize("value", [None, False, 0, 1.5, "x", [], [{"k": 1}]])
@pytest.mark.parametrize("metadata", [None, {"k": 1}])
def test_a_value_that_is_no_object_is_wrapped_and_unwrapped(value: Any, metadata: Metadata | None) -> None:
    part = Data(data=value, metadata=metadata)
    assert data_out(part) == ({"value": value}, {**(metadata or {}), **MARK})
    assert data_in(*data_out(part)) == part


@pytest.mark.parametrize("value", [{}, {"value": 1}, {"value": 1, "k": 2}])
@pytest.mark.parametrize("metadata", [None, {}, {"k": 1}])
def test_an_object_goes_as_it_is(value: Metadata, metadata: Metadata | None) -> None:
    part = Data(data=value, metadata=metadata)
    assert data_out(part) == (value, metadata)
    assert data_in(value, metadata) == part


def test_the_mark_of_a_caller_is_not_written_on_an_object() -> None:
    """LOSSES names it."""
    assert data_out(Data(data={"value": 1}, metadata={"k": 2, **MARK})) == ({"value": 1}, {"k": 2})


@pytest.mark.parametrize("metadata", [{"data_part_compat": False}, {"data_part_compat": 1}, {"k": 1}])
def test_only_the_mark_itself_unwraps_a_value(metadata: Metadata) -> None:
    assert data_in({"value": 1}, metadata) == Data(data={"value": 1}, metadata=metadata)


def test_a_marked_object_of_another_shape_is_itself() -> None:
    assert data_in({"value": 1, "k": 2}, MARK) == Data(data={"value": 1, "k": 2}, metadata=MARK)
