"""Two systems of a study on the same questions: differences, tests, and what one found that the other missed.

Two families of tests, each adjusted by Holm's method for its number: the primary comparison over the study's pairs of
benchmark and index (one pair, no adjustment), and every other system against the primary's first, over all pairs.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from ...metrics.certified import Certified, certified
from ...metrics.paired import Paired, holm, paired
from ...metrics.score import Score
from ..report.summaries import RunSummary
from .runs import PairRuns

_LEFT_OUT = frozenset({"system", "variant"})


@dataclass(frozen=True)
class Comparison:
    """Two systems on the questions that both answered and that are judged in both.

    Attributes:
        where: The pair's runs.
        first: The first system.
        second: The second.
        shared: Questions that both finished.
        left_out: Those of them that are not judged in both.
        right: Being right; None where no question is left.
        missing: Being wrong with a gold passage unretrieved.
        first_found: What the second missed and the first retrieved.
        second_found: What the first missed and the second retrieved.
        differing: Settings in which they differ, in words.
        failed: Failed questions of the first and of the second.
    """

    where: PairRuns
    first: RunSummary
    second: RunSummary
    shared: int
    left_out: int
    right: Paired | None
    missing: Paired | None
    first_found: Certified
    second_found: Certified
    differing: tuple[str, ...]
    failed: tuple[int, int]


@dataclass(frozen=True)
class Tested:
    """A comparison with the p of being right, adjusted within its family."""

    comparison: Comparison
    adjusted: float | None


def compare(where: PairRuns, first: RunSummary, second: RunSummary) -> Comparison:
    """Compare two systems of one pair."""
    ones, others = _scores(first), _scores(second)
    shared = [key for key in ones if key in others]
    known = [key for key in shared if ones[key].right is not None and others[key].right is not None]
    seed = first.summary.seed

    def test(what: str) -> Paired | None:
        pick = _right if what == "right" else _missing
        return paired([pick(ones[key]) for key in known], [pick(others[key]) for key in known], seed=seed)

    return Comparison(
        where=where,
        first=first,
        second=second,
        shared=len(shared),
        left_out=len(shared) - len(known),
        right=test("right"),
        missing=test("missing"),
        first_found=certified(second.run.records, first.run.records),
        second_found=certified(first.run.records, second.run.records),
        differing=_differing(first, second),
        failed=(sum(one.failed for one in ones.values()), sum(one.failed for one in others.values())),
    )


def primary_comparisons(primary: tuple[str, str] | None, pairs: Sequence[PairRuns]) -> list[Tested]:
    """The named comparison, once a pair where both have answers."""
    if primary is None:
        return []
    return _tested(
        [
            compare(where, first, second)
            for where in pairs
            if (first := where.of(primary[0])) is not None and (second := where.of(primary[1])) is not None
        ]
    )


def other_comparisons(primary: tuple[str, str] | None, pairs: Sequence[PairRuns]) -> list[Tested]:
    """Every other system against the primary's first."""
    if primary is None:
        return []
    return _tested(
        [
            compare(where, first, other)
            for where in pairs
            if (first := where.of(primary[0])) is not None
            for other in where.runs
            if other.name not in primary
        ]
    )


def _tested(comparisons: list[Comparison]) -> list[Tested]:
    adjusted = iter(holm([one.right.p for one in comparisons if one.right is not None]))
    return [Tested(one, None if one.right is None else next(adjusted)) for one in comparisons]


def _scores(one: RunSummary) -> dict[str, Score]:
    return {score.id: score for score in one.run.scores}


def _right(score: Score) -> bool:
    return score.right is True


def _missing(score: Score) -> bool:
    return score.right is False and not score.failed and score.unretrieved_gold


def _differing(first: RunSummary, second: RunSummary) -> tuple[str, ...]:
    mine, theirs = first.run.settings, second.run.settings
    return tuple(
        f"{name}: {mine.get(name)} in {first.name}, {theirs.get(name)} in {second.name}"
        for name in sorted((mine.keys() | theirs.keys()) - _LEFT_OUT)
        if mine.get(name) != theirs.get(name)
    )
