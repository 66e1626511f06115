"""The 0.2 and 0.3 wire."""
