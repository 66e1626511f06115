import socket
import ssl

import httpx2
import pytest

from llamon_agent.cli.exits import Exit
from llamon_agent.cli.failure_text import exit_of_failure, failure_text
from llamon_agent.client.errors import Busy, NotA2A, NotAllowed, Refused, RemoteError, TimedOut, Unreached

URL = "https://agents.example:8443/a2a?x=1"


REQUEST = httpx2.Request("POST", URL)


def failed(cause: BaseException, kind: type[RemoteError] = Unreached) -> RemoteError:
    error = kind()
    error.__cause__ = cause
    if isinstance(cause, httpx2.RequestError):
        cause.request = REQUEST
    return error


def caused_by(cause: BaseException) -> BaseException:
    error = httpx2.ConnectError("library text")
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
    told = failure_text(failed(error))
    assert told.startswith(sentence)
    assert "library text" not in told
    assert told.endswith((".", "`."))


def test_a_refusal_shows_the_status() -> None:
    response = httpx2.Response(418, request=REQUEST)
    error = failed(httpx2.HTTPStatusError("library text", request=REQUEST, response=response), NotA2A)
    assert exit_of_failure(error) is Exit.UNREACHED
    assert failure_text(error) == f"{URL} refuses the request (HTTP 418)."


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (Unreached(), Exit.UNREACHED),
        (TimedOut(), Exit.UNREACHED),
        (NotAllowed(), Exit.UNREACHED),
        (Refused(), Exit.PROTOCOL),
        (Busy(), Exit.PROTOCOL),
        (NotA2A(), Exit.PROTOCOL),
    ],
)
def test_an_error_comes_to_its_exit_code(error: RemoteError, code: Exit) -> None:
    assert exit_of_failure(error) is code


def test_a_refusal_of_the_agents_is_told_in_its_words() -> None:
    assert failure_text(Refused(said="no", code="TASK_X")) == "The agent refused the call: no (error TASK_X)"
    assert failure_text(Busy(said="later")) == "The agent refused the call: later"
    assert failure_text(NotA2A(detail="What x answers is not A2A")) == "What x answers is not A2A"
    assert failure_text(NotA2A()) == NotA2A.public
