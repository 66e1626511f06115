"""Where LangGraph's threads are saved."""
