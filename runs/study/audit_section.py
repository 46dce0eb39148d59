"""The reachability audit beside the systems: could the passages that wrong answers lack have been found?

Read from `audit.json` in a pair's folder, which is what `executionrag reachability --out` writes.
"""

from collections.abc import Sequence

from ...errors import UserError
from ...metrics.reachability import REACHES
from ..audit_file import NOT_PROBED, ONE_SIDED, load_audit
from ..report.page import Section
from ..report.table import Cell, Table
from .plan import AUDIT
from .runs import PairRuns


def audit_section(pairs: Sequence[PairRuns]) -> Section | None:
    """The split of missing passages, pair by pair; None where no pair was audited."""
    tables = [table for one in pairs if one.runs and (table := _table(one)) is not None]
    return Section("audit", "Reachability audit", tuple(tables)) if tables else None


def _table(one: PairRuns) -> Table | None:
    place = one.folder / AUDIT
    if not place.is_file():
        return None
    try:
        audit = load_audit(place)
        for run in one.runs:
            audit.check(run.run.settings)
    except UserError as error:
        told = (f"Left out: {error}. Remove {AUDIT} and audit again with --audit.",)
        return Table(one.pair.name, ("", "missing"), ((Cell("gold passages"), Cell("not audited")),), told)
    counts = [audit.missing(zip(run.run.records, run.run.scores, strict=True)) for run in one.runs]
    rows = [
        (Cell(kind), *(Cell(f"{found[kind]:,}", (f"of {sum(found.values()):,} missing",)) for found in counts))
        for kind in (*REACHES, NOT_PROBED)
    ]
    peers = ", ".join(peer.partition(" (")[0] for peer in audit.peers) or "none"
    note = (
        f"Gold passages that a wrong answer's search did not retrieve, by what retrieves them at k = {audit.k} with "
        "semantic or keyword search: unasked by the question, a gold sub-question or a peer's query; upper bound only "
        f"by its own title or first sentence. Peers: {peers}; a system's own queries are tried with the other tool "
        f"too. {ONE_SIDED}"
    )
    return Table(one.pair.name, ("", *(run.name for run in one.runs)), tuple(rows), (note,))
