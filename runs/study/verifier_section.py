"""The report's section on the verifier: beside the baseline on the same questions, then its own scores and cost."""

from collections.abc import Sequence
from dataclasses import replace

from ..report.page import Section
from ..report.summaries import count_cell, error_cell, estimate_cell, failed_notes, share_cell
from ..report.table import Cell, Table
from ..report.verifier import verifier_tables
from .runs import PairRuns

_BASELINE, _VERIFIED = "executionrag", "executionrag+verifier"


def verifier_section(pairs: Sequence[PairRuns]) -> Section | None:
    """Baseline and verifiers side by side, and what the verifiers did; None where no verifier was run."""
    tables = []
    for one in pairs:
        runs = [run for run in one.runs if run.name == _BASELINE or run.name.startswith(_VERIFIED)]
        if any(run.name.startswith(_VERIFIED) for run in runs):
            rows = []
            for run in runs:
                group = run.summary.overall
                cells = (
                    share_cell(group.llm_acc),
                    share_cell(group.contain),
                    estimate_cell(group.recall),
                    share_cell(group.abstained),
                    count_cell(group.premature),
                    error_cell(group.wrong_with_unretrieved_gold),
                )
                rows.append((Cell(run.name), *cells))
            title = "Verifier beside the baseline" if len(pairs) == 1 else one.pair.name
            tables.append(Table(title, _COLUMNS, tuple(rows), failed_notes(runs)))
            for table in verifier_tables(runs):
                tables.append(table if len(pairs) == 1 else replace(table, title=f"{table.title}: {one.pair.name}"))
    note = (
        "The paper predicts, and does not test, that a verifier raises accuracy with the retrieved evidence unchanged; "
        "in audit mode the evidence is fixed, so that evidence recall differs only as far as two searches do."
    )
    return Section("verifier", "Verifier beside the baseline", tuple(tables), notes=(note,)) if tables else None


_COLUMNS = (
    "",
    "LLM-Acc",
    "contain-match",
    "evidence recall",
    "abstained",
    "premature resolution",
    "wrong with unretrieved gold",
)
