"""The report's sections on comparisons: the primary one first, with what each side found that the other missed."""

from collections.abc import Sequence

from ...metrics.certified import CertifiedPassage
from ...metrics.failure_category import unretrieved_gold
from ...metrics.paired import Paired
from ..report.page import Section
from ..report.summaries import NONE, RunSummary
from ..report.table import Cell, Table
from .pairwise import Comparison, Tested

_ONE_SIDED = (
    "A certified passage was missed by one system and retrieved by the other's search with the same retriever: it "
    "could be reached. What nobody found is not certified, never unreachable; a drop in totals is evidence of a "
    "recoverable part, and no lower bound on its size."
)


def primary_section(tested: Sequence[Tested], primary: tuple[str, str] | None) -> Section:
    """The named comparison, pair by pair."""
    if primary is None:
        note = "No primary comparison is named; --primary FIRST:SECOND names one."
        return Section("primary", "Primary comparison", (), notes=(note,))
    title = f"Primary comparison: {primary[0]} against {primary[1]}"
    if not tested:
        note = "No pair of benchmark and index has answers of both systems yet."
        return Section("primary", title, (), notes=(note,))
    family = len(tested)
    adjusted = (
        () if family == 1 else (f"p is adjusted by Holm's method over the {family} pairs, each outcome by itself.",)
    )
    tables = [
        Table(
            "Right and wrong, question by question",
            _COLUMNS,
            tuple(row for one in tested for row in _rows(one)),
            (*_notes([one.comparison for one in tested]), *adjusted),
            wide=True,
        ),
        _certified_counts([one.comparison for one in tested]),
    ]
    for one in tested:
        tables += _certified_lists(one.comparison)
    return Section("primary", title, tuple(tables))


def others_section(tested: Sequence[Tested], primary: tuple[str, str] | None) -> Section | None:
    """Every other system against the primary's first; None where there is none."""
    if not tested or primary is None:
        return None
    notes = (
        *_notes([one.comparison for one in tested]),
        f"p is adjusted by Holm's method over the {len(tested)} comparisons of this table, each outcome by itself.",
    )
    rows = tuple(row for one in tested for row in _rows(one))
    table = Table(f"{primary[0]} against the others", _COLUMNS, rows, notes, wide=True)
    counts = _certified_counts([one.comparison for one in tested])
    return Section("others", "All other comparisons", (table, counts))


_COLUMNS = ("", "outcome", "first", "second", "difference", "wins / losses / ties", "McNemar's exact p", "adjusted p")


def _rows(tested: Tested) -> list[tuple[Cell, ...]]:
    one, figures = tested.comparison, tested.comparison.compared.figures
    judged = one.first.summary.judges and one.second.summary.judges
    accuracy = "right (LLM-Acc)" if judged else "right (contain-match)"
    return [
        (Cell(one.name), Cell(accuracy), *_cells(figures.correct.paired, tested.adjusted)),
        (
            Cell(one.name),
            Cell("wrong with unretrieved gold"),
            *_cells(figures.unretrieved.paired, tested.adjusted_unretrieved),
        ),
    ]


def _cells(found: Paired | None, adjusted: float | None) -> tuple[Cell, ...]:
    if found is None:
        return (NONE,) * 6
    n, gap = found.difference.n, found.difference
    return (
        Cell(f"{found.both + found.wins}", (f"of n {n}",)),
        Cell(f"{found.both + found.losses}", (f"of n {n}",)),
        Cell(f"{gap.value:+.3f}", (f"[{gap.low:+.3f}, {gap.high:+.3f}] n {n}",), gap.few),
        Cell(f"{found.wins} / {found.losses} / {found.ties}"),
        Cell(f"{found.p:.3f}"),
        NONE if adjusted is None else Cell(f"{adjusted:.3f}"),
    )


def _notes(comparisons: Sequence[Comparison]) -> tuple[str, ...]:
    said = [
        "Over the questions that both finished and that are judged in both; a win is a question where only the first "
        "has the outcome. Intervals are paired bootstraps over questions at 95 %. Wrong with unretrieved gold leaves "
        "out pairs with a failed side.",
    ]
    for one in comparisons:
        correct = one.compared.figures.correct
        if one.compared.differs:
            said.append(f"{one.name}: compared although this differs: {'; '.join(one.compared.differs)}.")
        if correct.left_out:
            shared = one.compared.figures.questions
            said.append(
                f"{one.name}: {correct.left_out} of {shared} shared questions are not judged in both: left out."
            )
    if any("dedup" in differs for one in comparisons for differs in one.compared.differs):
        said.append("That a-rag searches a repeated query again is by design: it is so published.")
    return tuple(said)


def _certified_counts(comparisons: Sequence[Comparison]) -> Table:
    rows = []
    for one in comparisons:
        shared = one.compared.figures.questions
        if reason := one.compared.no_certified:
            rows.append((Cell(one.name), Cell("none", (reason,)), NONE, NONE, NONE))
            continue
        for first in (True, False):
            finder, misser = _sides(one, first)
            found, of_wrong = one.found_by(first)
            finished = {record.id for record in finder.run.records}
            missed = sum(len(unretrieved_gold(record)) for record in misser.run.records if record.id in finished)
            rows.append(
                (
                    Cell(f"found by {finder.name}, missed by {misser.name}, {one.where.pair.name}"),
                    Cell(f"{len(found.by_search):,}", (f"of {missed:,} missed",)),
                    Cell(f"{len(of_wrong.by_search):,}"),
                    Cell(f"{len(found.by_read):,}"),
                    Cell(f"{len({item.question_id for item in found.by_search}):,}", (f"of n {shared:,}",)),
                )
            )
    columns = ("", "certified reachable", "where the one that missed is wrong", "by another tool only", "questions")
    return Table("Certified reachable, both ways", columns, tuple(rows), (_ONE_SIDED,), wide=True)


def _sides(one: Comparison, first: bool) -> tuple[RunSummary, RunSummary]:
    return (one.first, one.second) if first else (one.second, one.first)


def _certified_lists(one: Comparison) -> list[Table]:
    """Each certified passage with the query that found it."""
    tables = []
    for first in (True, False):
        finder, misser = _sides(one, first)
        found, of_wrong = one.found_by(first)
        wrong = {item.question_id for item in (*of_wrong.by_search, *of_wrong.by_read)}
        rows = tuple(_certified_row(item, item.question_id in wrong) for item in (*found.by_search, *found.by_read))
        if rows:
            title = f"Found by {finder.name}, missed by {misser.name}: {one.where.pair.name}"
            columns = ("question", "passage", "first search that returned it", f"{misser.name} is wrong")
            tables.append(Table(title, columns, rows, wide=True))
    return tables


def _certified_row(item: CertifiedPassage, wrong: bool) -> tuple[Cell, ...]:
    by = f"{item.tool.replace('_', ' ')}, loop {item.loop}, rank {item.rank}"
    return (Cell(item.question_id), Cell(item.title), Cell(item.query, (f"({by})",)), Cell("yes" if wrong else "no"))
