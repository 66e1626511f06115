"""The web, for tools of foreign graphs that search and read pages: names that lead to the stub, with certificates.

Only for a process in namespaces of its own (`unshare --net --mount`): it listens at the ports 443 and 80, and
/etc/hosts is replaced there.
"""

import datetime
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from tests.model_server import ModelServer, listening

NAMES = (
    "api.anthropic.com",
    "api.deepseek.com",
    "api.duckduckgo.com",
    "api.exa.ai",
    "api.fireworks.ai",
    "api.groq.com",
    "api.mistral.ai",
    "api.moonshot.cn",
    "api.openai.com",
    "api.perplexity.ai",
    "api.siliconflow.cn",
    "api.tavily.com",
    "api.together.xyz",
    "api.x.ai",
    "ark.cn-beijing.volces.com",
    "dashscope.aliyuncs.com",
    "dashscope-intl.aliyuncs.com",
    "duckduckgo.com",
    "en.wikipedia.org",
    "example.com",
    "generativelanguage.googleapis.com",
    "google.serper.dev",
    "html.duckduckgo.com",
    "integrate.api.nvidia.com",
    "langchain-ai.github.io",
    "lite.duckduckgo.com",
    "open.bigmodel.cn",
    "openrouter.ai",
    "www.example.com",
)


def hosts(folder: Path) -> Path:
    """A file to be put in place of /etc/hosts."""
    file = folder / "hosts"
    file.write_text(f"127.0.0.1 localhost {' '.join(NAMES)}\n")
    return file


def alone(folder: Path, *command: str) -> tuple[str, ...]:
    """A command with nothing but loopback around it, where the names lead, too; what it starts ends with it."""
    script = 'ip link set lo up && mount --bind "$1" /etc/hosts && shift && exec "$@"'
    around = ("unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", script, "sh")
    return (*around, str(hosts(folder)), *command)


@asynccontextmanager
async def serving(model: ModelServer, folder: Path) -> AsyncIterator[dict[str, str]]:
    """The stub at the ports 443 and 80, until the context ends; the variables that make clients trust it."""
    certificate, key = _certificate(folder)
    with socket.create_server(("127.0.0.1", 443)) as secret, socket.create_server(("127.0.0.1", 80)) as plain:
        async with (
            listening(model, secret, ssl_certfile=certificate, ssl_keyfile=key),
            listening(model, plain),
        ):
            yield dict.fromkeys(("CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "SSL_CERT_FILE"), str(certificate))


def _certificate(folder: Path) -> tuple[Path, Path]:
    """One for all names, signed by itself, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "stub")])
    now = datetime.datetime.now(datetime.UTC)
    built = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=2))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(each) for each in NAMES]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    certificate, secret = folder / "stub.pem", folder / "stub.key"
    certificate.write_bytes(built.public_bytes(serialization.Encoding.PEM))
    plain = serialization.NoEncryption()
    form = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8)
    secret.write_bytes(key.private_bytes(*form, plain))
    return certificate, secret
