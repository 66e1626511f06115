"""A function is given what its signature takes, however it is wrapped, and nothing else."""

from collections.abc import Callable
from functools import partial, wraps
from typing import Any

import pytest

from llamon_agent.adapters.custom.signature import OFFERED, read_signature, takes_nothing
from llamon_agent.domain.errors import ConfigError

OFFERS = {name: f"the {name}" for name in OFFERED}


def plain(prompt: str) -> None: ...
def seeded(prompt: str, prefill_messages: list[object]) -> None: ...
def optional(prompt: str, prefill_messages: object = None, temperature: float = 0.5) -> None: ...
def by_keyword(*, prompt: str, context_id: str) -> None: ...
def otherwise_named(message: str, *, metadata: object) -> None: ...
def anything(prompt: str, **kwargs: object) -> None: ...
def only_anything(**kwargs: object) -> None: ...
def positions(*args: object) -> None: ...
def hidden(prompt: str, context_id: str = "", /, **kwargs: object) -> None: ...
def prompt_second(question: str, prompt: str = "") -> None: ...


class Callee:
    def __call__(self, prompt: str, task_id: str) -> None: ...

    async def invoke(self, prompt: str, session_id: str) -> None: ...


def decorated(function: Callable[..., None]) -> Callable[..., None]:
    @wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> None:
        function(*args, **kwargs)

    return wrapper


@pytest.mark.parametrize(
    ("function", "positional", "named"),
    [
        (plain, ["hi"], set()),
        (seeded, ["hi"], {"prefill_messages"}),
        (optional, ["hi"], {"prefill_messages"}),
        (by_keyword, [], {"prompt", "context_id"}),
        (otherwise_named, ["hi"], {"metadata"}),
        (anything, ["hi"], set(OFFERED)),
        (only_anything, [], {"prompt", *OFFERED}),
        (positions, ["hi"], set()),
        (hidden, ["hi"], OFFERED - {"context_id"}),
        (prompt_second, ["hi"], set()),
        (Callee(), ["hi"], {"task_id"}),
        (Callee().invoke, ["hi"], {"session_id"}),
        (decorated(seeded), ["hi"], {"prefill_messages"}),
        (decorated(decorated(plain)), ["hi"], set()),
        (partial(seeded, prefill_messages=[]), ["hi"], {"prefill_messages"}),
        (partial(prompt_second, "fixed"), ["hi"], set()),
        (str.upper, ["hi"], set()),
        (max, ["hi"], set()),
    ],
)
def test_a_function_gets_what_it_takes(
    function: Callable[..., object], positional: list[object], named: set[str]
) -> None:
    args, kwargs = read_signature(function).call_with("hi", OFFERS)
    assert (args, set(kwargs)) == (positional, named)
    assert all(value == ("hi" if name == "prompt" else f"the {name}") for name, value in kwargs.items())


def test_what_is_not_offered_in_this_call_is_not_passed() -> None:
    assert read_signature(anything).call_with("hi", {"task_id": "t"}) == (["hi"], {"task_id": "t"})


def nothing() -> None: ...
def no_prompt(*, context_id: str) -> None: ...
def demanding(prompt: str, temperature: float) -> None: ...
def demanding_by_keyword(prompt: str, *, temperature: float) -> None: ...
def out_of_reach(prompt: str, context_id: str, /) -> None: ...


@pytest.mark.parametrize("function", [nothing, no_prompt])
def test_a_function_without_a_prompt_is_refused(function: Callable[..., object]) -> None:
    with pytest.raises(ConfigError, match="takes no prompt"):
        read_signature(function)


@pytest.mark.parametrize("function", [demanding, demanding_by_keyword])
def test_a_function_that_demands_what_a_turn_does_not_have_is_refused(function: Callable[..., object]) -> None:
    with pytest.raises(ConfigError, match=f"{function.__name__}' requires 'temperature'"):
        read_signature(function)


def test_a_required_parameter_that_cannot_be_named_is_refused() -> None:
    with pytest.raises(ConfigError, match="'context_id'"):
        read_signature(out_of_reach)


def test_only_a_function_without_any_parameter_takes_nothing() -> None:
    assert takes_nothing(nothing)
    assert takes_nothing(partial(plain, "fixed"))
    assert not any(takes_nothing(function) for function in (plain, anything, positions, no_prompt, str.upper))
