"""Evidence recall by hop count and by position in the gold chain: charts, and the same figures as tables."""

from collections.abc import Sequence

from ...metrics.statistics import Estimate
from .chart import Chart, Point, Series
from .page import Section
from .summaries import NONE, RunSummary, estimate_cell, failed_notes, share_cell
from .table import Cell, Table


def evidence_section(runs: Sequence[RunSummary]) -> Section:
    """How much of the gold evidence was retrieved."""
    names = [one.name for one in runs]
    by_hops = [{int(group.name): group for group in one.summary.by_hops} for one in runs]
    hops = sorted({count for groups in by_hops for count in groups})
    by_place = [{place.position: place.found for place in one.summary.overall.positions} for one in runs]
    places = sorted({place for found in by_place for place in found})
    recall_rows = [
        (
            Cell(f"{count} hops"),
            *(estimate_cell(groups[count].recall) if count in groups else NONE for groups in by_hops),
        )
        for count in hops
    ]
    recall_rows.append((Cell("all"), *(estimate_cell(one.summary.overall.recall) for one in runs)))
    full_rows = [
        (
            Cell(f"{count} hops"),
            *(share_cell(groups[count].all_found) if count in groups else NONE for groups in by_hops),
        )
        for count in hops
    ]
    place_rows = [(Cell(f"hop {place}"), *(share_cell(found.get(place)) for found in by_place)) for place in places]
    columns = ("", *names)
    charts = [
        Chart(
            "chart-recall-hops",
            "Evidence recall by hop count",
            "hops of the question",
            "mean evidence recall",
            tuple((float(count), str(count)) for count in hops),
            tuple(
                Series(one.name, _points({count: group.recall for count, group in sorted(groups.items())}))
                for one, groups in zip(runs, by_hops, strict=True)
            ),
        )
    ]
    tables = [
        Table("Evidence recall by hop count", columns, tuple(recall_rows), failed_notes(runs)),
        Table("All gold retrieved, by hop count", columns, tuple(full_rows)),
    ]
    if places:
        charts.append(
            Chart(
                "chart-recall-position",
                "Gold passage retrieved, by position in the chain",
                "position in the gold chain",
                "share retrieved",
                tuple((float(place), str(place)) for place in places),
                tuple(
                    Series(one.name, _points({place: share.estimate for place, share in sorted(found.items())}))
                    for one, found in zip(runs, by_place, strict=True)
                ),
            )
        )
        note = "Over the questions whose passage at that place is mapped; later places are those of longer questions."
        tables.append(Table("Gold passage retrieved, by position in the chain", columns, tuple(place_rows), (note,)))
    return Section("evidence", "Evidence", tuple(tables), tuple(charts))


def _points(estimates: dict[int, Estimate | None]) -> tuple[Point, ...]:
    return tuple(
        Point(float(x), one.value, one.n, one.low, one.high, one.few) for x, one in estimates.items() if one is not None
    )
