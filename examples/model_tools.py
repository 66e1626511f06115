"""Tools for a model: plain functions, whose docstrings tell the model when to use them.

Served by examples/model_agent.yaml.
"""

from datetime import date

NOTES = {"groceries": "rice, onions, tea", "idea": "name the llama Ada"}


def days_between(first: date, second: date) -> int:
    """Count the days from one date to another."""
    return (second - first).days


def read_note(name: str) -> str:
    """Read one of the user's notes by its name."""
    return NOTES.get(name, f"There is no note called {name}. There are: {', '.join(sorted(NOTES))}.")


async def delete_note(name: str) -> str:
    """Delete one of the user's notes by its name."""
    return f"{name} is deleted." if NOTES.pop(name, None) else f"There was no note called {name}."


tools = [days_between, read_note, delete_note]
