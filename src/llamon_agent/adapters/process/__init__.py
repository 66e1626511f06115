"""A command line as an agent: one process a run."""
