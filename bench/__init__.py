"""`make bench`: this edge and a minimal server on the official SDK, measured beside each other in one run."""
