"""The reachability audit beside the systems: could the passages that wrong answers lack have been found?

Read from `audit.json` in a pair's folder, which is what `executionrag reachability --json` printed.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ...errors import UserError
from ...metrics.failure_category import unretrieved_gold
from ...metrics.reachability import REACHES
from ..report.page import Section
from ..report.summaries import RunSummary, prefix
from ..report.table import Cell, Table
from .plan import AUDIT
from .runs import PairRuns

_NOT_PROBED = "not probed"


def audit_section(pairs: Sequence[PairRuns]) -> Section | None:
    """The split of missing passages, pair by pair; None where no pair was audited."""
    tables = [table for one in pairs if one.runs and (table := _table(one)) is not None]
    return Section("audit", "Reachability audit", tuple(tables)) if tables else None


def _table(one: PairRuns) -> Table | None:
    told = _read(one.folder / AUDIT)
    if told is None:
        return None
    settings = one.runs[0].run.settings
    if any(told.get(name) != settings.get(name) for name in ("index_digest", "benchmark_digest")):
        note = f"{AUDIT} is of another index or benchmark file and is left out; remove it and audit again with --audit."
        return Table(one.pair.name, ("",), (), (note,))
    reach = {(row["question_id"], row["passage_id"]): str(row["reach"]) for row in told["passages"]}
    rows = []
    for kind in (*REACHES, _NOT_PROBED):
        counts = [_missing(run, reach) for run in one.runs]
        cells = (Cell(f"{found.count(kind):,}", (f"of {len(found):,} missing",)) for found in counts)
        rows.append((Cell(kind), *cells))
    peers = ", ".join(str(peer).partition(" (")[0] for peer in told["peers"]) or "none"
    notes = (
        f"Gold passages that a wrong answer's search did not retrieve, by what retrieves them at k = {told['k']} with "
        "semantic or keyword search: unasked by the question, a gold sub-question or a peer's query; upper bound only "
        f"by its own title or first sentence. Peers: {peers}. {told['one_sided']}",
        *(
            f"{prefix(one.runs, run)}the audit searched with k = {told['k']}, the run with {run.run.settings.get('k')}."
            for run in one.runs
            if run.run.settings.get("k") != told["k"]
        ),
    )
    return Table(one.pair.name, ("", *(run.name for run in one.runs)), tuple(rows), notes)


def _missing(run: RunSummary, reach: dict[tuple[str, str], str]) -> list[str]:
    """What becomes of each missing passage of a wrong answer."""
    return [
        reach.get((record.id, passage), _NOT_PROBED)
        for record, score in zip(run.run.records, run.run.scores, strict=True)
        if score.right is False and not score.failed
        for passage in unretrieved_gold(record)
    ]


def _read(place: Path) -> dict[str, Any] | None:
    if not place.is_file():
        return None
    try:
        told = json.loads(place.read_text(encoding="utf-8"))
        if not {"passages", "k", "peers", "one_sided"} <= told.keys():
            raise ValueError("fields are missing")
    except (OSError, ValueError, AttributeError) as error:
        raise UserError(f"{place}: no audit that can be read ({error}); remove it and audit again") from error
    audit: dict[str, Any] = told
    return audit
