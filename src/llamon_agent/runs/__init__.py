"""Runs and tasks: ports, decisions, broadcast and the run service."""
