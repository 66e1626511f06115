"""Protocols by which others call us."""
