import pytest

from llamon_agent.domain.errors import UnknownMethod, VersionNotSupported
from llamon_agent.inbound.a2a.dialects import DIALECTS, dialect_for_fault, dialect_for_refusal, negotiate
from llamon_agent.wire.operations import Dialect
from llamon_agent.wire.v03.codec import V03
from llamon_agent.wire.v10.codec import V10


@pytest.mark.parametrize("header", [None, "", " ", "0.2", "0.2.6", "0.3", "0.3.0", " 0.3 "])
def test_a_slash_method_is_0_x_without_a_header_or_with_one_that_agrees(header: str | None) -> None:
    assert negotiate("message/send", header) is V03


@pytest.mark.parametrize("header", [None, "", "1.0", "1.0.0", "1.0.1"])
def test_a_pascal_method_is_1_0_without_a_header_or_with_one_that_agrees(header: str | None) -> None:
    assert negotiate("SendMessage", header) is V10


@pytest.mark.parametrize("method", ["message/send", "SendMessage", "GetTask", "no/such"])
@pytest.mark.parametrize("header", ["2.0", "99.0", "1.7", "0.1", "1", "v1.0", "1.0, 0.3", "latest", "1.0.1.1", "١.٠"])
def test_a_version_that_we_do_not_speak_is_refused_whatever_the_method(method: str, header: str) -> None:
    with pytest.raises(VersionNotSupported):
        negotiate(method, header)


@pytest.mark.parametrize(
    ("method", "header", "names"),
    [("message/send", "1.0", ("0.3", "1.0")), ("SendMessage", "0.3.0", ("1.0", "0.3"))],
)
def test_a_header_that_contradicts_the_method_says_so_and_what_to_do(
    method: str, header: str, names: tuple[str, str]
) -> None:
    with pytest.raises(UnknownMethod) as caught:
        negotiate(method, header)
    assert caught.value.public == (
        f"{method} is a method of A2A {names[0]}, but the A2A-Version header asks for {names[1]}; "
        f"leave the header out, or call by the method names of {names[1]}."
    )


@pytest.mark.parametrize("method", ["", "sendMessage", "message/Send", "tasks/list", "SendMessage ", "__class__"])
def test_an_unknown_method_is_unknown_in_every_dialect(method: str) -> None:
    for header in (None, "0.3", "1.0"):
        with pytest.raises(UnknownMethod, match="There is no method "):
            negotiate(method, header)


def test_a_long_method_name_is_not_echoed_whole() -> None:
    with pytest.raises(UnknownMethod) as caught:
        negotiate("x" * 10_000, None)
    assert len(caught.value.public) < 100


def test_no_method_belongs_to_two_dialects() -> None:
    names = [method for dialect in DIALECTS for method in dialect.methods]
    assert len(names) == len(set(names)) == 22


@pytest.mark.parametrize(
    ("method", "header", "dialect"),
    [
        (None, None, V03),
        (None, "", V03),
        ("no/such", None, V03),
        ("NoSuch", None, V03),
        ("message/send", None, V03),
        ("GetTask", None, V10),
        (None, "1.0", V10),
        ("no/such", "1.0.1", V10),
        ("message/send", "1.0", V10),
        ("SendMessage", "0.3", V03),
        (None, "0.3", V03),
        # VersionNotSupported must be able to say its code, which 0.x does not have.
        ("message/send", "2.0", V10),
        (None, "nonsense", V10),
    ],
)
def test_an_error_is_written_in_the_shape_that_its_caller_most_likely_reads(
    method: str | None, header: str | None, dialect: Dialect
) -> None:
    assert dialect_for_fault(method, header) is dialect


@pytest.mark.parametrize(
    ("version", "shape"), [(None, V03), ("", V03), ("0.2", V03), ("0.3.1", V03), ("1.0", V10), ("7.0", V10), ("x", V10)]
)
def test_a_route_of_0_3_refuses_another_version_in_the_shape_of_those_who_know_the_header(
    version: str | None, shape: Dialect
) -> None:
    assert dialect_for_refusal(V03, version) is shape
    assert dialect_for_refusal(V10, version) is V10
