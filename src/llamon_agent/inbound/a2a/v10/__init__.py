"""The 1.0 wire."""
