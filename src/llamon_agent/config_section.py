"""What all sections of the configuration share."""

from pydantic import BaseModel, ConfigDict


class Section(BaseModel):
    """A section: frozen, no unknown keys, docstrings become the schema's descriptions."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True, hide_input_in_errors=True)
