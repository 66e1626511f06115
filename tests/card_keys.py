"""Keys for tests that sign cards, new in each session."""

from functools import cache
from typing import Any

from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from llamon_agent.domain.profile import SigningAlgorithm
from llamon_agent.wire.cards.signing import SigningKey, read_key

_CURVES: dict[str, ec.EllipticCurve] = {"ES256": ec.SECP256R1(), "ES384": ec.SECP384R1(), "ES512": ec.SECP521R1()}


def private(alg: str, number: int = 0) -> Any:
    """A private key for an algorithm; another one for each number."""
    return _private(alg, number)


@cache
def _private(alg: str, number: int) -> Any:
    if alg in _CURVES:
        return ec.generate_private_key(_CURVES[alg])
    if alg == "EdDSA":
        return ed25519.Ed25519PrivateKey.generate()
    return rsa.generate_private_key(65537, 1024 if alg == "short" else 2048)


def pem(key: Any) -> str:
    encoded: bytes = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return encoded.decode()


def public_pem(key: Any) -> str:
    encoded: bytes = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    return encoded.decode()


def key_of(kid: str = "main", alg: SigningAlgorithm = "ES256", number: int = 0) -> SigningKey:
    family = alg if alg in _CURVES or alg == "EdDSA" else "RSA"
    return read_key(kid, alg, pem(private(family, number)))
