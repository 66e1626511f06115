"""A project's own authentication: what it is given, whom it returns, and how it refuses."""

import asyncio
import logging
from pathlib import Path
from typing import Any

import pytest
from langgraph_sdk import Auth
from starlette.requests import Request

from llamon_agent.adapters.langgraph.auth import ProjectAuth, caller_of, load_auth
from llamon_agent.domain.caller import Caller
from llamon_agent.domain.errors import ConfigError, PermissionDenied, Unauthenticated

SCOPE: Any = {
    "type": "http",
    "method": "POST",
    "path": "/a2a",
    "query_string": b"a=1&b=",
    "path_params": {"place": 1},
    "headers": [(b"x-key", b"k")],
}
HEADERS = {b"x-key": b"k", b"authorization": b"Bearer t"}


class User:
    """As projects write it: properties, and methods that are no fields."""

    is_authenticated = True
    display_name = "Eve"

    @property
    def identity(self) -> str:
        return "eve"

    @property
    def permissions(self) -> list[str]:
        return ["read", "write"]

    def refresh(self) -> None: ...


async def test_a_handler_gets_what_it_names() -> None:
    seen: dict[str, Any] = {}

    async def handler(
        request: Request,
        path: str,
        method: str,
        path_params: Any,
        query_params: Any,
        headers: Any,
        authorization: str | None,
        extra: int = 7,
    ) -> str:
        seen.update({name: value for name, value in locals().items() if name not in ("seen", "request", "headers")})
        assert request.headers["x-key"] == "k"
        assert headers[b"x-key"] == b"k"
        assert headers["x-key"] == "k"
        return "eve"

    auth = ProjectAuth(handler)
    assert auth.reads_bearer
    assert await auth.authenticate(SCOPE, HEADERS) == Caller(principal="eve", is_authenticated=True)
    assert seen == {
        "path": "/a2a",
        "method": "POST",
        "path_params": {"place": "1"},
        "query_params": {"a": "1", "b": ""},
        "authorization": "Bearer t",
        "extra": 7,
    }


async def test_a_plain_function_may_say_it_too() -> None:
    assert await ProjectAuth(lambda headers: headers["x-key"]).authenticate(SCOPE, HEADERS) == Caller(
        principal="k", is_authenticated=True
    )
    assert not ProjectAuth(lambda headers: headers["x-key"]).reads_bearer


@pytest.mark.parametrize(
    ("user", "principal", "scopes"),
    [
        ("eve", "eve", ()),
        ({"identity": "eve", "permissions": ["read"], "org": 1}, "eve", ("read",)),
        ({"identity": "eve", "permissions": "read", "is_authenticated": True}, "eve", ("read",)),
        ({"identity": "eve", "permissions": None}, "eve", ()),
        (User(), "eve", ("read", "write")),
    ],
)
def test_an_identity_in_any_form_is_a_caller(user: Any, principal: str, scopes: tuple[str, ...]) -> None:
    caller = caller_of(user)
    assert caller is not None
    assert (caller.principal, caller.scopes) == (principal, scopes)


def test_other_fields_are_claims() -> None:
    caller = caller_of({"identity": "eve", "github_token": "g"})
    assert caller is not None
    assert dict(caller.claims) == {"identity": "eve", "github_token": "g"}
    of_object = caller_of(User())
    assert of_object is not None
    assert set(of_object.claims) == {"identity", "permissions", "is_authenticated", "display_name"}


@pytest.mark.parametrize(
    "user", [None, "", {}, {"identity": ""}, {"identity": 7}, {"identity": "eve", "is_authenticated": False}, object()]
)
async def test_no_identity_is_no_caller(user: Any) -> None:
    with pytest.raises(Unauthenticated):
        await ProjectAuth(lambda: user).authenticate(SCOPE, {})


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (Auth.exceptions.HTTPException(), Unauthenticated),
        (Auth.exceptions.HTTPException(status_code=401, detail="canary"), Unauthenticated),
        (Auth.exceptions.HTTPException(status_code=403, detail="canary"), PermissionDenied),
        (Auth.exceptions.HTTPException(status_code=404, detail="canary"), PermissionDenied),
        (AssertionError("canary"), Unauthenticated),
        (KeyError("canary"), PermissionDenied),
    ],
)
async def test_a_refusal_has_our_words(error: Exception, kind: type[PermissionDenied]) -> None:
    async def handler() -> str:
        raise error

    with pytest.raises(kind) as refused:
        await ProjectAuth(handler).authenticate(SCOPE, HEADERS)
    assert "canary" not in refused.value.public
    assert "The agent's own authentication" in refused.value.public


async def test_one_that_hangs_refuses() -> None:
    with pytest.raises(PermissionDenied):
        await ProjectAuth(asyncio.Event().wait, within_s=0.01).authenticate(SCOPE, {})


HANDLER = "from langgraph_sdk import Auth\nauth = Auth()\n"


@pytest.mark.parametrize(
    ("code", "problem"),
    [
        ("auth = 1", "is no Auth of langgraph_sdk"),
        (HANDLER, "has no @auth.authenticate"),
        (HANDLER + "@auth.authenticate\nasync def who(body, authorization): ...", "needs body"),
        ("import no_such_module_here", "no_such_module_here"),
    ],
)
def test_what_cannot_be_run_is_an_error_that_says_so(tmp_path: Path, code: str, problem: str) -> None:
    file = tmp_path / f"auth_{abs(hash(code))}.py"
    file.write_text(code)
    with pytest.raises(ConfigError, match=problem):
        load_auth(f"{file}:auth")


async def test_handlers_of_langgraphs_api_are_named_as_not_run(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    file = tmp_path / "auth_with_rules.py"
    rules = (
        "@auth.on.threads.create\nasync def own(ctx, value): ...\n@auth.authenticate\nasync def who(): return 'eve'\n"
    )
    file.write_text(HANDLER + rules)
    assert await load_auth(f"{file}:auth").authenticate(SCOPE, {}) == Caller(principal="eve", is_authenticated=True)
    assert "@auth.on handlers are not run" in caplog.text
