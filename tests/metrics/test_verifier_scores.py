"""A verifier's scores, counted by hand: drafts right and wrong, premature resolutions caught, gold after reopening."""

import pytest

from executionrag.metrics.record import Failure, GoldPassage, QuestionRecord
from executionrag.metrics.verifier import verifier_scores
from executionrag.program.trajectory import Check, Found, SearchStep, VerifyStep
from executionrag.program.usage import StepUsage, Usage

GOOD = (Check(id="R1", supported=True),)
BAD = (Check(id="R1", supported=True), Check(id="R2", supported=False, missing="the year"))


def search(*ids, loop=0, tool="semantic_search"):
    found = tuple(Found(alias=one, passage_id=one, title="", rank=rank) for rank, one in enumerate(ids, start=1))
    return SearchStep(loop=loop, target=None, tool=tool, query="q", found=found)


def audit(decision="keep", draft="Mell", answer=None, checks=GOOD, refused=()):
    final = draft if answer is None else answer
    return VerifyStep(
        loop=1, mode="audit", checks=checks, decision=decision, draft=draft, answer=final, refused=refused
    )


def look(*reopened, checks=BAD):
    decision = "reopen" if reopened else "sufficient"
    return VerifyStep(loop=1, mode="search", checks=checks, decision=decision, reopened=reopened)


def record(*steps, gold=("g1", "g2"), stop_reason="resolved", used=None, **more):
    return QuestionRecord(
        id="q",
        question="Who?",
        benchmark="minihop",
        type="bridge",
        hops=2,
        answers=("Corisande Mell", "Mell"),
        gold=tuple(GoldPassage(title=str(one), passage_id=one) for one in gold),
        stop_reason=stop_reason,
        trajectory=steps,
        usage=Usage(steps={} if used is None else {"verify": used}),
        **more,
    )


def counts(share):
    return share.count, share.n


def fates(drafts):
    return [counts(one) for one in (drafts.kept, drafts.withheld, drafts.corrected_to_right, drafts.corrected_to_wrong)]


def test_a_run_without_a_verification_has_no_scores():
    assert verifier_scores([]) is None
    assert verifier_scores([record(search("g1"))]) is None


class TestAudit:
    def test_every_draft_is_counted_by_what_it_was_and_what_became_of_it(self):
        scores = verifier_scores(
            [
                record(audit()),  # right, kept
                record(audit(draft="Corisande Mell, the printer")),  # right: the gold stands in it; kept
                record(audit("withhold", answer="")),  # right, withheld
                record(audit("correct", answer="Ada Voss")),  # right, corrected to wrong
                record(audit("correct", draft="Mell (1902)", answer="Corisande Mell")),  # right, reworded
                record(audit(draft="Voss")),  # wrong, kept
                record(audit("withhold", draft="Voss", answer="")),  # wrong, withheld
                record(audit("withhold", draft="Orne", answer="")),  # wrong, withheld
                record(audit("correct", draft="Voss", answer="Mell")),  # wrong, corrected to right
                record(audit("correct", draft="Voss", answer="Orne")),  # wrong, corrected to wrong
                record(audit(draft="")),  # abstained, kept
                record(audit("correct", draft="", answer="Mell")),  # abstained, corrected to right
            ]
        ).audit
        assert fates(scores.right) == [(2, 5), (1, 5), (1, 5), (1, 5)]
        assert fates(scores.wrong) == [(1, 5), (2, 5), (1, 5), (1, 5)]
        assert fates(scores.abstained) == [(1, 2), (0, 2), (1, 2), (0, 2)]
        assert counts(scores.right_before) == (5, 12)
        assert counts(scores.right_after) == (5, 12)  # two right ones lost, one wrong and one abstained one won

    def test_shares_carry_their_wilson_interval_and_nothing_of_nothing_has_none(self):
        scores = verifier_scores([record(audit()), *[record(audit("withhold", answer=""))] * 3]).audit
        estimate = scores.right.withheld.estimate
        assert (estimate.value, estimate.n, estimate.few) == (0.75, 4, True)
        assert (estimate.low, estimate.high) == pytest.approx((0.3006, 0.9544), abs=1e-4)
        assert scores.wrong.withheld.estimate is None

    def test_an_objection_catches_a_premature_resolution_whatever_becomes_of_the_draft(self):
        scores = verifier_scores(
            [
                record(search("g1"), audit(checks=BAD)),  # premature, caught though the draft was kept
                record(search("x"), search("g2", loop=1), audit("withhold", answer="", checks=BAD)),  # caught
                record(search("g2"), audit()),  # premature, missed
                record(search("g1", "g2"), audit(checks=BAD)),  # all there: a false alarm
                record(search("g1"), search("g2", loop=1, tool="read_passages"), audit()),  # all there, and said so
                record(search("g1", "g2"), audit()),
            ]
        )
        assert counts(scores.caught) == (2, 3)
        assert counts(scores.missed) == (1, 3)
        assert counts(scores.false_alarms) == (1, 3)
        assert scores.search is None

    @pytest.mark.parametrize("stop_reason", ["budget_loops", "budget_tokens", "context_overflow"])
    def test_an_answer_forced_with_items_open_is_no_resolution(self, stop_reason):
        forced = [
            record(search("g1"), audit(checks=BAD), stop_reason=stop_reason),
            record(search("g1", "g2"), audit(checks=BAD), stop_reason=stop_reason),
        ]
        scores = verifier_scores(forced)
        assert (scores.caught.n, scores.false_alarms.n) == (0, 0)
        assert counts(scores.audit.right_before) == (2, 2)

    def test_gold_that_the_corpus_lacks_says_nothing_of_evidence(self):
        scores = verifier_scores([record(audit(checks=BAD), gold=(None, None)), record(search("g1"), audit())])
        assert counts(scores.caught) == (0, 1)
        assert scores.false_alarms.n == 0
        partly = verifier_scores([record(search("g1"), audit(checks=BAD), gold=("g1", None))])
        assert counts(partly.false_alarms) == (1, 1)  # the one that is mapped was there
        assert partly.caught.n == 0

    def test_what_comes_after_a_verification_was_not_there_for_it(self):
        assert counts(verifier_scores([record(search("g1"), audit(), search("g2"))]).missed) == (1, 1)

    def test_questions_without_a_verification_and_refusals_are_counted(self):
        failure = Failure(error="LMTimeoutError", step="update", message="no reply")
        unasked = [record(stop_reason="no_requirements"), record(stop_reason="lm_error", failure=failure)]
        refused = record(audit(refused=("withholding the answer: no requirement lacks support",)))
        scores = verifier_scores([record(audit()), refused, *unasked])
        assert counts(scores.verified) == (2, 4)
        assert counts(scores.overruled) == (1, 2)


class TestSearch:
    def test_each_verification_is_held_against_what_had_come_by_then(self):
        scores = verifier_scores(
            [
                # premature and caught; g2 comes; then sufficient with all there
                record(search("g1"), look("R2"), search("g2", loop=2), look(checks=GOOD)),
                # premature and caught twice; g1 comes after the first, g2 never
                record(search("x"), look("R1", "R2"), search("g1", loop=2), look("R2"), search("y", loop=3)),
                # an objection that reopened nothing: missed
                record(search("g1"), look()),
                # all there, reopened: a false alarm
                record(search("g2", "g1"), look("R1"), search("z", loop=2), stop_reason="budget_loops"),
                record(search("g1", "g2"), look(checks=GOOD)),
            ]
        )
        assert scores.verifications == 7
        assert counts(scores.verified) == (5, 5)
        assert counts(scores.caught) == (3, 4)
        assert counts(scores.missed) == (1, 4)
        assert counts(scores.false_alarms) == (1, 3)
        assert counts(scores.search.questions_reopened) == (3, 5)
        assert scores.search.items_reopened == 1 + 2 + 1 + 1
        assert counts(scores.search.gold_after) == (2, 3)  # of g2; g1 and g2; none
        assert scores.audit is None

    def test_gold_is_missing_once_however_often_a_question_is_reopened(self):
        twice = record(search("g1"), look("R2"), look("R2"), search("g2", "g2", loop=3))
        assert counts(verifier_scores([twice]).search.gold_after) == (1, 1)


def test_cost_is_of_the_verifying_step_over_all_questions():
    used = StepUsage(calls=2, cached_calls=1, prompt_tokens=900, completion_tokens=60)
    other = Usage(steps={"update": StepUsage(calls=7, prompt_tokens=7000)})
    without = record().model_copy(update={"usage": other})
    scores = verifier_scores([record(audit(), used=used), record(audit(), used=used), without])
    spent = (scores.calls, scores.cached_calls, scores.prompt_tokens, scores.completion_tokens)
    assert [one.total for one in spent] == [4, 2, 1800, 120]
    assert [one.mean.value for one in spent] == pytest.approx([4 / 3, 2 / 3, 600, 40])
    assert scores.calls.mean.n == 3
