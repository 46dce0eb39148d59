"""The report's sections on failures: why answers are wrong, in all and by hop count, beside the paper's figures."""

from collections.abc import Callable, Sequence

from ...metrics.summary_group import Group
from ..report.page import Section
from ..report.sections import failures_section
from ..report.summaries import NONE, RunSummary, count_cell, error_cell, failed_notes
from ..report.table import Cell, Table
from . import paper
from .accuracy_sections import lm_notes, published
from .runs import PairRuns

_PAPERS = ("Missing Evidence", "Reasoning Error", "Gave Up")


def study_failures(pairs: Sequence[PairRuns], lms: Sequence[str]) -> Section:
    """Every failure figure of every system, a table a pair, and the paper's own where it gives them."""
    tables = []
    for one in pairs:
        if not one.runs:
            continue
        table = failures_section(one.runs).tables[0]
        title = "Failures" if len(pairs) == 1 else one.pair.name
        tables.append(
            Table(title, table.columns, (*table.rows, *_paper_rows(one)), (*_once(table.notes), *lm_notes(lms)))
        )
    return Section("failures", "Failures", tuple(tables))


def _once(notes: Sequence[str]) -> list[str]:
    """Without what the report's head says of every run: which definition of wrong holds."""
    return [note for note in notes if "Wrong means: " not in note]


def _paper_rows(one: PairRuns) -> list[tuple[Cell, ...]]:
    """The paper's shares as rows of the table, where it gives one for any system of it."""
    rows = []
    for category in _PAPERS:
        found = [paper.failures(one.pair.kind, one.pair.encoder, run.name, category) for run in one.runs]
        if any(found):
            rows.append((Cell(f"{category}: the paper's, {paper.PAPER_LM}"), *map(published, found)))
    return rows


def failures_by_hops(pairs: Sequence[PairRuns], lms: Sequence[str]) -> Section:
    """Each kind of failure by hop count, one row a system, one column a hop count."""
    tables = [
        Table(title if len(pairs) == 1 else f"{title}: {one.pair.name}", *_hop_rows(one, cell, title), notes=notes)
        for one in pairs
        if one.runs
        for notes in [(*failed_notes(one.runs), *lm_notes(lms))]
        for title, cell in _MEASURES
    ]
    return Section("hops", "Failures by hop count", tuple(tables))


def _hop_rows(
    one: PairRuns, cell: Callable[[Group], Cell], title: str
) -> tuple[tuple[str, ...], tuple[tuple[Cell, ...], ...]]:
    hops = sorted({int(group.name) for run in one.runs for group in run.summary.by_hops})
    rows = []
    for run in one.runs:
        groups = {int(group.name): group for group in run.summary.by_hops}
        cells = (cell(groups[number]) if number in groups else NONE for number in hops)
        rows.append((Cell(run.name), *cells, cell(run.summary.overall)))
        if title == "Missing Evidence" and (row := _paper_hops(one, run, hops)):
            rows.append(row)
    return ("", *(f"{number} hops" for number in hops), "all"), tuple(rows)


def _paper_hops(one: PairRuns, run: RunSummary, hops: Sequence[int]) -> tuple[Cell, ...] | None:
    found = [paper.missing_by_hops(one.pair.kind, one.pair.encoder, run.name, number) for number in hops]
    if not any(found):
        return None
    in_all = paper.failures(one.pair.kind, one.pair.encoder, run.name, "Missing Evidence")
    return (Cell(f"{run.name}: the paper's, {paper.PAPER_LM}"), *map(published, (*found, in_all)))


def _category(kind: str, *, without: bool = False) -> Callable[[Group], Cell]:
    def cell(group: Group) -> Cell:
        found = group.categories_without_false_resolution if without else group.categories
        return next((error_cell(one) for one in found if one.category == kind), NONE)

    return cell


_MEASURES: tuple[tuple[str, Callable[[Group], Cell]], ...] = (
    ("Missing Evidence", _category("Missing Evidence")),
    ("Missing Evidence, false resolutions aside", _category("Missing Evidence", without=True)),
    ("Wrong with unretrieved gold", lambda group: error_cell(group.wrong_with_unretrieved_gold)),
    ("Reasoning Error", _category("Reasoning Error")),
    ("Gave Up", _category("Gave Up")),
    ("Judge Error", _category("Judge Error")),
    ("Premature resolution (right answers too)", lambda group: count_cell(group.premature)),
)
