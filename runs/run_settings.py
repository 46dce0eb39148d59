"""What a run is: the settings that decide its answers, and their digest.

The digest covers system, LM and its settings, index, benchmark, budget and seed. It leaves out what does not change an
answer (threads, limit, output folder, a server's address), so that a run of 50 questions can be extended to 200.
"""

import hashlib
import json
from typing import Any

from pydantic import BaseModel, ConfigDict


class RunSettings(BaseModel):
    """The settings of a run, all of them plain values; never a key or an address.

    Attributes:
        system: Name of the system, as in `program.systems`.
        variant: Digest of the optimised prompts; blank for the training-free baseline.
        lm: The LM's name; of the embedded LM with its model's digest.
        temperature: Of the answering LM; None is its own.
        max_tokens: Longest reply; None is the LM's own.
        context_window: The LM's window in tokens, where it is known.
        benchmark: The benchmark's kind.
        benchmark_digest: Of its question file.
        index_digest: Of corpus, encoder and granularity.
        encoder: The index's encoder, by name.
        granularity: What is embedded.
        k: Passages a search.
        max_loops: Retrieval loops a question.
        max_context_tokens: Context tokens a question.
        deduplicate: Whether a repeated query is answered from memory.
        seed: Of resampling in the report.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    system: str
    variant: str = ""
    lm: str
    temperature: float | None = 0.0
    max_tokens: int | None = None
    context_window: int | None = None
    benchmark: str
    benchmark_digest: str
    index_digest: str
    encoder: str
    granularity: str
    k: int
    max_loops: int
    max_context_tokens: int
    deduplicate: bool = True
    seed: int = 0

    @property
    def digest(self) -> str:
        """Identity of the settings."""
        return hashlib.sha256(json.dumps(self.model_dump(), sort_keys=True).encode()).hexdigest()[:16]

    def differences(self, other: dict[str, Any]) -> list[str]:
        """What differs from other settings, in words: `max_loops 6, there 15`."""
        mine = self.model_dump()
        return [
            f"{name} {_shown(mine.get(name))}, there {_shown(other.get(name))}"
            for name in sorted(mine.keys() | other.keys())
            if mine.get(name) != other.get(name)
        ]


def _shown(value: Any) -> str:
    return value[:40] if isinstance(value, str) and value else json.dumps(value)
