"""The keys for signing cards, read and checked.

The code that signs is loaded only where cards are signed: it is heavy, and most edges sign nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from llamon_agent.config.card import SigningKeyConfig
from llamon_agent.config.edge import A2aConfig
from llamon_agent.config.problems import Problem
from llamon_agent.domain.errors import ConfigError
from llamon_agent.private_files import warn_of_open_secret

if TYPE_CHECKING:
    from llamon_agent.wire.cards.signing import Signer, SigningKey


def open_signer(a2a: A2aConfig) -> Signer | None:
    """The signer of the cards, None if they are not signed. Raises: ConfigError: a key has changed and is not valid."""
    if a2a.signing is None:
        return None
    from llamon_agent.wire.cards.signing import Signer

    problems = list(signing_problems(a2a))
    if problems:
        raise ConfigError("\n".join(f"{'.'.join(map(str, path))} {text}" for path, text in problems))
    for key in a2a.signing.keys.values():
        if key.file is not None:
            warn_of_open_secret(key.file, "the signing key")
    return Signer([_read(kid, key) for kid, key in a2a.signing.keys.items()])


def signing_problems(a2a: A2aConfig) -> Iterator[Problem]:
    """The problems of the keys, and of signing itself."""
    if a2a.signing is None:
        return
    from llamon_agent.wire.cards.signing import BadKey

    if a2a.public_url is None:
        yield Problem(
            ("a2a", "signing"),
            "needs a2a.public_url: without it a card names the host it was asked at, and that would be signed, too",
        )
    for kid, key in a2a.signing.keys.items():
        path = ("a2a", "signing", "keys", kid)
        if (key.file is None) == (key.key is None):
            yield Problem(path, "needs a file or a key, and not both")
            continue
        place = (*path, "key" if key.file is None else "file")
        try:
            _read(kid, key)
        except OSError:
            yield Problem(place, "names a file that cannot be read")
        except UnicodeDecodeError:
            yield Problem(place, "names a file that is not text; a key is PEM or a JWK")
        except BadKey as exc:
            yield Problem(place, exc.public)


def _read(kid: str, key: SigningKeyConfig) -> SigningKey:
    """Raises: BadKey, OSError, UnicodeDecodeError."""
    from llamon_agent.wire.cards.signing import read_key

    text = key.key.get_secret_value() if key.key is not None else ""
    return read_key(kid, key.alg, key.file.read_text("utf-8") if key.file is not None else text)
