"""The runs of a study as its report reads them: by pair of benchmark and index, in the order of the systems."""

from dataclasses import dataclass, replace
from pathlib import Path

from ...errors import UserError
from ..report.summaries import RunSummary, summarized
from ..run_folder import RECORDS, RUN
from ..scored_run import ScoredRun
from .plan import Pair, Plan


@dataclass(frozen=True)
class PairRuns:
    """What the systems came to on one pair.

    Attributes:
        pair: Which.
        folder: Where it lies.
        runs: Those with an answered question, named by their systems.
        missing: The systems of the study that have none yet.
    """

    pair: Pair
    folder: Path
    runs: tuple[RunSummary, ...]
    missing: tuple[str, ...]

    def of(self, system: str) -> RunSummary | None:
        """A system's run."""
        return next((one for one in self.runs if one.name == system), None)

    def named(self, among: int) -> tuple[RunSummary, ...]:
        """The runs with the pair in their names where there are several pairs."""
        if among == 1:
            return self.runs
        return tuple(
            RunSummary(replace(one.run, name=f"{one.name} ({self.pair.name})"), one.summary) for one in self.runs
        )


def read_runs(plan: Plan, out: Path) -> list[PairRuns]:
    """Read every run of a study that has an answered question.

    Raises:
        UserError: A run cannot be read, or none has an answered question.
    """
    read = []
    for pair in plan.pairs:
        runs, missing = [], []
        for system in plan.systems:
            folder = plan.folder(out, pair, system)
            if (folder / RUN).is_file() and (folder / RECORDS).is_file() and (folder / RECORDS).stat().st_size:
                runs.append(summarized(ScoredRun.open(folder, system)))
            else:
                missing.append(system)
        read.append(PairRuns(pair, out / pair.place, tuple(runs), tuple(missing)))
    if not any(one.runs for one in read):
        raise UserError(f"{out}: no question is answered yet; the line that began the study goes on with it")
    return read
