import pytest

from llamon_agent.inbound.a2a.bindings.grpc.services import SERVICES, Service


def test_both_versions_have_a_service() -> None:
    assert {service.name: {rpc.dialect.version for rpc in service.rpcs.values()} for service in SERVICES} == {
        "lf.a2a.v1.A2AService": {"1.0"},
        "a2a.v1.A2AService": {"0.3"},
    }


@pytest.mark.parametrize("service", SERVICES, ids=lambda service: str(service.name))
def test_the_rpcs_are_the_methods_of_the_dialect(service: Service) -> None:
    for rpc in service.rpcs.values():
        assert service.rpcs.keys() == rpc.dialect.methods.keys()


def test_sending_with_a_stream_and_subscribing_stream() -> None:
    streams = [name for service in SERVICES for name, rpc in service.rpcs.items() if rpc.streams]
    assert streams == ["SendStreamingMessage", "SubscribeToTask", "SendStreamingMessage", "TaskSubscription"]
