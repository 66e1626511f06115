"""An edge that wants a token, and an agent that may answer without a task."""

import pytest
from tests.e2e.clients.catalogue import CLIENTS, Client, that_can
from tests.e2e.clients.conftest import Connections
from tests.e2e.clients.running import Refused, Remote, unique
from tests.e2e.clients.shapes import Message, answer_of, text_of
from tests.e2e.conftest import Edge


@pytest.mark.parametrize("client", CLIENTS, ids=str)
def test_without_the_token_no_call_is_answered(client: Client, connections: Connections, guarded_edge: Edge) -> None:
    for token in ("", "wrong"):
        stranger = connections.to(client, guarded_edge.url, token)
        with pytest.raises(Refused, match=r"401|UNAUTHENTICATED|bearer token"):
            stranger.send("hello")
        with pytest.raises(Refused):
            list(stranger.stream("hello"))


def test_with_the_token_calls_and_streams_are_answered(guarded: Remote) -> None:
    task = guarded.task("hello")
    assert guarded.get(task.id) == task
    assert len(list(guarded.stream("hello"))) > 2


def test_an_agent_that_may_answers_with_a_message(guarded: Remote) -> None:
    context = unique("c")
    answer = guarded.send("reply at once", context=context)
    assert isinstance(answer, Message)
    assert (answer.role, answer.context, answer.task) == ("agent", context, "")
    assert text_of(answer.parts) == "Directly: at once"


def test_a_message_is_the_whole_stream(guarded: Remote) -> None:
    [answer] = guarded.stream("reply at once")
    assert isinstance(answer, Message)
    assert text_of(answer.parts) == "Directly: at once"


def test_where_it_may_not_the_reply_is_a_tasks_answer(remote: Remote) -> None:
    task = remote.task("reply at once")
    assert (task.state, answer_of(task)) == ("completed", "Directly: at once")


@pytest.mark.parametrize("guarded", that_can("extended_card"), indirect=True, ids=str)
def test_the_extended_card_tells_more(guarded: Remote) -> None:
    if "extended card" in guarded.client.bugs:
        with pytest.raises(Refused, match="Unsupported security scheme type"):
            guarded.extended_card()
        return
    card = guarded.extended_card()
    assert card["name"] == "Everything"
    assert "insiders" in [skill["id"] for skill in card["skills"]]
