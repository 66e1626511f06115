"""What can be set: the sections of edge.yaml, how they are read, and what is wrong with them."""
