"""Any chat model by name, through LangChain; a LangGraph agent underneath."""
