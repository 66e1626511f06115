from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.store.memory import InMemoryStore
from langgraph_sdk import runtime as sdk
from langgraph_sdk.runtime import ServerRuntime

from llamon_agent.adapters.langgraph import factory as module
from llamon_agent.adapters.langgraph.factory import Factory, call_to_look, factory_of
from llamon_agent.domain.errors import ConfigError

if TYPE_CHECKING:
    from decimal import Decimal

CONFIG: RunnableConfig = {"configurable": {"thread_id": "1"}}
RUNTIME: Any = sdk._ReadRuntime(access_context="assistants.read", store=InMemoryStore())


def nothing() -> Any:
    return ()


def any_name(whatever) -> Any:  # type: ignore[no-untyped-def]
    return (whatever,)


def of_config(config: RunnableConfig | None = None) -> Any:
    return (config,)


def of_default(config=None, *rest, **more) -> Any:  # type: ignore[no-untyped-def]
    return (config, *rest)


def of_runtime(wanted: ServerRuntime[None]) -> Any:
    return (wanted,)


def of_name(runtime) -> Any:  # type: ignore[no-untyped-def]
    return (runtime,)


def of_string(first: "ServerRuntime[None]", second: "Decimal") -> Any:
    return (first, second)


def of_both(config: RunnableConfig, runtime: ServerRuntime[None]) -> Any:
    return (config, runtime)


def of_both_turned(runtime: Annotated[ServerRuntime[None], "why"], given: dict[str, Any]) -> Any:
    return (runtime, given)


def of_keywords(*, runtime: ServerRuntime[None] | None = None, config: RunnableConfig) -> Any:
    return (runtime, config)


def of_positions(config: RunnableConfig, runtime: ServerRuntime[None], /) -> Any:
    return (config, runtime)


async def of_async(config: RunnableConfig) -> Any:
    return (config,)


@contextmanager
def managed(config: RunnableConfig) -> Iterator[Any]:
    yield (config,)


@asynccontextmanager
async def managed_async(runtime: ServerRuntime[None]) -> AsyncIterator[Any]:
    yield (runtime,)


def tuned(config: RunnableConfig, model: str) -> Any:
    return (config, model)


def with_default(model: str = "gpt") -> Any:
    return (model,)


class Maker:
    def __call__(self, runtime: ServerRuntime[None]) -> Any:
        return (runtime,)


class Made:
    def __init__(self, config: RunnableConfig) -> None:
        self.config = config

    def __eq__(self, other: object) -> bool:
        return other == (self.config,)


@pytest.mark.parametrize(
    ("call", "given"),
    [
        (nothing, ()),
        (any_name, (CONFIG,)),
        (of_config, (CONFIG,)),
        (of_default, (CONFIG,)),
        (of_runtime, (RUNTIME,)),
        (of_name, (RUNTIME,)),
        (of_string, (RUNTIME, CONFIG)),
        (of_both, (CONFIG, RUNTIME)),
        (of_both_turned, (RUNTIME, CONFIG)),
        (of_keywords, (RUNTIME, CONFIG)),
        (of_positions, (CONFIG, RUNTIME)),
        (of_async, (CONFIG,)),
        (managed, (CONFIG,)),
        (managed_async, (RUNTIME,)),
        (partial(tuned, model="gpt"), (CONFIG, "gpt")),
        (with_default, ("gpt",)),
        (Maker(), (RUNTIME,)),
        (Made, (CONFIG,)),
    ],
)
async def test_a_factory_gets_what_its_annotations_and_names_say(call: Any, given: tuple[Any, ...]) -> None:
    factory = factory_of("target", call, "")
    async with AsyncExitStack() as stack:
        assert await factory.enter(stack, CONFIG, RUNTIME) == given
    assert factory.is_per_run == any(each in (CONFIG, RUNTIME) for each in given)


@pytest.mark.parametrize("call", [lambda config, other: 0, lambda one, two: 0, lambda *, config, runtime, more: 0])
def test_a_factory_that_needs_more_is_refused(call: Any) -> None:
    with pytest.raises(ConfigError, match=r"'target'.* and this needs more\. Hint$"):
        factory_of("target", call, "Hint")


def test_code_without_a_signature_is_called_without_anything() -> None:
    assert factory_of("target", dict, "") == Factory(dict, [])


async def test_with_an_sdk_that_has_no_runtime_configs_are_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_sdk", None)
    assert call_to_look({"a": 1}, None) == ({"configurable": {"a": 1, "__is_for_execution__": False}}, None)
    async with AsyncExitStack() as stack:
        assert await factory_of("target", of_config, "").enter(stack, CONFIG, None) == (CONFIG,)
    with pytest.raises(ConfigError, match="needs more"):
        factory_of("target", of_name, "")
