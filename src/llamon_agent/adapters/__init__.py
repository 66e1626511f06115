"""Each adapter drives one kind of runtime."""
