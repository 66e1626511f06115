"""A2A 0.2 and 0.3 as JSON."""
