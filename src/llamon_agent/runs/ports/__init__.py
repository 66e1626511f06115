"""The ports of the run service."""
