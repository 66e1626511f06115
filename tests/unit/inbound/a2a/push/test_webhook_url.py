"""What is kept as a push configuration can be sent, and nothing else is kept."""

from typing import Any

import pytest

from llamon_agent.domain.errors import BadParams
from llamon_agent.domain.task import PushConfig
from llamon_agent.inbound.a2a.push.webhook_url import (
    MAX_ID_CHARACTERS,
    MAX_SCHEMES,
    MAX_SECRET_CHARACTERS,
    check_config,
)


def config(**more: Any) -> PushConfig:
    return PushConfig(**{"id": "", "url": "https://hooks.example/a", "version": "1.0", **more})


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"id": "my hook", "token": "a token", "schemes": ("Bearer", "no scheme"), "credentials": 'Aladdin:"sesame"=='},
        {"id": "훅" * MAX_ID_CHARACTERS, "token": "", "credentials": "x" * MAX_SECRET_CHARACTERS},
    ],
)
def test_a_sound_configuration_is_where_its_url_says(more: dict[str, Any]) -> None:
    assert check_config(config(**more)).host == "hooks.example"


@pytest.mark.parametrize(
    ("more", "field"),
    [
        ({"id": "a/b"}, "id"),
        ({"id": "a\nb"}, "id"),
        ({"id": "a\x00"}, "id"),
        ({"id": "a" * (MAX_ID_CHARACTERS + 1)}, "id"),
        ({"token": "a\r\nX-Other: b"}, "token"),
        ({"token": "a\n"}, "token"),
        ({"token": "ü"}, "token"),
        ({"token": " a"}, "token"),
        ({"token": "a "}, "token"),
        ({"token": " "}, "token"),
        ({"schemes": ("Bearer",), "credentials": "a "}, "authentication.credentials"),
        ({"schemes": ("Bearer", "x" * 65)}, "authentication"),
        ({"schemes": ("Bearer", "a\x00")}, "authentication"),
        ({"schemes": ("Bearer",) * (MAX_SCHEMES + 1)}, "authentication"),
        ({"token": "x" * (MAX_SECRET_CHARACTERS + 1)}, "token"),
        ({"schemes": ("Bearer",), "credentials": "a\r\nb"}, "authentication.credentials"),
        ({"schemes": ("Bearer\r\nX-Other: b",), "credentials": "a"}, "authentication"),
        ({"schemes": ("",), "credentials": "a"}, "authentication"),
        ({"schemes": ("Bearer token",)}, "authentication"),
        ({"url": "file:///x"}, "url"),
    ],
)
def test_what_could_not_be_sent_is_refused_by_its_field(more: dict[str, Any], field: str) -> None:
    with pytest.raises(BadParams) as raised:
        check_config(config(**more))
    assert raised.value.public.startswith(f"{field} must")
