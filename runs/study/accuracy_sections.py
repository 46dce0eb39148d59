"""The report's sections on accuracy: every system on every pair, and the register's ablations, beside the paper's."""

from collections.abc import Sequence

from ..report.page import Section
from ..report.summaries import NONE, RunSummary, estimate_cell, failed_notes, share_cell
from ..report.table import Cell, Table
from . import paper
from .runs import PairRuns

#: What differs on purpose from the code that A-RAG's authors published.
ARAG_DIFFERS = (
    "a-rag is an agent as A-RAG publishes it, kept different on purpose in: BM25 instead of substring counts; "
    "titles embedded with the text; k fixed by the run; a short-answer signature; errors retried and counted; all "
    "questions in the denominator; a judge that sees the question."
)
_ABLATIONS = {
    "executionrag": "full",
    "executionrag-question-init": "requirements from the question alone",
    "executionrag-static": "no iterative updates",
}


def accuracy_section(pairs: Sequence[PairRuns], lms: Sequence[str]) -> Section:
    """LLM-Acc and contain-match by system, a table a pair."""
    tables = tuple(_accuracy(one, lms, "Scores" if len(pairs) == 1 else one.pair.name) for one in pairs if one.runs)
    return Section("scores", "Scores", tables)


def _accuracy(one: PairRuns, lms: Sequence[str], title: str) -> Table:
    rows = tuple(
        (
            Cell(run.name),
            share_cell(run.summary.overall.llm_acc),
            share_cell(run.summary.overall.contain),
            estimate_cell(run.summary.overall.f1),
            estimate_cell(run.summary.overall.recall),
            Cell(f"{run.summary.overall.failed:,}", (f"of n {run.summary.overall.n:,}",)),
            published(paper.llm_acc(one.pair.kind, one.pair.encoder, run.name)),
        )
        for run in one.runs
    )
    columns = ("", "LLM-Acc", "contain-match", "F1", "evidence recall", "failed", f"{paper.PAPER_LM}'s LLM-Acc, paper")
    notes = [*lm_notes(lms), *failed_notes(one.runs), *_unjudged(one.runs)]
    if one.of("a-rag") is not None:
        notes.append(f"{ARAG_DIFFERS} Repeated queries are searched again unless the run says otherwise.")
    return Table(title, *_where_judged(one.runs, columns, rows), tuple(notes))


def _unjudged(runs: Sequence[RunSummary]) -> tuple[str, ...]:
    lacking = [run.name for run in runs if not run.summary.judges]
    if not lacking:
        return ()
    return (f"No LLM-Acc, for no judge was asked: {', '.join(lacking)}.",)


def _where_judged(
    runs: Sequence[RunSummary], columns: tuple[str, ...], rows: tuple[tuple[Cell, ...], ...]
) -> tuple[tuple[str, ...], tuple[tuple[Cell, ...], ...]]:
    """Without the column of LLM-Acc where no run has a judge."""
    if any(run.summary.judges for run in runs):
        return columns, rows
    return (columns[0], *columns[2:]), tuple((row[0], *row[2:]) for row in rows)


def ablation_section(pairs: Sequence[PairRuns], lms: Sequence[str]) -> Section | None:
    """The full system beside what it is without a part; None where no ablation was run."""
    tables = []
    for one in pairs:
        runs = [run for name in _ABLATIONS if (run := one.of(name)) is not None]
        if len(runs) > 1:
            rows = tuple(_ablation(one, run) for run in runs)
            columns = ("", "LLM-Acc", "contain-match", "evidence recall", f"{paper.PAPER_LM}'s LLM-Acc, paper")
            title = "Ablations" if len(pairs) == 1 else one.pair.name
            tables.append(Table(title, *_where_judged(runs, columns, rows), (*lm_notes(lms), *failed_notes(runs))))
    return Section("ablations", "Ablations", tuple(tables)) if tables else None


def _ablation(one: PairRuns, run: RunSummary) -> tuple[Cell, ...]:
    group = run.summary.overall
    return (
        Cell(f"{run.name}: {_ABLATIONS[run.name]}"),
        share_cell(group.llm_acc),
        share_cell(group.contain),
        estimate_cell(group.recall),
        published(paper.llm_acc(one.pair.kind, one.pair.encoder, run.name)),
    )


def published(figure: paper.Published | None) -> Cell:
    """A figure of the paper with its place there."""
    return NONE if figure is None else Cell(figure.text, (f"({figure.source})",))


def lm_notes(lms: Sequence[str]) -> tuple[str, ...]:
    """Which LM made our figures, and which the paper's."""
    return (
        f"Ours: {', '.join(lms)}. The paper's ({paper.PAPER}): {paper.PAPER_LM}, 1,000 questions of each benchmark.",
    )
