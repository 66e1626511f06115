"""Tasks in Postgres."""
