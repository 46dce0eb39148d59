"""A run with its summary, and how the summary's figures are written into cells."""

from collections.abc import Sequence
from dataclasses import dataclass

from ...metrics.statistics import Estimate
from ...metrics.summary import Summary, summarize
from ...metrics.summary_group import ErrorShare, Share
from ..scored_run import ScoredRun
from .table import FEW, Cell

NONE = Cell("–")


@dataclass(frozen=True)
class RunSummary:
    """A run, what it came to, and its name in the report."""

    run: ScoredRun
    summary: Summary

    @property
    def name(self) -> str:
        """What the report calls it."""
        return self.run.name


def summarized(run: ScoredRun) -> RunSummary:
    """Summarise a run with the seed of its settings."""
    seed = run.settings.get("seed", 0)
    return RunSummary(run, summarize(run.records, run.scores, run.verdicts, seed=seed if isinstance(seed, int) else 0))


def estimate_cell(estimate: Estimate | None, form: str = ".2f") -> Cell:
    """A figure with interval and n."""
    if estimate is None:
        return NONE
    return Cell(format(estimate.value, form), (_interval(estimate, form),), estimate.few)


def share_cell(share: Share | None) -> Cell:
    """A share with interval, count and n."""
    if share is None or share.estimate is None:
        return NONE
    one = share.estimate
    return Cell(f"{one.value:.2f}", (f"[{one.low:.2f}, {one.high:.2f}] {share.count:,} of n {share.n:,}",), one.few)


def count_cell(share: Share) -> Cell:
    """A count with its share."""
    return Cell(f"{share.count:,}", (_share_line(share, ""),), bool(share.estimate and share.estimate.few))


def error_cell(error: ErrorShare) -> Cell:
    """A count of wrong answers, as a share of the questions and of the wrong answers."""
    asked, wrong = error.of_questions, error.of_errors
    few = bool(asked.estimate and asked.estimate.few)
    lines = [_share_line(asked, "")]
    if wrong is not None and wrong.n:
        lines.append(_share_line(wrong, " wrong", marked=not few))
    return Cell(f"{asked.count:,}", tuple(lines), few)


def prefix(runs: Sequence[RunSummary], one: RunSummary) -> str:
    """How a note on one run begins: with its name where there are several."""
    return f"{one.name}: " if len(runs) > 1 else ""


def failed_notes(runs: Sequence[RunSummary]) -> tuple[str, ...]:
    """What stands beside figures where questions failed."""
    groups = [(prefix(runs, one), one.summary.overall) for one in runs]
    return tuple(
        f"{name}{group.failed:,} of {group.n:,} questions failed; they count as not right."
        for name, group in groups
        if group.failed
    )


def _share_line(share: Share, of: str, *, marked: bool = False) -> str:
    one = share.estimate
    if one is None:
        return f"of n {share.n:,}{of}"
    few = f" ({FEW})" if marked and one.few else ""
    return f"{one.value:.2f} [{one.low:.2f}, {one.high:.2f}] of n {share.n:,}{of}{few}"


def _interval(estimate: Estimate, form: str) -> str:
    return f"[{estimate.low:{form}}, {estimate.high:{form}}] n {estimate.n:,}"
