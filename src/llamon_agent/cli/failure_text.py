"""How a call of an agent failed, in one sentence with a remedy and as an exit code.

No text of a library is shown. What the agent itself said about a refusal is.
"""

import socket
import ssl
from urllib.parse import urlsplit

import httpx2

from llamon_agent.cli.exits import Exit
from llamon_agent.client.errors import Busy, NotAllowed, Refused, RemoteError, TimedOut, Unreached

_HTTP_WORDS = {
    403: "does not allow this token to call",
    404: "has nothing at this path; give the agent's origin, or the URL that takes its calls",
    405: "takes no calls at this path; give the agent's origin, or the URL that takes its calls",
    413: "finds the message too large",
    429: "has too much to do; try again later",
    503: "is not available now; try again later",
}


def failure_text(error: RemoteError) -> str:
    """The sentence for an error."""
    match error:
        case Refused() | Busy():
            code = "" if error.code is None else f" (error {error.code})"
            return f"The agent refused the call: {error.said}{code}"
        case RemoteError(__cause__=httpx2.HTTPStatusError() as cause):
            return _refusal(cause.response)
        case RemoteError(__cause__=httpx2.RequestError() as cause):
            return _broken(cause, str(cause.request.url))
    return error.detail or error.public


def exit_of_failure(error: RemoteError) -> Exit:
    """The exit code for an error: whether an A2A agent has answered at all."""
    if isinstance(error, Refused | Busy):
        return Exit.PROTOCOL
    by_http = isinstance(error.__cause__, httpx2.HTTPError)
    return Exit.UNREACHED if by_http or isinstance(error, Unreached | TimedOut | NotAllowed) else Exit.PROTOCOL


def _refusal(response: httpx2.Response) -> str:
    """The sentence for a response that is no success."""
    status, url = response.status_code, response.request.url
    if status == 401:
        had_one = "Authorization" in response.request.headers
        says = "does not accept this token; check" if had_one else "wants a token; give"
        return f"{url} {says} --token or LLAMON_TOKEN (HTTP 401)."
    if response.has_redirect_location:
        return f"{url} sends its callers on to {response.headers['Location']}; give that address (HTTP {status})."
    return f"{url} {_HTTP_WORDS.get(status, 'refuses the request')} (HTTP {status})."


def _broken(error: BaseException, url: str) -> str:
    """The sentence for a request that got no response, or no whole one, by what caused it."""
    causes = _causes(error)
    where = urlsplit(url)
    origin = f"{where.scheme}://{where.netloc}"
    if any(isinstance(cause, socket.gaierror) for cause in causes):
        return f"There is no host called {where.hostname}; check the URL."
    if any(isinstance(cause, ssl.SSLCertVerificationError) for cause in causes):
        return f"The TLS certificate of {origin} is not trusted here; check the host name, or install its authority."
    if any(isinstance(cause, ssl.SSLError) for cause in causes):
        return f"{origin} does not speak TLS; try http:// instead of https://."
    if any(isinstance(cause, ConnectionRefusedError) for cause in causes):
        return f"Nothing listens at {origin}; is the agent running? Start one with `llamon serve`."
    if isinstance(error, httpx2.TimeoutException | httpx2.ConnectError):
        return f"{origin} cannot be reached; check the URL and the network."
    return f"{origin} closed the connection before its answer was complete; what runs there goes on."


def _causes(error: BaseException) -> list[BaseException]:
    causes = [error]
    while (cause := causes[-1].__cause__ or causes[-1].__context__) is not None:
        causes.append(cause)
    return causes
