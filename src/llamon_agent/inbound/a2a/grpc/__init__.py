"""A2A over gRPC: both versions' services on one port. Only what is in here needs grpcio, the extra `grpc`."""
