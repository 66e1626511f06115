"""The wire versions of A2A, as values and JSON: what the server's side and the client share."""
