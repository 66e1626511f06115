"""Human in the loop: a graph's questions, and what an answer means to it."""
