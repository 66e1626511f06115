"""A2A 0.3 as protobuf messages in their JSON form."""
