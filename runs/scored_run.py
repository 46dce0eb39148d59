"""A run with its scores, computed from its records and verdicts each time that it is opened."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import UserError
from ..metrics.record import QuestionRecord, Verdict
from ..metrics.score import Score
from .run_folder import RunFolder


@dataclass(frozen=True)
class ScoredRun:
    """What reports are made from.

    Attributes:
        name: What a report calls the run: its folder's name.
        folder: The run on disk.
        records: The answered questions, in the benchmark's order.
        scores: One a record, in the same order.
        verdicts: What a judge said of the answers that stand, by question.
    """

    name: str
    folder: RunFolder
    records: Sequence[QuestionRecord]
    scores: Sequence[Score]
    verdicts: Mapping[str, Verdict]

    @classmethod
    def open(cls, path: Path | str, name: str = "") -> "ScoredRun":
        """Open a run folder and score its questions.

        Raises:
            UserError: There is no run, it cannot be read, or no question is answered yet.
        """
        from ..metrics.scoring import score

        folder = RunFolder.open(path)
        records = folder.records()
        verdicts = folder.verdicts(records)
        if not records:
            raise UserError(f"{folder.path}: no question is answered yet; evaluate goes on with it")
        judged, imported = bool(verdicts), bool(folder.header.get("imported"))
        scores = [score(record, verdicts.get(record.id), judged_run=judged, imported=imported) for record in records]
        return cls(name or folder.path.resolve().name, folder, records, scores, verdicts)

    @property
    def judged(self) -> bool:
        """Whether a judge decides what is wrong."""
        return bool(self.verdicts)

    @property
    def judges(self) -> list[str]:
        """The judges whose verdicts count."""
        return sorted({verdict.judge for verdict in self.verdicts.values()})

    @property
    def settings(self) -> dict[str, Any]:
        """What the run was made with."""
        return self.folder.settings

    @property
    def wrong_is(self) -> str:
        """Which definition of wrong holds, in words."""
        if self.judged:
            return f"judged wrong by {' and '.join(self.judges)}"
        return "token contain-match finds no gold answer in the short answer (no judge was asked)"
