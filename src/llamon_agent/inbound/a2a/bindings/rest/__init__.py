"""A2A over HTTP+JSON."""
