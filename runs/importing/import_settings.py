"""What is known of an imported run: its settings and their digest, which stand where a run's own would."""

import hashlib
import json
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict


class ImportSettings(BaseModel):
    """What is known of an imported run; a setting that is None is left out of its folder.

    Attributes:
        system: What it is called.
        imported: Always true.
        lm: What a person says made the answers.
        benchmark: The benchmark's kind.
        benchmark_digest: Of its question file.
        predictions_digest: Of the file that was imported.
        mapped_index_digest: Of the index whose passages stand in the rows.
        index_digest: The same, only where it was searched itself.
        encoder: Of that index, likewise.
        granularity: Of that index, likewise.
        k: Passages a search, likewise.
        seed: Of resampling in the report.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    system: str
    imported: Literal[True] = True
    lm: str
    benchmark: str
    benchmark_digest: str
    predictions_digest: str
    mapped_index_digest: str
    index_digest: str | None = None
    encoder: str | None = None
    granularity: str | None = None
    k: int | None = None
    seed: int = 0

    @property
    def known(self) -> dict[str, Any]:
        """The settings that are known."""
        return self.model_dump(exclude_none=True)

    @property
    def digest(self) -> str:
        """Identity of the settings."""
        return hashlib.sha256(json.dumps(self.known, sort_keys=True).encode()).hexdigest()[:16]
