"""Agent cards: what they say, and the URLs they are at."""
