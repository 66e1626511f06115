"""The host's side: calls remote A2A agents, from Python and as a node of a LangGraph graph."""
