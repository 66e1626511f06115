"""What a push configuration must look like to be kept. Pure; each refusal names its field."""

import re

from llamon_agent.domain.errors import BadParams
from llamon_agent.domain.push import PushConfig
from llamon_agent.inbound.a2a.push.address import Address, read_address

MAX_ID_CHARACTERS = 256
MAX_SECRET_CHARACTERS = 8192
MAX_SCHEMES = 16

_ID = re.compile(r"[^/\x00-\x1f\x7f]*")
_SCHEME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,64}")
_OTHER_SCHEME = re.compile(r"[\x20-\x7e]{0,64}")
"""0.3 names several. Those that are not used need not make sense, but they are kept, and so bounded."""

_SECRET = re.compile(r"([\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?)?")
"""A header's value neither begins nor ends with a space (RFC 9110 §5.5), and such a request would never be sent."""


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
            raise BadParams(
                f"{name} must be at most {MAX_SECRET_CHARACTERS} printable ASCII characters, no space at its ends."
            )
    if len(config.schemes) > MAX_SCHEMES or not all(map(_OTHER_SCHEME.fullmatch, config.schemes)):
        raise BadParams(f"authentication must name at most {MAX_SCHEMES} schemes, of which the first is used.")
    if config.schemes and not _SCHEME.fullmatch(config.schemes[0]):
        raise BadParams("authentication must name an HTTP authentication scheme, such as Bearer.")
    return read_address(config.url)
