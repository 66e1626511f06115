"""One call over gRPC to the edge at the URL that is given, in the environment that this is run in."""

import json
import sys
from urllib.request import urlopen

import grpc
from a2a.types import a2a_pb2 as pb
from a2a.types.a2a_pb2_grpc import A2AServiceStub


def main(url: str) -> None:
    """Fetch the card, and send to the address of gRPC in it."""
    with urlopen(f"{url}/.well-known/agent-card.json") as response:
        interfaces = json.load(response)["supportedInterfaces"]
    address = next(one["url"] for one in interfaces if one["protocolBinding"] == "GRPC")
    message = pb.Message(message_id="m1", role=pb.ROLE_USER, parts=[pb.Part(text="my number is 7")])
    with grpc.insecure_channel(address) as channel:
        send = A2AServiceStub(channel).SendMessage  # type: ignore[no-untyped-call]
        reply = send(pb.SendMessageRequest(message=message), metadata=(("a2a-version", "1.0"),), timeout=30)
    assert reply.task.status.state == pb.TASK_STATE_COMPLETED, reply


if __name__ == "__main__":
    main(sys.argv[1])
