"""Did it help? The baseline and the optimised program on questions that neither saw, in pairs."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import dspy

from ..metrics.paired import paired_difference
from ..metrics.statistics import Estimate
from .feedback import FeedbackMetric


@dataclass(frozen=True)
class Comparison:
    """Scores of the same questions.

    Attributes:
        ids: The questions.
        baseline: Their scores with the baseline's prompts, 0 to 1.
        variant: Those with the variant's.
        difference: Mean of the variant less that of the baseline, with its paired interval; None without a question.
        improved: `yes`, `no` or `unclear`.
    """

    ids: tuple[str, ...]
    baseline: tuple[float, ...]
    variant: tuple[float, ...]
    difference: Estimate | None
    improved: str

    def __str__(self) -> str:
        if self.difference is None:
            return "improved: unclear (no question was held out)"
        one, n = self.difference, len(self.ids)
        first, second = sum(self.baseline) / n, sum(self.variant) / n
        few = f"; {n} question{'' if n == 1 else 's'}: too few to conclude" if one.few else ""
        return (
            f"improved: {self.improved} (baseline {first:.3f}, variant {second:.3f}, difference {one.value:+.3f} "
            f"[{one.low:+.3f}, {one.high:+.3f}] on {n} held out{few})"
        )


def compare_on(
    examples: Sequence[Any],
    baseline: dspy.Module,
    variant: dspy.Module,
    metric: FeedbackMetric,
    *,
    changed: bool,
    seed: int = 0,
    threads: int = 1,
) -> Comparison:
    """Answer held-out questions with both, under DSPy's current LM.

    Args:
        examples: The questions, with gold.
        baseline: The program as it was.
        variant: The program as it became.
        metric: What both are scored by.
        changed: Whether their prompts differ; where not, one pass is enough.
        seed: Of the interval.
        threads: Questions at once.
    """
    first = _scores(examples, baseline, metric, threads)
    second = _scores(examples, variant, metric, threads) if changed else list(first)
    difference = paired_difference(second, first, seed=seed)
    ids = tuple(str(example.get("id")) for example in examples)
    return Comparison(ids, tuple(first), tuple(second), difference, verdict(difference, changed))


def verdict(difference: Estimate | None, changed: bool) -> str:
    """`yes` where the whole interval is above 0, `no` where none of it is or nothing changed, else `unclear`.

    Under 30 questions no gain is called one: `unclear`.
    """
    if not changed:
        return "no"
    if difference is None:
        return "unclear"
    if difference.high <= 0:
        return "no"
    return "yes" if difference.low > 0 and not difference.few else "unclear"


def _scores(examples: Sequence[Any], program: dspy.Module, metric: FeedbackMetric, threads: int) -> list[float]:
    """A score a question, in order; one that failed scores 0."""
    if not examples:
        return []
    predictions = program.batch(
        [example.with_inputs("question") for example in examples],
        num_threads=threads,
        max_errors=len(examples) + 1,
        timeout=0,
        disable_progress_bar=True,
    )
    return [
        metric.score(example, dspy.Prediction() if one is None else one)
        for example, one in zip(examples, predictions, strict=True)
    ]
