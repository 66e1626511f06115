"""Where LangGraph's threads are kept."""
