"""The protocol bindings of A2A: JSON-RPC, HTTP+JSON and gRPC."""
