"""What a question may spend: retrieval loops and cumulative context tokens.

A loop is one tool step; a repeated query counts. Context tokens are those of the progress text, of every passage once
per time shown, and of every model output. A loop that crosses the token limit completes its update; then no tool runs
and the answer is forced. The defaults are the paper's: 15 loops, 128,000 tokens.
"""

from dataclasses import dataclass, field
from typing import Literal

from .tokens import count_tokens

MAX_LOOPS = 15
MAX_TOKENS = 128_000
# Room that one prompt needs beside its passages: instructions, demos, question, reply.
RESERVE_TOKENS = 2_000

Limit = Literal["budget_loops", "budget_tokens"]


@dataclass(frozen=True)
class Limits:
    """The limits of a run; `context_window` is the LM's, in tokens, where it is known."""

    max_loops: int = MAX_LOOPS
    max_tokens: int = MAX_TOKENS
    context_window: int | None = None

    def __post_init__(self) -> None:
        if self.max_loops < 0 or self.max_tokens < 1:
            raise ValueError("max_loops must be 0 or more and max_tokens 1 or more")

    @property
    def effective_tokens(self) -> int:
        """The token limit in force: no more than the LM's window less a reserve."""
        if self.context_window is None:
            return self.max_tokens
        reserve = min(RESERVE_TOKENS, self.context_window // 2)
        return min(self.max_tokens, self.context_window - reserve)

    @property
    def nudge_after(self) -> int:
        """Loops after which the next one carries the nudge: 80 % of them, rounded up (12 of 15)."""
        return (self.max_loops * 4 + 4) // 5


@dataclass
class Budget:
    """What one question has spent."""

    limits: Limits = field(default_factory=Limits)
    loops: int = 0
    tokens: int = 0

    def spend(self, *texts: str) -> None:
        """Count the tokens of texts that were shown or written."""
        self.tokens += sum(count_tokens(text) for text in texts)

    @property
    def exceeded(self) -> Limit | None:
        """The limit that forbids another loop, if any."""
        if self.loops >= self.limits.max_loops:
            return "budget_loops"
        return "budget_tokens" if self.tokens > self.limits.effective_tokens else None

    @property
    def nudge_due(self) -> bool:
        """Whether the loop now beginning is the one that carries the nudge."""
        return self.loops == self.limits.nudge_after and self.loops > 0
