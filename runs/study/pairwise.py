"""Two systems of a study on the same questions, as `compare --force` would have them: what differs is said.

Two families of tests, each adjusted by Holm's method for its number: the primary comparison over the study's pairs of
benchmark and index (one pair, no adjustment), and every other system against the primary's first, over all pairs.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from ...errors import UserError
from ...metrics.certified import Certified
from ...metrics.paired import Paired, holm
from ..comparing import Comparison as Compared
from ..comparing import compare_runs
from ..report.summaries import RunSummary
from .runs import PairRuns

_NONE = Certified((), ())


@dataclass(frozen=True)
class Comparison:
    """Two systems on the questions that both finished.

    Attributes:
        where: The pair's runs.
        first: The first system.
        second: The second.
        compared: Their figures, and what differs between them.
    """

    where: PairRuns
    first: RunSummary
    second: RunSummary
    compared: Compared

    @property
    def name(self) -> str:
        """What a report calls it."""
        return f"{self.first.name} – {self.second.name}, {self.where.pair.name}"

    def found_by(self, first: bool) -> tuple[Certified, Certified]:
        """What one side retrieved and the other missed: of all questions, and of those that the other got wrong."""
        lists = self.compared.figures.certified
        if lists is None:
            return _NONE, _NONE
        return (lists.missed_by_b, lists.missed_by_b_wrong) if first else (lists.missed_by_a, lists.missed_by_a_wrong)


@dataclass(frozen=True)
class Tested:
    """A comparison with its p-values, of being right and of lacking gold, each adjusted within its family."""

    comparison: Comparison
    adjusted: float | None
    adjusted_unretrieved: float | None


def compare(where: PairRuns, first: RunSummary, second: RunSummary) -> Comparison | None:
    """Compare two systems of one pair; None where no question is finished in both."""
    try:
        compared = compare_runs(first.run, second.run, force=True, seed=first.summary.seed)
    except UserError:  # forced, and without an audit: nothing else is refused
        return None
    return Comparison(where, first, second, compared)


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


def _tested(found: Sequence[Comparison | None]) -> list[Tested]:
    comparisons = [one for one in found if one is not None]
    figures = [one.compared.figures for one in comparisons]
    right = _adjusted([one.correct.paired for one in figures])
    unretrieved = _adjusted([one.unretrieved.paired for one in figures])
    return [Tested(*one) for one in zip(comparisons, right, unretrieved, strict=True)]


def _adjusted(found: Sequence[Paired | None]) -> list[float | None]:
    """The p-values adjusted for their number; None where there is none."""
    adjusted = iter(holm([one.p for one in found if one is not None]))
    return [None if one is None else next(adjusted) for one in found]
