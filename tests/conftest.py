"""What holds for all tests."""

from hypothesis import settings

# No deadlines: a slow machine is no wrong answer. No database: a failure is a case to write down as a test.
settings.register_profile("llamon", deadline=None, database=None)
settings.load_profile("llamon")
