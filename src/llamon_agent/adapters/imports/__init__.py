"""How the modules of agents are found and imported."""
