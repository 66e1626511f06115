import pytest

from llamon_agent.domain.caller import Caller
from llamon_agent.domain.errors import BadParams, ContentTypeNotSupported
from llamon_agent.domain.message import MAX_CONTEXT_ID_CHARS, Data, Message, Metadata, Part, Role, Text, Url
from llamon_agent.inbound.a2a.executor import _merge_metadata, check_tenant, run_request
from llamon_agent.inbound.a2a.media_types import Modes
from llamon_agent.runs.ports.run import RunRequest
from llamon_agent.wire.operations import SendMessage

HISTORY = [
    {"role": "user", "parts": [{"kind": "text", "text": "hi"}]},
    {"role": "agent", "parts": [{"text": "hello"}], "messageId": "h-2"},
]


def message(
    *parts: Part, metadata: Metadata | None = None, context_id: str | None = None, task_id: str | None = None
) -> Message:
    return Message(
        message_id="m-1",
        role=Role.USER,
        parts=parts or (Text.of("Hello"),),
        metadata=metadata,
        context_id=context_id,
        task_id=task_id,
    )


def request(
    sent: Message, metadata: Metadata | None = None, *, blocking: bool = True, modes: Modes = Modes(takes=("*/*",))
) -> RunRequest:
    call = SendMessage(message=sent, metadata=metadata, blocking=blocking)
    return run_request(call, caller=Caller(principal="ann"), agent="echo", modes=modes)


def test_a_message_becomes_a_run_request() -> None:
    sent = message(context_id="c-1", task_id="t-1")
    assert request(sent) == RunRequest(
        caller=Caller(principal="ann"),
        agent="echo",
        message=sent,
        prompt="Hello",
        task_id="t-1",
        context_id="c-1",
        metadata={"source": "a2a", "blocking": True},
    )


@pytest.mark.parametrize(
    ("in_message", "in_params", "merged"),
    [
        (None, None, {}),
        ({"a": 1}, None, {"a": 1}),
        (None, {"a": 1}, {"a": 1}),
        ({"a": 1, "b": 1}, {"a": 2, "c": 2}, {"a": 1, "b": 1, "c": 2}),
    ],
)
def test_the_message_wins_over_the_params(
    in_message: Metadata | None, in_params: Metadata | None, merged: Metadata
) -> None:
    assert _merge_metadata(in_message, in_params) == merged


@pytest.mark.parametrize("in_message", [True, False])
def test_history_is_read_from_both_places(in_message: bool) -> None:
    metadata = {"history": HISTORY, "tenant": "x"}
    run = request(message(metadata=metadata)) if in_message else request(message(), metadata)
    assert [(turn.role, turn.parts) for turn in run.prefill] == [
        (Role.USER, (Text.of("hi"),)),
        (Role.AGENT, (Text.of("hello"),)),
    ]
    assert run.history_received == 2
    assert run.metadata == {"tenant": "x", "source": "a2a", "blocking": True}


def test_history_in_the_message_hides_the_one_in_the_params() -> None:
    run = request(message(metadata={"history": HISTORY[1:]}), {"history": HISTORY})
    assert run.history_received == 1


def test_the_stored_message_does_not_repeat_the_history() -> None:
    metadata = {"history": HISTORY, "tenant": "x"}
    assert request(message(metadata=metadata)).message.metadata == {"tenant": "x"}
    assert request(message(metadata={"history": HISTORY})).message.metadata is None
    assert metadata["history"] is HISTORY


def test_the_current_message_at_the_end_of_the_history_is_dropped() -> None:
    current = {"role": "user", "parts": [{"text": "Hello"}], "messageId": "m-1"}
    run = request(message(metadata={"history": [*HISTORY, current]}))
    assert [turn.message_id for turn in run.prefill] == ["", "h-2"]
    assert run.history_received == 3


@pytest.mark.parametrize("history", [None, "x", 7, {}, [None]])
def test_a_history_that_is_none_does_not_cost_the_answer(history: object) -> None:
    assert request(message(metadata={"history": history})).prefill == ()


def test_our_own_metadata_is_not_for_hosts_to_set() -> None:
    run = request(message(metadata={"source": "evil", "blocking": "maybe"}), blocking=False)
    assert run.metadata == {"source": "a2a", "blocking": False}


def test_text_parts_are_joined_by_newlines_and_other_parts_passed_over() -> None:
    assert request(message(Text.of("a"), Data(data={"x": 1}), Text.of("b"))).prompt == "a\nb"


@pytest.mark.parametrize("part", [Data(data=None), Url(url="https://example.com/a.png")])
def test_a_message_may_be_without_text(part: Part) -> None:
    assert request(message(part)).prompt == ""


def test_a_message_that_says_nothing_is_refused() -> None:
    with pytest.raises(BadParams):
        request(message(Text.of(""), Text.of("")))


@pytest.mark.parametrize("context_id", ["", "x" * (MAX_CONTEXT_ID_CHARS + 1), "a\0b", "a\nb", "\x7f", "a\n"])
def test_a_context_id_that_cannot_be_kept_is_refused(context_id: str) -> None:
    with pytest.raises(BadParams) as caught:
        request(message(context_id=context_id))
    assert "contextId" in caught.value.public


@pytest.mark.parametrize("context_id", ["x" * MAX_CONTEXT_ID_CHARS, "대화 1", "a/../b", "principal:1:a:b", "😀"])
def test_any_other_context_id_is_kept_unchanged(context_id: str) -> None:
    assert request(message(context_id=context_id)).context_id == context_id


def test_a_file_that_the_agent_does_not_take_is_refused() -> None:
    with pytest.raises(ContentTypeNotSupported):
        request(message(Url(url="https://example.com/a.png", media_type="image/png")), modes=Modes())


def test_a_caller_that_can_read_no_answer_is_refused() -> None:
    call = SendMessage(message=message(), accepted_output_modes=("image/png",))
    with pytest.raises(ContentTypeNotSupported):
        run_request(call, caller=Caller(principal="ann"), agent="echo")


def test_text_and_data_that_the_agent_does_not_take_may_still_be_an_answer() -> None:
    sent = message(Text.of("see"), Data(data={"x": 1}))
    assert request(sent, modes=Modes(takes=("text/*",))).objection == (
        "message.parts[1] is application/json; this agent takes text/*."
    )
    assert request(sent).objection is None


@pytest.mark.parametrize(
    ("tenant", "known"),
    [(None, frozenset()), ("", frozenset()), ("acme", frozenset({"acme"})), ("acme", frozenset({"*"}))],
)
def test_a_tenant_that_is_known_passes(tenant: str | None, known: frozenset[str]) -> None:
    check_tenant(tenant, known)


@pytest.mark.parametrize(
    ("tenant", "known"),
    [
        ("acme", frozenset()),
        ("acme", frozenset({"globex"})),
        ("*", frozenset({"globex"})),
        ("x" * 513, frozenset({"*"})),
        ("a\nb", frozenset({"*"})),
    ],
)
def test_a_tenant_that_is_none_of_ours_is_refused(tenant: str, known: frozenset[str]) -> None:
    with pytest.raises(BadParams) as caught:
        check_tenant(tenant, known)
    assert caught.value.field == "tenant"
