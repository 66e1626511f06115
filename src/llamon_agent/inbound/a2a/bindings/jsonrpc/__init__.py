"""A2A over JSON-RPC."""
