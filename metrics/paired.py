"""Two systems on the same questions: wins and losses, McNemar's exact test, and the difference with its interval.

Pairs with a side that could not be judged are left out by the caller, who says how many. Nothing to compare gives None.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from .statistics import Estimate, mean


@dataclass(frozen=True, slots=True)
class Paired:
    """A yes/no outcome of two systems, question by question.

    Attributes:
        wins: Questions where only the first has it.
        losses: Questions where only the second has it.
        ties: Questions where both have it or neither.
        both: Those ties where both have it.
        difference: Proportion of the first minus that of the second, with a paired bootstrap over questions.
        p: McNemar's exact test, two-sided, not adjusted.
    """

    wins: int
    losses: int
    ties: int
    both: int
    difference: Estimate
    p: float


def paired(first: Sequence[bool], second: Sequence[bool], *, seed: int = 0) -> Paired | None:
    """Compare two systems; the same place in both is the same question. None where there is no question.

    Raises:
        ValueError: They differ in length.
    """
    difference = paired_difference(first, second, seed=seed)
    if difference is None:
        return None
    pairs = [(bool(one), bool(other)) for one, other in zip(first, second, strict=True)]
    wins, losses = pairs.count((True, False)), pairs.count((False, True))
    both = pairs.count((True, True))
    return Paired(wins, losses, len(pairs) - wins - losses, both, difference, mcnemar_exact(wins, losses))


def paired_difference(first: Sequence[float], second: Sequence[float], *, seed: int = 0) -> Estimate | None:
    """Mean of the first minus mean of the second, questions resampled in pairs; None where there is no question.

    Raises:
        ValueError: They differ in length.
    """
    return mean([float(one) - float(other) for one, other in zip(first, second, strict=True)], seed=seed)


def mcnemar_exact(wins: int, losses: int) -> float:
    """Two-sided p of McNemar's exact test: the discordant pairs under a fair coin; 1.0 where there is none.

    Raises:
        ValueError: A count is negative.
    """
    if wins < 0 or losses < 0:
        raise ValueError(f"wins {wins} and losses {losses} must be 0 or more")
    if wins + losses == 0:
        return 1.0
    from scipy.stats import binomtest

    return float(binomtest(wins, wins + losses, 0.5).pvalue)


def holm(p_values: Sequence[float]) -> list[float]:
    """The p-values adjusted for their number by Holm's step-down method, in the order given."""
    if not p_values:
        return []
    from statsmodels.stats.multitest import multipletests

    return [float(p) for p in multipletests(list(p_values), method="holm")[1]]
