"""A command line as an agent: one process for each run."""
