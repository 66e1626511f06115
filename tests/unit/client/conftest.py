"""The canned agent on a real socket that the command line's client is tested with, here as the remote one."""

from tests.unit.cli.conftest import _running, agent

__all__ = ["_running", "agent"]
