"""Shipped for tests of agents and of ports: a scripted agent, a clock and ids."""
