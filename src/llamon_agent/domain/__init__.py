"""The words of A2A as values, before any dialect; imports nothing of ours."""
