"""The A2A surface of the edge."""
