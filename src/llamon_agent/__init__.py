"""The A2A edge for agents: history seeded once, runs that survive."""
