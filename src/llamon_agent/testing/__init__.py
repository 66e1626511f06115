"""Shipped for tests of agents and of ports: scripted agent, hand clock, contract suites."""
