"""Scores of one question from its record alone, and a judge's verdict where there is one.

Policy. A failed question scores 0 and is not right, whatever a judge says of it. Where the run has a judge, it alone
decides what is right; where it could not say, or its verdict is missing or is on another answer, `right` is None.
Without a judge token contain-match decides.
"""

from .contain_match import contain_match
from .evidence_recall import evidence_recall, found_by_hop
from .exact_match import exact_match
from .failure_category import failure_category, false_resolutions, premature_resolution, unretrieved_gold
from .record import QuestionRecord, Verdict
from .score import Score
from .substring_match import substring_match
from .token_f1 import token_f1


def score(
    record: QuestionRecord, verdict: Verdict | None = None, *, judged_run: bool = False, imported: bool = False
) -> Score:
    """Score one question.

    Args:
        record: The answered or failed question.
        verdict: A judge's; one on another question or answer counts as missing.
        judged_run: The run has a judge, so that a missing verdict is one that the judge failed to give.
        imported: The answer is another system's prediction; phrases that give up count as abstaining.
    """
    failed = record.failure is not None
    golds, answer, none = record.answers, record.answer, record.abstained or failed
    exact, contain = exact_match(golds, answer, none), contain_match(golds, answer, none)
    judged, judge_failed = _judged(record, verdict, judged_run)
    has_judge = judged_run or verdict is not None
    right: bool | None = judged if has_judge else contain
    if failed:
        right = False
    category = without = None
    if right is False:
        judge_error = judged is False and bool(answer.strip()) and (exact or contain)
        category = failure_category(record, judge_error=judge_error, imported=imported)
        without = failure_category(record, judge_error=judge_error, imported=imported, count_false_resolution=False)
    missed = unretrieved_gold(record)
    return Score(
        id=record.id,
        type=record.type,
        hops=record.hops,
        failed=failed,
        exact_match=float(exact),
        f1=token_f1(golds, answer, benchmark=record.benchmark, abstained=none),
        contain=contain,
        substring=substring_match(golds, answer, none),
        judged=judged,
        judge_failed=judge_failed,
        right=right,
        recall=evidence_recall(record.gold_ids, record.retrieved_ids),
        all_found=not missed if record.gold_ids else None,
        hops_found=found_by_hop(record.hop_ids, record.retrieved_ids),
        category=category,
        category_without_false_resolution=without,
        false_resolutions=len(false_resolutions(record)),
        unretrieved_gold=bool(missed),
        premature=premature_resolution(record),
        abstained=record.abstained,
        stop_reason=record.stop_reason,
    )


def _judged(record: QuestionRecord, verdict: Verdict | None, judged_run: bool) -> tuple[bool | None, bool]:
    """What the judge says, and whether it was to say something and did not."""
    if verdict is None and not judged_run:
        return None, False
    if record.failure is not None:  # wrong without the judge being asked
        return False, False
    about = (record.id, record.answer, record.abstained)
    if verdict is None or verdict.verdict is None or (verdict.id, verdict.answer, verdict.abstained) != about:
        return None, True
    return verdict.verdict == "right", False
