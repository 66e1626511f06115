"""Options that several commands have, spelled alike."""

from typing import Annotated

from cyclopts import Parameter

Switch = Annotated[bool, Parameter(negative="", show_default=False)]
"""Off unless it is given."""

AsJson = Annotated[bool, Parameter(name="--json", negative="", show_default=False)]
"""For programs: JSON on stdout and nothing else there."""

Token = Annotated[str | None, Parameter(env_var="LLAMON_TOKEN")]
"""A bearer token."""
