"""The types of single values in the configuration, each with its check and its error text."""

import re
from math import isfinite
from typing import Annotated, Any
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Field, SecretStr, WithJsonSchema
from pydantic_settings import NoDecode

from llamon_agent.config.problems import Wrong
from llamon_agent.domain.caller import DEFAULT_PRINCIPAL
from llamon_agent.domain.message import essence

DURATION_PATTERN = r"^[0-9]{1,9}(\.[0-9]{1,3})?[smhdw]$"
"""A duration as people write it, such as 90s or 2w; the configuration's JSON Schema has it, too."""

DURATION_EXAMPLES = "30d, 24h, 10m or 90s"
"""For error texts."""

_UNITS_S = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}


def read_duration_s(text: str) -> float | None:
    """A duration in seconds; None where the text is no duration above 0."""
    if not re.fullmatch(DURATION_PATTERN, text):
        return None
    return float(text[:-1]) * _UNITS_S[text[-1]] or None


_HOST_PORT = re.compile(r"(?P<host>\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+):(?P<port>\d{1,5})")
_HOST_NAME = re.compile(r"[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*\.?")
_PATH = re.compile(r"(/[A-Za-z0-9._~-]+)+|/")
_IMPORT_PATH = re.compile(r".+:[A-Za-z_][\w.]*")
_AGENT_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")
_TOKEN = re.compile(r"[\x21-\x7e]+")
_EXTENSION_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[\x21-\x2b\x2d-\x7e]+")
_KEY_ID = re.compile(r"[\x21-\x7e]{1,128}")
_LARGEST_WHOLE = 2**53 - 1
"""Some readers round a JSON number beyond this. Source: RFC 8259 §6."""
_RESERVED_TREES = ("/.well-known", "/health", "/healthz", "/livez", "/readyz")
RESERVED_PATHS = ("/agents", "/health", "/healthz", "/livez", "/readyz")
"""Paths that the edge answers itself, besides the cards."""


def _host_port(value: str) -> str:
    found = _HOST_PORT.fullmatch(value)
    if found is None or int(found["port"]) > 65535:
        raise Wrong("must be HOST:PORT, such as 127.0.0.1:8000 or [::1]:8000")
    return value


def _host_name(value: str) -> str:
    if not _HOST_NAME.fullmatch(value):
        raise Wrong("must be a host's name without scheme and port, such as edge or agents.example.com")
    return value


def _rpc_path(value: str) -> str:
    path = value if value == "/" else value.rstrip("/")
    if not _PATH.fullmatch(path):
        raise Wrong("must be a plain URL path that starts with a slash, such as /a2a")
    if any(path == tree or path.startswith(f"{tree}/") for tree in _RESERVED_TREES):
        raise Wrong(f"must not lie under {' or '.join(_RESERVED_TREES)}, which the edge uses itself")
    return path


def _public_url(value: str) -> str:
    try:
        url = urlsplit(value)
        fits = url.scheme in ("http", "https") and url.hostname and url.port != 0
    except ValueError:
        fits = False
    if not fits or url.username or url.query or url.fragment:
        raise Wrong(
            "must be the address callers use, such as https://agents.example.com, without user, query or fragment"
        )
    return value.rstrip("/")


def _session_template(value: str) -> str:
    if not value or set("{}") & set(value.replace("{context_id}", "")):
        raise Wrong("must be text in which {context_id} may stand, and no other braces")
    return value


def _one_or_many_tokens(value: object) -> object:
    """A single token belongs to the default principal."""
    return {DEFAULT_PRINCIPAL: value} if isinstance(value, str | SecretStr) else value


def _usable_tokens(tokens: dict[str, SecretStr]) -> dict[str, SecretStr]:
    secrets = [token.get_secret_value() for token in tokens.values()]
    if not all(_TOKEN.fullmatch(secret) for secret in secrets):
        raise Wrong("must be a token of visible ASCII characters without spaces; an empty one would lock nothing")
    if len(set(secrets)) != len(secrets):
        raise Wrong("gives the same token to two principals; each needs its own")
    return tokens


def is_import_path(value: str) -> bool:
    """Whether a target reads `package.module:name` or `./file.py:name`."""
    return _IMPORT_PATH.fullmatch(value) is not None


TAKEN_NAMES = frozenset({"tasks", "v1"})
"""These cannot be an agent's name or a tenant: paths of the default agent's HTTP+JSON begin with them."""


def _agent_name(value: str) -> str:
    if not _AGENT_NAME.fullmatch(value):
        raise Wrong("must be a name of lower-case letters, digits, - and _, as it becomes part of a URL")
    if value in TAKEN_NAMES:
        raise Wrong(f"must not be {value}, which begins paths of HTTP+JSON")
    return value


def _tenant(value: str) -> str:
    if value in TAKEN_NAMES:
        raise Wrong(f"must not be {value}, which begins paths of HTTP+JSON")
    return value


def _mode(value: str) -> str:
    mode = value.strip().lower()
    family, _, subtype = mode.partition("/")
    example = f"{family}/x" if subtype == "*" else mode
    if mode != "*/*" and essence(example) != example:
        raise Wrong("must be a media type without parameters, such as image/png, or image/* or */*")
    return mode


def _extension_uri(value: str) -> str:
    if not _EXTENSION_URI.fullmatch(value):
        raise Wrong("must be a URI without commas, as headers list such URIs by commas: https://... or urn:...")
    return value


def _not_blank(value: str) -> str:
    if not value.strip():
        raise Wrong("must not be empty: agent cards have to say it, or leave the setting out")
    return value


def _duration(value: str) -> str:
    if read_duration_s(value) is None:
        raise Wrong(f"must be a number above 0 followed by a unit, such as {DURATION_EXAMPLES}")
    return value


def _key_id(value: str) -> str:
    if not _KEY_ID.fullmatch(value):
        raise Wrong("must be an id of 1 to 128 visible ASCII characters")
    return value


def _json_object(value: dict[str, Any]) -> dict[str, Any]:
    if not _is_portable(value):
        raise Wrong(
            "must be values that JSON can carry to any reader: no dates, no infinities, and whole numbers below 2^53"
        )
    return value


def _is_portable(value: object) -> bool:
    match value:
        case dict():
            return all(isinstance(key, str) and _is_portable(one) for key, one in value.items())
        case list():
            return all(_is_portable(one) for one in value)
        case float():
            return isfinite(value)
        case int():
            return abs(value) <= _LARGEST_WHOLE
        case _:
            return value is None or isinstance(value, str)


HEADER_PATTERN = r"[a-z0-9!#$%&'+.^_`|~-]+"
"""A header's name in lower case, without `*`, which would be taken for a pattern.
Source: RFC 9110 §5.1 (field names are case-insensitive), §5.6.2 (token)."""


def _caller_header(name: str) -> str:
    """A header's name, in lower case."""
    if not re.fullmatch(HEADER_PATTERN, name.lower()):
        raise Wrong("must be the whole name of a header, such as x-user-id")
    return name.lower()


def _proxies(value: object) -> object:
    """A yes is one proxy."""
    word = value.lower() if isinstance(value, str) else value
    known = {"true": 1, True: 1, "false": 0, False: 0}
    return known.get(word, value) if isinstance(word, str | bool) else value


Proxies = Annotated[
    int,
    BeforeValidator(_proxies),
    Field(ge=0, le=10),
    WithJsonSchema({"anyOf": [{"type": "boolean"}, {"type": "integer", "minimum": 0, "maximum": 10}]}),
]
_ORIGIN = re.compile(r"https?://(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?", re.ASCII | re.IGNORECASE)


def _origin(value: str) -> str:
    """Source: RFC 6454 §6.2 (as browsers write it: lower case, no slash at the end)."""
    if not _ORIGIN.fullmatch(value):
        raise Wrong("must be an origin, such as https://host.example or http://localhost:3000")
    return value.lower()


_CLASS_PATH = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*:[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")


def _class_path(value: str) -> str:
    if not _CLASS_PATH.fullmatch(value):
        raise Wrong("must be a class, as package.module:Class")
    return value


ClassPath = Annotated[str, AfterValidator(_class_path)]
Origin = Annotated[str, AfterValidator(_origin)]
HostPort = Annotated[str, AfterValidator(_host_port)]
CallerHeader = Annotated[str, AfterValidator(_caller_header)]
HostName = Annotated[str, AfterValidator(_host_name)]
RpcPath = Annotated[str, AfterValidator(_rpc_path)]
PublicUrl = Annotated[str, AfterValidator(_public_url)]
AgentName = Annotated[str, AfterValidator(_agent_name)]
Tenant = Annotated[str, Field(min_length=1), AfterValidator(_tenant)]
Tokens = Annotated[
    dict[str, SecretStr],
    NoDecode,  # a token that happens to be JSON, such as 12345, is still a token
    BeforeValidator(_one_or_many_tokens, json_schema_input_type=SecretStr | dict[str, SecretStr]),
    AfterValidator(_usable_tokens),
]
CardText = Annotated[str, AfterValidator(_not_blank), WithJsonSchema({"type": "string", "pattern": r"\S"})]
"""What a card says. Source: a2a.proto (an empty field is an absent one, and most of these are REQUIRED)."""
Mode = Annotated[str, AfterValidator(_mode)]
SessionTemplate = Annotated[str, AfterValidator(_session_template)]
Seconds = Annotated[float, Field(gt=0, le=86_400, allow_inf_nan=False)]
Duration = Annotated[str, AfterValidator(_duration), WithJsonSchema({"type": "string", "pattern": DURATION_PATTERN})]
ExtensionUri = Annotated[str, AfterValidator(_extension_uri)]
KeyId = Annotated[str, AfterValidator(_key_id)]
JsonObject = Annotated[dict[str, Any], AfterValidator(_json_object)]
