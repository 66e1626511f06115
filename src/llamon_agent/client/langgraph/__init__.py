"""A remote agent as a node of a LangGraph graph."""
