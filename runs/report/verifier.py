"""The report's section on a verifier: what it did to drafts, what it saw of the evidence, what it cost.

Only for runs with a verification in their records; one column a run.
"""

from collections.abc import Callable, Sequence

from ...metrics.verifier import SearchScores, VerifierScores, VerifySpent, verifier_scores
from ...metrics.verifier_drafts import AuditScores, Drafts
from .page import Section
from .summaries import NONE, RunSummary, count_cell, estimate_cell, failed_notes, share_cell
from .table import Cell, Table

_SPENT = (
    ("calls", "LM calls", ".2f"),
    ("cached_calls", "of them answered from the cache", ".2f"),
    ("prompt_tokens", "prompt tokens, billed", ",.0f"),
    ("completion_tokens", "completion tokens, billed", ",.0f"),
)
_FATES: tuple[tuple[str, Callable[[Drafts], Cell]], ...] = (
    ("withheld", lambda drafts: count_cell(drafts.withheld)),
    ("kept", lambda drafts: count_cell(drafts.kept)),
    ("corrected to a right answer", lambda drafts: count_cell(drafts.corrected_to_right)),
    ("corrected to a wrong answer", lambda drafts: count_cell(drafts.corrected_to_wrong)),
)


def verifier_section(runs: Sequence[RunSummary]) -> Section | None:
    """The verifiers of the runs, side by side; None where no run has a verification."""
    tables = verifier_tables(runs)
    return Section("verifier", "Verifier", tables) if tables else None


def verifier_tables(runs: Sequence[RunSummary]) -> tuple[Table, ...]:
    """Drafts (where some run audits), evidence, cost; none where no run has a verification."""
    scored = [(one, scores) for one in runs if (scores := verifier_scores(one.run.records, seed=one.summary.seed))]
    if not scored:
        return ()
    columns = ("", *(one.name for one, _ in scored))
    failed = failed_notes([one for one, _ in scored])
    each = [scores for _, scores in scored]
    tables = [
        Table("Verifier: evidence", columns, _evidence_rows(each), (*_EVIDENCE_NOTES, *failed)),
        Table("Verifier: cost a question", columns, _spent_rows(each), (_SPENT_NOTE, *failed)),
    ]
    if any(scores.audit for scores in each):
        tables.insert(0, Table("Verifier: drafted answers", columns, _draft_rows(each), (_DRAFT_NOTE, *failed)))
    return tuple(tables)


_DRAFT_NOTE = (
    "Right and wrong are token contain-match's here, of draft and final answer alike, even where the run is judged: a "
    "judge has read the final answer only. A draft that abstains is counted apart. Before and after are the same "
    "questions on the same evidence, over all that were audited."
)
_EVIDENCE_NOTES = (
    "Premature: nothing was open and a mapped gold passage had not been retrieved when the verifier read the register. "
    "Caught: it found a requirement unsupported (audit) or reopened one (search). False alarm: the same where all "
    "mapped gold had been retrieved. It reads what the register claims and sees no gold, and gold annotation is not "
    "exhaustive: a false alarm may be a fair objection.",
    "In search mode a question may be verified more than once; the intervals treat verifications as independent.",
)
_SPENT_NOTE = (
    "Of the verifying step alone, a mean over all questions of the run; part of what the efficiency tables give. "
    "A call that the cache answered bills no tokens."
)


def _draft_rows(each: Sequence[VerifierScores]) -> tuple[tuple[Cell, ...], ...]:
    def row(name: str, cell: Callable[[AuditScores], Cell]) -> tuple[Cell, ...]:
        return (Cell(name), *(NONE if scores.audit is None else cell(scores.audit) for scores in each))

    def fates(kind: str, of: Callable[[AuditScores], Drafts]) -> list[tuple[Cell, ...]]:
        return [row(f"{kind}: {fate}", _composed(of, cell)) for fate, cell in _FATES]

    return (
        row("right before", lambda audit: share_cell(audit.right_before)),
        row("right after", lambda audit: share_cell(audit.right_after)),
        *fates("right draft", lambda audit: audit.right),
        *fates("wrong draft", lambda audit: audit.wrong),
        *fates("abstained draft", lambda audit: audit.abstained),
    )


def _composed(of: Callable[[AuditScores], Drafts], cell: Callable[[Drafts], Cell]) -> Callable[[AuditScores], Cell]:
    return lambda audit: cell(of(audit))


def _evidence_rows(each: Sequence[VerifierScores]) -> tuple[tuple[Cell, ...], ...]:
    def row(name: str, cell: Callable[[VerifierScores], Cell]) -> tuple[Cell, ...]:
        return (Cell(name), *(cell(scores) for scores in each))

    rows = [
        row("questions verified", lambda scores: count_cell(scores.verified)),
        row("verifications", lambda scores: Cell(f"{scores.verifications:,}")),
        row("premature resolutions caught", lambda scores: count_cell(scores.caught)),
        row("premature resolutions missed", lambda scores: count_cell(scores.missed)),
        row("false alarms", lambda scores: count_cell(scores.false_alarms)),
        row("verifications in which the rules refused something", lambda scores: count_cell(scores.overruled)),
    ]
    if any(scores.search for scores in each):

        def searched(name: str, cell: Callable[[SearchScores], Cell]) -> tuple[Cell, ...]:
            return row(name, lambda scores: NONE if scores.search is None else cell(scores.search))

        rows += [
            searched("questions with an item reopened", lambda search: count_cell(search.questions_reopened)),
            searched("items reopened", lambda search: Cell(f"{search.items_reopened:,}")),
            searched("missing gold passages that came after a reopening", lambda search: count_cell(search.gold_after)),
        ]
    return tuple(rows)


def _spent_rows(each: Sequence[VerifierScores]) -> tuple[tuple[Cell, ...], ...]:
    def cell(spent: VerifySpent, form: str) -> Cell:
        told = estimate_cell(spent.mean, form)
        return Cell(told.text, (*told.details, f"total {spent.total:,}"), told.few)

    return tuple((Cell(label), *(cell(getattr(scores, name), form) for scores in each)) for name, label, form in _SPENT)
