"""What an audit did to drafted answers, measured against gold.

Draft and final answer are right where token contain-match says so, whatever judge the run has: a judge has read the
final answer only. A draft that abstains is neither right nor wrong and is counted apart.
"""

from collections.abc import Iterable, Sequence

from ..program.trajectory import VerifyStep
from .contain_match import contain_match
from .summary_group import Share, share
from .value import Value


class Drafts(Value):
    """What became of the drafts of one kind, each a share of them; the four make up all."""

    kept: Share
    withheld: Share
    corrected_to_right: Share
    corrected_to_wrong: Share


class AuditScores(Value):
    """What an audit did to drafted answers; the last two are over all audited ones, on the very same evidence."""

    right: Drafts
    wrong: Drafts
    abstained: Drafts
    right_before: Share
    right_after: Share


def audit_scores(audits: Sequence[tuple[Sequence[str], VerifyStep]]) -> AuditScores | None:
    """Score audits, each with the gold answers of its question; None where there are none."""
    if not audits:
        return None
    told = [(step, contain_match(golds, step.draft), contain_match(golds, step.answer)) for golds, step in audits]

    def drafts(kind: Iterable[tuple[VerifyStep, bool, bool]]) -> Drafts:
        done = [(step.decision, after) for step, _, after in kind]

        def count(decision: str, *rightness: bool) -> Share:
            return share(sum(what == decision and after in rightness for what, after in done), len(done))

        return Drafts(
            kept=count("keep", True, False),
            withheld=count("withhold", True, False),
            corrected_to_right=count("correct", True),
            corrected_to_wrong=count("correct", False),
        )

    given = [one for one in told if one[0].draft.strip()]
    return AuditScores(
        right=drafts(one for one in given if one[1]),
        wrong=drafts(one for one in given if not one[1]),
        abstained=drafts(one for one in told if not one[0].draft.strip()),
        right_before=share(sum(before for _, before, _ in told), len(told)),
        right_after=share(sum(after for _, _, after in told), len(told)),
    )
