"""Tasks in a SQLite file."""
