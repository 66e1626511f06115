"""Agent cards: canonical forms, signatures and their verification."""
