import socket
import ssl

import httpx2
import pytest

from llamon_agent.cli.failure_text import failure, refusal

URL = "https://agents.example:8443/a2a?x=1"


def caused_by(cause: BaseException, outer: BaseException | None = None) -> BaseException:
    error = outer or httpx2.ConnectError("library text")
    error.__context__ = OSError("in between")
    error.__context__.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (caused_by(socket.gaierror(-2, "x")), "There is no host called agents.example;"),
        (caused_by(ssl.SSLCertVerificationError(1, "x")), "The TLS certificate of https://agents.example:8443 is not"),
        (caused_by(ssl.SSLError(1, "x")), "https://agents.example:8443 does not speak TLS;"),
        (caused_by(ConnectionRefusedError()), "Nothing listens at https://agents.example:8443;"),
        (httpx2.ConnectTimeout("library text"), "https://agents.example:8443 cannot be reached;"),
        (httpx2.ConnectError("library text"), "https://agents.example:8443 cannot be reached;"),
        (httpx2.RemoteProtocolError("library text"), "https://agents.example:8443 closed the connection before"),
    ],
)
def test_a_failure_is_told_by_its_cause_and_in_our_words(error: BaseException, sentence: str) -> None:
    told = failure(error, URL)
    assert told.startswith(sentence)
    assert "library text" not in told
    assert told.endswith((".", "`."))


def test_a_refusal_shows_the_status() -> None:
    response = httpx2.Response(418, request=httpx2.Request("POST", URL))
    assert refusal(response) == f"{URL} refuses the request (HTTP 418)."
