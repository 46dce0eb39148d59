"""The report's sections on comparisons: the primary one first, with what each side found that the other missed."""

from collections.abc import Sequence

from ...metrics.certified import CertifiedPassage
from ...metrics.paired import Paired
from ..report.page import Section
from ..report.summaries import NONE
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
    adjusted = () if family == 1 else (f"p is adjusted by Holm's method over the {family} pairs.",)
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
        f"p of being right is adjusted by Holm's method over the {len(tested)} comparisons of this table.",
    )
    rows = tuple(row for one in tested for row in _rows(one))
    table = Table(f"{primary[0]} against the others", _COLUMNS, rows, notes, wide=True)
    counts = _certified_counts([one.comparison for one in tested])
    return Section("others", "All other comparisons", (table, counts))


_COLUMNS = ("", "outcome", "first", "second", "difference", "wins / losses / ties", "McNemar's exact p", "adjusted p")


def _rows(tested: Tested) -> list[tuple[Cell, ...]]:
    one = tested.comparison
    name = f"{one.first.name} – {one.second.name}, {one.where.pair.name}"
    accuracy = "LLM-Acc" if one.first.summary.judges and one.second.summary.judges else "right (contain-match)"
    return [
        (Cell(name), Cell(accuracy), *_cells(one.right, tested.adjusted)),
        (Cell(name), Cell("wrong with unretrieved gold"), *_cells(one.missing, None)),
    ]


def _cells(found: Paired | None, adjusted: float | None) -> tuple[Cell, ...]:
    if found is None:
        return (NONE,) * 6
    n, gap = found.difference.n, found.difference
    return (
        Cell(f"{found.both + found.wins} of n {n}"),
        Cell(f"{found.both + found.losses} of n {n}"),
        Cell(f"{gap.value:+.3f}", (f"[{gap.low:+.3f}, {gap.high:+.3f}] n {n}",), gap.few),
        Cell(f"{found.wins} / {found.losses} / {found.ties}"),
        Cell(f"{found.p:.3f}"),
        NONE if adjusted is None else Cell(f"{adjusted:.3f}"),
    )


def _notes(comparisons: Sequence[Comparison]) -> tuple[str, ...]:
    said = [
        "Over the questions that both finished and that are judged in both; a win is a question where only the first "
        "has the outcome. Intervals are paired bootstraps over questions at 95 %.",
    ]
    for one in comparisons:
        name = f"{one.first.name} – {one.second.name} ({one.where.pair.name})"
        if one.differing:
            said.append(f"{name}: the settings differ: {'; '.join(one.differing)}.")
        if one.left_out:
            said.append(f"{name}: {one.left_out} of {one.shared} shared questions are not judged in both: left out.")
        if any(one.failed):
            said.append(
                f"{name}: {one.failed[0]} and {one.failed[1]} questions FAILED; an outage reads as wrong answers and "
                "as missed passages."
            )
    return tuple(dict.fromkeys(said))


def _certified_counts(comparisons: Sequence[Comparison]) -> Table:
    rows = []
    for one in comparisons:
        sides = ((one.first, one.second, one.first_found), (one.second, one.first, one.second_found))
        for finder, misser, found in sides:
            wrong = {score.id for score in misser.run.scores if score.right is False}
            of_wrong = found.of_questions(wrong)
            shared = {record.id for record in finder.run.records}
            missed = sum(
                len(set(record.gold_ids).difference(record.retrieved_ids))
                for record in misser.run.records
                if record.id in shared
            )
            rows.append(
                (
                    Cell(f"found by {finder.name}, missed by {misser.name}, {one.where.pair.name}"),
                    Cell(f"{len(found.by_search):,}", (f"of {missed:,} missed",)),
                    Cell(f"{len(of_wrong.by_search):,}"),
                    Cell(f"{len(found.by_read):,}"),
                    Cell(f"{len({item.question_id for item in found.by_search}):,}", (f"of n {one.shared:,}",)),
                )
            )
    columns = ("", "certified reachable", "where the one that missed is wrong", "by a read only, apart", "questions")
    return Table("Certified reachable, both ways", columns, tuple(rows), (_ONE_SIDED,), wide=True)


def _certified_lists(one: Comparison) -> list[Table]:
    """Each certified passage with the query that found it."""
    tables = []
    for finder, misser, found in (
        (one.first, one.second, one.first_found),
        (one.second, one.first, one.second_found),
    ):
        wrong = {score.id for score in misser.run.scores if score.right is False}
        rows = tuple(_certified_row(item, item.question_id in wrong) for item in (*found.by_search, *found.by_read))
        if rows:
            title = f"Found by {finder.name}, missed by {misser.name}: {one.where.pair.name}"
            columns = ("question", "passage", "tool", "query", "loop", "rank", f"{misser.name} is wrong")
            tables.append(Table(title, columns, rows, wide=True))
    return tables


def _certified_row(item: CertifiedPassage, wrong: bool) -> tuple[Cell, ...]:
    values = (
        item.question_id,
        item.title,
        item.tool.removesuffix("_search").replace("_", " "),
        item.query,
        str(item.loop),
        str(item.rank),
    )
    return tuple(Cell(value) for value in (*values, "yes" if wrong else "no"))
