"""A2A from the other side: one client of remote agents, for Python hosts, LangGraph graphs and the command line."""
