"""A figure with its error bar: Wilson intervals for proportions, bootstrap over questions for the rest.

Policy: nothing to compute from gives None, never NaN. Every interval is at 95 %; under n = 30 it is marked `few`, too
few to conclude. Bootstraps are percentile bootstraps over questions with a fixed seed, and the order of the questions
changes nothing. scipy and statsmodels do the computing and are imported when they are needed.
"""

from collections.abc import Collection
from dataclasses import dataclass

CONFIDENCE = 0.95
RESAMPLES = 9999
FEW = 30
_BATCH = 500  # resamples held in memory at once


@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure and its interval.

    Attributes:
        value: The proportion or mean, or a difference of two.
        low: Lower end of the interval, at most `value`.
        high: Upper end, at least `value`.
        n: How many it is over.
        few: `n` is under 30: too few to conclude.
    """

    value: float
    low: float
    high: float
    n: int
    few: bool

    @classmethod
    def of(cls, value: float, low: float, high: float, n: int) -> "Estimate":
        """The estimate with `few` filled in; an interval that rounding moved off the value is moved back."""
        return cls(value, min(low, value), max(high, value), n, n < FEW)


def proportion(count: int, n: int) -> Estimate | None:
    """`count` of `n` with its Wilson score interval; None where `n` is 0.

    Raises:
        ValueError: `count` is not within 0 to `n`.
    """
    if not 0 <= count <= n:
        raise ValueError(f"{count} of {n} is no proportion")
    if n == 0:
        return None
    from statsmodels.stats.proportion import proportion_confint

    low, high = proportion_confint(count, n, alpha=1 - CONFIDENCE, method="wilson")
    return Estimate.of(count / n, float(low), float(high), n)


def mean(values: Collection[float], *, seed: int = 0) -> Estimate | None:
    """The mean with its percentile bootstrap interval, values resampled; None where there are none.

    A single value, and values that are all equal, are their own interval.
    """
    if not values:
        return None
    import numpy as np

    ordered = np.sort(np.asarray(list(values), dtype=float))  # the same draws whatever the order
    value, n = float(ordered.mean()), len(ordered)
    if ordered[0] == ordered[-1]:
        return Estimate.of(float(ordered[0]), float(ordered[0]), float(ordered[0]), n)
    from scipy.stats import bootstrap

    interval = bootstrap(
        (ordered,),
        np.mean,
        n_resamples=RESAMPLES,
        batch=_BATCH,
        vectorized=True,
        confidence_level=CONFIDENCE,
        method="percentile",
        rng=np.random.default_rng(seed),
    ).confidence_interval
    return Estimate.of(value, float(interval.low), float(interval.high), n)


def share_of_errors(count: int, errors: int, questions: int, *, seed: int = 0) -> Estimate | None:
    """What share of the errors is of one kind, with a bootstrap over questions; None where there is no error.

    How many errors a system makes varies with the questions too, so questions are resampled and not errors. A question
    is an error of the kind, another error, or none, and a resample of questions is a multinomial draw over the three.
    Resamples without an error have no share and are left out; where all errors are of the kind, or none is, the
    interval has no width. The estimate's `n` is `errors`.

    Args:
        count: Errors of the kind.
        errors: Errors in all.
        questions: Questions that they were made on.
        seed: Of the resampling.

    Raises:
        ValueError: Not 0 <= count <= errors <= questions.
    """
    if not 0 <= count <= errors <= questions:
        raise ValueError(f"{count} of {errors} errors on {questions} questions is no share")
    if errors == 0:
        return None
    import numpy as np

    parts = np.array([count, errors - count, questions - errors]) / questions
    drawn = np.random.default_rng(seed).multinomial(questions, parts, size=RESAMPLES)
    wrong = drawn[:, 0] + drawn[:, 1]
    shares = drawn[wrong > 0, 0] / wrong[wrong > 0]
    tail = (1 - CONFIDENCE) / 2
    low, high = np.quantile(shares, [tail, 1 - tail]) if len(shares) else (count / errors, count / errors)
    return Estimate.of(count / errors, float(low), float(high), errors)
