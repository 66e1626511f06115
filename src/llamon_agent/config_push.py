"""The section `a2a.push`: what callers may have their webhooks told."""

import re
from ipaddress import ip_network
from typing import Annotated

from pydantic import AfterValidator, Field

from llamon_agent.config_problems import Wrong
from llamon_agent.config_section import Section

_NAME = re.compile(r"(?=.*[A-Za-z])[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*\.?")


def _place(value: str) -> str:
    if not _NAME.fullmatch(value):
        try:
            ip_network(value)
        except ValueError as exc:
            raise Wrong("must be a host name, an address, or a network such as 10.1.0.0/16 or fd00::/8") from exc
    return value


Place = Annotated[str, AfterValidator(_place)]


class WebhooksConfig(Section):
    """Push notifications: the webhooks by which callers are told of their tasks."""

    enabled: bool = True
    """Whether callers may register webhooks."""
    allow: tuple[Place, ...] = ()
    """Host names, addresses and networks that webhooks may lie in although they are not on the public internet."""
    timeout_s: Annotated[float, Field(gt=0, le=60)] = 15.0
    """How many seconds a webhook has to answer, before it is tried again."""
    max_per_task: Annotated[int, Field(ge=1, le=100)] = 10
    """How many webhooks a task may have."""
