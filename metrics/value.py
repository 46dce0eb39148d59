"""The base of what the rooms hand to each other as JSON: records, verdicts, summaries."""

from pydantic import BaseModel, ConfigDict


class Value(BaseModel):
    """A value that is never changed once it is made."""

    model_config = ConfigDict(frozen=True)
