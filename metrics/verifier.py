"""A verifier's own scores, measured against gold from the records alone.

What an audit did to drafts is in `verifier_drafts`. Of the evidence, in both modes: a verification counts where no item
was open (in `audit`: the question stopped as resolved; in `search`: always) and a gold passage is mapped. It is of a
*premature resolution* where some mapped gold passage is not among those that tools had returned before it. The verifier
calls the evidence insufficient by an unsupported requirement in `audit`, by reopening in `search`: that catches a
premature resolution, and is a false alarm where all mapped gold was there. It reads what the register claims and sees
no gold: a false alarm may be a fair objection to a requirement resolved on another passage.

In `search` a question may be verified more than once; intervals treat verifications as independent.
"""

from collections.abc import Sequence

from ..program.trajectory import SearchStep, VerifyStep
from ..program.usage import StepUsage
from .record import QuestionRecord
from .statistics import Estimate, mean
from .summary_group import Share, share
from .value import Value
from .verifier_drafts import AuditScores, audit_scores


class SearchScores(Value):
    """What reopening came to.

    Attributes:
        questions_reopened: Verified questions in which an item was reopened.
        items_reopened: Reopenings of items in all.
        gold_after: Mapped gold passages missing when their question was first reopened that a tool then returned.
    """

    questions_reopened: Share
    items_reopened: int
    gold_after: Share


class VerifySpent(Value):
    """A quantity of the verifying step: in all, and its mean per question of the run."""

    total: int
    mean: Estimate | None


class VerifierScores(Value):
    """The scores of a run with a verifier.

    Attributes:
        verified: Questions with a verification; in the others it was not asked, or could not be read.
        verifications: In all; as many as `verified` in an audit.
        overruled: Verifications of which the rules refused something.
        caught: Premature resolutions that were called insufficient.
        missed: Those that were not.
        false_alarms: Verifications called insufficient, of those with all mapped gold retrieved.
        audit: None where nothing was audited.
        search: None where nothing was verified before the answer.
        calls: LM calls of the step, retries and those answered from the cache included.
        cached_calls: Those that the cache answered.
        prompt_tokens: Billed.
        completion_tokens: Billed.
    """

    verified: Share
    verifications: int
    overruled: Share
    caught: Share
    missed: Share
    false_alarms: Share
    audit: AuditScores | None
    search: SearchScores | None
    calls: VerifySpent
    cached_calls: VerifySpent
    prompt_tokens: VerifySpent
    completion_tokens: VerifySpent


def verifier_scores(records: Sequence[QuestionRecord], *, seed: int = 0) -> VerifierScores | None:
    """Score the verifier of a run; None where no record has a verification.

    Args:
        records: The run's questions, failed ones too.
        seed: Of the bootstraps of what was spent.
    """
    steps = [(record, step, missing) for record in records for step, missing in _verifications(record)]
    if not steps:
        return None
    closed = [(step, missing) for record, step, missing in steps if record.gold_ids and _closed(record, step)]
    premature = [_insufficient(step) for step, missing in closed if missing]
    complete = [_insufficient(step) for step, missing in closed if not missing]
    used = [record.usage.steps.get("verify", StepUsage()) for record in records]
    spent = {
        name: VerifySpent(total=sum(each), mean=mean(each, seed=seed))
        for name in ("calls", "cached_calls", "prompt_tokens", "completion_tokens")
        for each in ([getattr(one, name) for one in used],)
    }
    return VerifierScores(
        verified=share(sum(bool(_verifications(record)) for record in records), len(records)),
        verifications=len(steps),
        overruled=share(sum(bool(step.refused) for _, step, _ in steps), len(steps)),
        caught=share(sum(premature), len(premature)),
        missed=share(len(premature) - sum(premature), len(premature)),
        false_alarms=share(sum(complete), len(complete)),
        audit=audit_scores([(record.answers, step) for record, step, _ in steps if step.mode == "audit"]),
        search=_search(records),
        **spent,
    )


def _verifications(record: QuestionRecord) -> list[tuple[VerifyStep, set[str]]]:
    """Each verification, with the mapped gold passages that no tool had returned before it."""
    missing, found = set(record.gold_ids), []
    for step in record.trajectory:
        if isinstance(step, SearchStep):
            missing = missing.difference(one.passage_id for one in step.found)
        elif isinstance(step, VerifyStep):
            found.append((step, missing))
    return found


def _closed(record: QuestionRecord, step: VerifyStep) -> bool:
    return step.mode == "search" or record.stop_reason == "resolved"


def _insufficient(step: VerifyStep) -> bool:
    return step.insufficient if step.mode == "audit" else step.decision == "reopen"


def _search(records: Sequence[QuestionRecord]) -> SearchScores | None:
    verified = [
        (record, found)
        for record in records
        if (found := [one for one in _verifications(record) if one[0].mode == "search"])
    ]
    if not verified:
        return None
    reopened = [(record, [one for one in found if one[0].reopened]) for record, found in verified]
    first = [(record, found[0][1]) for record, found in reopened if found]
    lacked = [(passage, record) for record, missing in first for passage in missing]
    return SearchScores(
        questions_reopened=share(len(first), len(verified)),
        items_reopened=sum(len(step.reopened) for _, found in reopened for step, _ in found),
        gold_after=share(sum(passage in _returned(record) for passage, record in lacked), len(lacked)),
    )


def _returned(record: QuestionRecord) -> set[str]:
    return {one.passage_id for step in record.searches for one in step.found}
