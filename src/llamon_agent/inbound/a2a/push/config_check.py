"""What a push configuration must look like to be kept. Pure; each refusal names its field."""

import re

from llamon_agent.domain.errors import BadParams
from llamon_agent.domain.push import PushConfig
from llamon_agent.inbound.a2a.push.address import Address, read_address

MAX_ID_CHARACTERS = 256
MAX_SECRET_CHARACTERS = 8192

_ID = re.compile(r"[^/\x00-\x1f\x7f]*")
_SCHEME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,64}")
_SECRET = re.compile(r"[\x20-\x7e]*")


def check_config(config: PushConfig) -> Address:
    """Where the webhook is, if the configuration can be kept.

    What becomes part of a request's header must not be able to end a line of it (RFC 9110 §5.5); an id becomes part of
    a path and of a resource name.

    Raises: BadParams that names the field.
    """
    if len(config.id) > MAX_ID_CHARACTERS or not _ID.fullmatch(config.id):
        raise BadParams(f"id must have at most {MAX_ID_CHARACTERS} characters, none a slash or a control character.")
    for name, value in (("token", config.token), ("authentication.credentials", config.credentials)):
        if value is not None and not (len(value) <= MAX_SECRET_CHARACTERS and _SECRET.fullmatch(value)):
            raise BadParams(f"{name} must be at most {MAX_SECRET_CHARACTERS} printable ASCII characters.")
    if config.schemes and not _SCHEME.fullmatch(config.schemes[0]):
        raise BadParams("authentication must name an HTTP authentication scheme, such as Bearer.")
    return read_address(config.url)
