"""The stores of tasks: in memory, in an SQLite file, in a Postgres database."""
