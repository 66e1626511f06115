"""What is served: the edge and its agents, its URLs, its storage, and the process around it."""
