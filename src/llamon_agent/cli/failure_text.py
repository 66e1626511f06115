"""Why no answer came, in one sentence with a remedy: from a response that refuses, or from an error in the exchange."""

import socket
import ssl
from urllib.parse import urlsplit

import httpx2

_HTTP_WORDS = {
    403: "does not allow this token to call",
    404: "has nothing at this path; give the agent's origin, or the URL that takes its calls",
    405: "takes no calls at this path; give the agent's origin, or the URL that takes its calls",
    413: "finds the message too large",
    429: "has too much to do; try again later",
    503: "is not available now; try again later",
}


def refusal(response: httpx2.Response) -> str:
    """The sentence for a response that is no success."""
    status, url = response.status_code, response.request.url
    if status == 401:
        had_one = "Authorization" in response.request.headers
        says = "does not accept this token; check" if had_one else "wants a token; give"
        return f"{url} {says} --token or LLAMON_TOKEN (HTTP 401)."
    if response.has_redirect_location:
        return f"{url} sends its callers on to {response.headers['Location']}; give that address (HTTP {status})."
    return f"{url} {_HTTP_WORDS.get(status, 'refuses the request')} (HTTP {status})."


def failure(error: BaseException, url: str) -> str:
    """The sentence for a request that got no response, or no whole one; told by what caused it."""
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
