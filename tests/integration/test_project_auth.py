"""The authentication of a langgraph.json guards every binding of the edge, and its identity is the caller."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.conformance.sites import BINDINGS, Answer, Host, JsonRpc, Rest, Site, message, site_of

from llamon_agent.config.load import load_config
from llamon_agent.domain.errors import ConfigError

GRAPH = """
from langchain_core.messages import AIMessage
from langgraph.graph import START, MessagesState, StateGraph

builder = StateGraph(MessagesState)
builder.add_node("node", lambda state: {"messages": [AIMessage(f"message {len(state['messages'])}")]})
builder.add_edge(START, "node")
graph = builder.compile()
"""

AUTH = """
from langgraph_sdk import Auth

auth = Auth()
USERS = {"Bearer of-ann": "ann", "Bearer of-bob": "bob", "Bearer of-host": "host"}


@auth.authenticate
async def who(authorization: str | None, headers: dict) -> dict:
    if headers.get(b"x-broken"):
        raise RuntimeError("canary")
    if headers.get("x-banned"):
        raise Auth.exceptions.HTTPException(status_code=403, detail="canary")
    if authorization not in USERS:
        raise Auth.exceptions.HTTPException(status_code=401, detail="canary")
    return {"identity": USERS[authorization], "permissions": ["read"]}
"""


def project(folder: Path, auth: str = AUTH, **a2a: Any) -> Any:
    """A project's configuration; its modules have names of their own, as one process has each name once."""
    name = f"auth_{abs(hash(str(folder)))}"
    (folder / f"{name}.py").write_text(auth)
    (folder / f"graph_{name}.py").write_text(GRAPH)
    file = folder / "langgraph.json"
    graphs = {"agent": f"./graph_{name}.py:graph"}
    file.write_text(json.dumps({"dependencies": ["."], "graphs": graphs, "auth": {"path": f"./{name}.py:auth"}}))
    return load_config(None, {"a2a": {"target": str(file), **a2a}, "data": {"ephemeral": True}})


async def send(binding: type[Host], at: Site, headers: Mapping[str, str], **more: Any) -> Answer:
    return await binding(at, headers=headers).call("SendMessage", **message("", **more))


async def refusal(binding: type[Host], at: Site, headers: Mapping[str, str]) -> int | str:
    """The status of a refusal: HTTP's, or the name of gRPC's. None of them has a word of the project's."""
    host = binding(at, headers=headers)
    if isinstance(host, JsonRpc | Rest):
        response = await at.http.send(host.request("SendMessage", message("")))
        assert "canary" not in response.text
        return response.status_code
    answer = await host.call("SendMessage", **message(""))
    assert "canary" not in answer.message
    return answer.status


@pytest.mark.parametrize("binding", BINDINGS)
async def test_a_caller_is_whom_the_project_says(tmp_path: Path, binding: type[Host]) -> None:
    async with site_of(project(tmp_path)) as at:
        for name in ("ann", "bob"):
            answer = await send(binding, at, {"authorization": f"Bearer of-{name}"}, contextId="one")
            assert answer.value["task"]["status"]["state"] == "TASK_STATE_COMPLETED", answer
            text = answer.value["task"]["artifacts"][0]["parts"][0]["text"]
            assert text == "message 1"  # each has a conversation of its own under this name
        listed = await binding(at, headers={"authorization": "Bearer of-ann"}).call("ListTasks")
        assert len(listed.value["tasks"]) == 1


@pytest.mark.parametrize("binding", BINDINGS)
@pytest.mark.parametrize(
    ("headers", "http", "grpc"),
    [
        ({}, 401, "UNAUTHENTICATED"),
        ({"authorization": "Bearer of-eve"}, 401, "UNAUTHENTICATED"),
        ({"authorization": "Bearer of-ann", "x-banned": "1"}, 403, "PERMISSION_DENIED"),
        ({"authorization": "Bearer of-ann", "x-broken": "1"}, 403, "PERMISSION_DENIED"),
    ],
)
async def test_any_other_call_is_refused_in_our_words(
    tmp_path: Path, binding: type[Host], headers: Mapping[str, str], http: int, grpc: str
) -> None:
    async with site_of(project(tmp_path)) as at:
        assert await refusal(binding, at, headers) in (http, grpc)


async def test_the_card_asks_for_the_header_that_the_project_reads(tmp_path: Path) -> None:
    async with site_of(project(tmp_path)) as at:
        card = (await at.http.get("/.well-known/agent-card.json")).json()
        assert card["securityRequirements"] == [{"schemes": {"bearer": {}}}]


@pytest.mark.parametrize("binding", BINDINGS)
async def test_a_token_of_the_edge_comes_first(tmp_path: Path, binding: type[Host]) -> None:
    async with site_of(project(tmp_path, bearer_token={"host": "s3cret"})) as at:
        for accepted in ("s3cret", "of-ann"):
            answer = await send(binding, at, {"authorization": f"Bearer {accepted}"})
            assert "task" in (answer.value or {}), answer
        assert await refusal(binding, at, {"authorization": "Bearer of-host"}) in (401, "UNAUTHENTICATED")
        assert await refusal(binding, at, {}) in (401, "UNAUTHENTICATED")


async def test_an_authentication_that_is_ignored_guards_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with site_of(project(tmp_path, project_auth="ignore", listen="0.0.0.0:0")) as at:
        answer = await send(BINDINGS[0], at, {})
        assert "task" in answer.value
    assert "its auth is ignored" in caplog.text


@pytest.mark.parametrize(
    "reach", [{"listen": "0.0.0.0:0"}, {"public_url": "https://agents.example"}, {"trust_proxy": True}]
)
async def test_one_that_cannot_be_run_keeps_the_edge_from_being_open(tmp_path: Path, reach: Any) -> None:
    config = project(tmp_path, "auth = None", **reach)
    with pytest.raises(ConfigError, match=r"set a2a\.bearer_token, or set a2a\.project_auth to ignore"):
        async with site_of(config):
            pass


@pytest.mark.parametrize(
    ("a2a", "headers", "consequence"),
    [
        ({}, {}, "anyone who reaches the edge may call"),
        ({"listen": "0.0.0.0:0", "bearer_token": "s3cret"}, {"authorization": "Bearer s3cret"}, "guards the edge"),
    ],
)
async def test_it_is_a_warning_where_no_other_can_call(
    tmp_path: Path, a2a: Any, headers: Mapping[str, str], consequence: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with site_of(project(tmp_path, "auth = None", **a2a)) as at:
        assert "task" in (await send(BINDINGS[0], at, headers)).value
    (line,) = [line for line in caplog.messages if "its auth cannot be run" in line]
    assert consequence in line
