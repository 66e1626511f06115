"""Where webhooks may lie is told plainly, or refused plainly."""

import pytest
from pydantic import ValidationError

from llamon_agent.config.sections import WebhooksConfig
from llamon_agent.inbound.a2a.push.guard import AddressGuard


@pytest.mark.parametrize(
    "place",
    [
        *(
            "localhost",
            "hooks.internal",
            "Hooks.Internal.",
            "a_b",
            "127.0.0.1",
            "10.1.0.0/16",
            "::1",
            "fd00::/8",
            "0.0.0.0/0",
        )
    ],
)
def test_a_place_is_a_name_an_address_or_a_network(place: str) -> None:
    [allowed] = WebhooksConfig(allow=(place,)).allow
    AddressGuard([allowed])


@pytest.mark.parametrize(
    "place",
    [
        *(
            "",
            "http://localhost",
            "localhost:80",
            "*.internal",
            "10.1.2.3/16",
            "10.1",
            "127.0.0.256",
            "[::1]",
            "a..b",
            "a b",
        )
    ],
)
def test_what_is_no_place_is_refused(place: str) -> None:
    with pytest.raises(ValidationError, match="must be a host name, an address, or a network"):
        WebhooksConfig(allow=(place,))


def test_webhooks_are_on_and_guarded_by_default() -> None:
    assert (WebhooksConfig().enabled, WebhooksConfig().allow) == (True, ())
