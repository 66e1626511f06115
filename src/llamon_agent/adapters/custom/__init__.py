"""Any Python object or function as an agent."""
