"""A run's figures: each with its n, over the right questions, groups that make up the whole, nothing invented."""

import json
import random
from dataclasses import asdict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from executionrag.metrics.record import Failure, GoldHop, GoldPassage, QuestionRecord, Retrieved, Verdict
from executionrag.metrics.scoring import score
from executionrag.metrics.summary import Summary, summarize
from executionrag.program.register import Requirement
from executionrag.program.usage import StepUsage, Usage


def question(id, *, answer="Ana Kell", found=("a", "b"), hops=2, type="bridge", gold=("a", "b"), **about):
    """A question whose answer is Ana Kell and whose chain follows its gold passages; None is one without a passage."""
    usage = {"calls": 3, "prompt_tokens": 100, "completion_tokens": 10, "cost": 0.5, "retrieved_tokens": 40}
    steps = {"answer": StepUsage(calls=3, prompt_tokens=100, completion_tokens=10)}
    return QuestionRecord(
        id=id,
        question=f"Question {id}?",
        benchmark="musique",
        type=type,
        hops=hops,
        answers=("Ana Kell",),
        gold=tuple(GoldPassage(title=str(one), passage_id=one) for one in gold),
        chain=tuple(GoldHop(question="?", answer="", gold=place) for place in range(len(gold))),
        answer=answer,
        abstained=about.pop("abstained", False),
        stop_reason=about.pop("stop_reason", "resolved"),
        retrieved=tuple(
            Retrieved(passage_id=one, loop=0, tool="semantic_search", query="q", rank=rank, full=True)
            for rank, one in enumerate(found, 1)
        ),
        usage=Usage(**(usage | {"steps": steps, "seconds": 2.0} | about.pop("usage", {}))),
        **about,
    )


def resolved(*support):
    return Requirement(id="R1", text="?", status="resolved", answer="x", support=support)


FAILED = Failure(error="LMError", step="update", message="503")
RETIRED = Requirement(id="R1", text="?", status="retired", reason="not found")
RECORDS = [
    question("right", requirements=(resolved("a"),)),
    question("right-early", found=("a",)),
    question("missing", answer="Joren", found=("a",), hops=3, type="compare", gold=("a", "b", "c")),
    question("false", answer="Joren", found=("a", "z"), requirements=(resolved("z"),)),
    question("reasoning", answer="Joren"),
    question("gave-up", answer="Joren", found=(), stop_reason="budget_loops", requirements=(RETIRED,)),
    question("abstained", answer="", abstained=True, hops=4, type="compare", gold=("a", None, "c", "d"), found=("c",)),
    question("unmapped", answer="Joren", gold=(None, None), found=("z",)),
    question("failed", answer="", found=("a",), failure=FAILED, stop_reason="lm_error", usage={"cost": None}),
]


def said(record, verdict="right", **about):
    return Verdict(
        id=record.id, judge="judge/x", answer=record.answer, abstained=record.abstained, verdict=verdict, **about
    )


def summary_of(records, verdicts=None, **options):
    scores = [score(one, (verdicts or {}).get(one.id), judged_run=bool(verdicts)) for one in records]
    return summarize(records, scores, verdicts, **options)


def counts(categories):
    return {one.category: one.of_questions.count for one in categories}


def count_of(share):
    return share.count, share.n


@pytest.fixture(scope="module")
def plain():
    return summary_of(RECORDS)


def test_accuracy_is_over_all_questions_asked(plain):
    whole = plain.overall
    assert (whole.n, whole.failed, whole.unjudged) == (9, 1, 0)
    for share in (whole.exact_match, whole.contain, whole.substring, whole.right):
        assert count_of(share) == (2, 9)
    assert whole.f1.n == 9
    assert whole.f1.value == pytest.approx(2 / 9)
    assert (whole.right.estimate.value, whole.right.estimate.few) == (2 / 9, True)
    assert count_of(whole.abstained) == (1, 9)


def test_without_a_judge_it_says_so_and_has_no_llm_acc(plain):
    assert plain.wrong_is == "token contain-match, no judge"
    assert plain.judges == ()
    assert plain.overall.llm_acc is plain.overall.llm_acc_if_wrong is plain.overall.llm_acc_if_right is None
    assert plain.spent.judge is None


def test_every_wrong_answer_has_one_category_and_a_failed_question_is_no_error(plain):
    whole = plain.overall
    expected = {
        "Judge Error": 0,
        "Gave Up": 2,
        "Reasoning Error": 2,
        "Missing Evidence": 1,
        "Unmapped": 1,
        "Not scored": 1,
    }
    assert counts(whole.categories) == expected
    assert counts(whole.categories_without_false_resolution) == expected | {"Reasoning Error": 1, "Missing Evidence": 2}
    assert count_of(whole.errors) == (6, 9)
    by_name = {one.category: one for one in whole.categories}
    assert count_of(by_name["Gave Up"].of_errors) == (2, 6)
    assert by_name["Gave Up"].of_errors.estimate.n == 6
    assert by_name["Not scored"].of_errors is None


def test_what_only_gold_and_register_show_is_counted_beside(plain):
    whole = plain.overall
    # missing, false, gave-up and abstained; the failed one is no wrong answer
    assert count_of(whole.wrong_with_unretrieved_gold.of_questions) == (4, 9)
    assert count_of(whole.wrong_with_unretrieved_gold.of_errors) == (4, 6)
    assert count_of(whole.premature) == (4, 9)  # right-early, missing, false, abstained
    assert (whole.false_resolutions, whole.resolved) == (1, 2)
    assert count_of(whole.with_false_resolution) == (1, 9)
    assert count_of(whole.all_retired) == (1, 9)
    assert plain.has_register


def test_evidence_recall_leaves_out_questions_without_a_mapped_passage(plain):
    whole = plain.overall
    # right 1, right-early 1/2, missing 1/3, false 1/2, reasoning 1, gave-up 0, abstained 1/3, failed 1/2
    assert whole.recall.n == 8
    assert whole.recall.value == pytest.approx((1 + 1 / 2 + 1 / 3 + 1 / 2 + 1 + 0 + 1 / 3 + 1 / 2) / 8)
    assert count_of(whole.all_found) == (2, 8)
    assert plain.without_gold == 1
    assert (plain.gold_passages, plain.gold_mapped) == (7 * 2 + 3 + 4, 6 * 2 + 3 + 3)


def test_the_chain_is_counted_place_by_place_over_mapped_passages(plain):
    places = {one.position: count_of(one.found) for one in plain.overall.positions}
    assert places == {1: (6, 8), 2: (2, 7), 3: (1, 2), 4: (0, 1)}
    [three] = [one for one in plain.by_hops if one.name == "3"]
    assert [count_of(one.found) for one in three.positions] == [(1, 1), (0, 1), (0, 1)]


def test_groups_are_in_order_and_make_up_the_whole(plain):
    assert [(one.name, one.n) for one in plain.by_hops] == [("2", 7), ("3", 1), ("4", 1)]
    assert [(one.name, one.n) for one in plain.by_type] == [("bridge", 7), ("compare", 2)]


def test_hop_counts_are_ordered_as_numbers():
    summary = summary_of([question("x", hops=10), question("y", hops=9)])
    assert [one.name for one in summary.by_hops] == ["9", "10"]


def test_answers_that_the_judge_failed_on_are_left_out_and_bounded():
    verdicts = {one.id: said(one, "wrong", cost=0.1, prompt_tokens=5) for one in RECORDS}
    verdicts["right"] = said(RECORDS[0], "right", cost=None, prompt_tokens=7, completion_tokens=2)
    verdicts["reasoning"] = said(RECORDS[4], None, error="APIError", cost=0.1)
    del verdicts["missing"]  # not judged at all
    summary = summary_of(RECORDS, verdicts)
    whole = summary.overall
    assert summary.wrong_is == "LLM-Acc"
    assert summary.judges == ("judge/x",)
    assert whole.unjudged == 2
    assert count_of(whole.llm_acc) == count_of(whole.right) == (1, 7)
    assert count_of(whole.llm_acc_if_wrong) == (1, 9)
    assert count_of(whole.llm_acc_if_right) == (3, 9)
    assert count_of(whole.contain) == (2, 9)
    assert counts(whole.categories)["Judge Error"] == 1  # right-early
    assert count_of(whole.errors) == (5, 7)
    judge = summary.spent.judge
    # abstained and failed are wrong without being asked
    assert (judge.asked, judge.prompt_tokens, judge.completion_tokens) == (6, 4 * 5 + 7, 2)
    assert (judge.cost.total, judge.cost.unknown) == (None, 1)
    assert judge.cost.known == pytest.approx(0.5)


def test_spending_is_added_up_and_an_unknown_price_stays_unknown(plain):
    used = plain.spent
    assert (used.calls.total, used.calls.mean.value, used.calls.median) == (27, 3.0, 3)
    assert (used.prompt_tokens.total, used.completion_tokens.total, used.seconds.total) == (900, 90, 18.0)
    assert used.retrieved_passages.total == 2 + 1 + 1 + 2 + 2 + 0 + 1 + 1 + 1
    assert (used.cost.total, used.cost.known, used.cost.unknown) == (None, 4.0, 1)
    assert (used.cost.mean.value, used.cost.mean.n) == (0.5, 8)
    [step] = used.steps
    assert (step.step, step.calls, step.prompt_tokens) == ("answer", 27, 900)


def test_known_prices_add_up():
    assert summary_of(RECORDS[:3]).spent.cost.total == 1.5


def test_stop_reasons_name_those_that_an_exception_ended():
    records = [*RECORDS, question("lost", failure=FAILED, stop_reason="")]
    reasons = {one.reason: count_of(one.questions) for one in summary_of(records).stop_reasons}
    assert reasons == {"budget_loops": (1, 10), "exception": (1, 10), "lm_error": (1, 10), "resolved": (7, 10)}


def test_accuracy_by_retrieved_tokens_keeps_equal_counts_together():
    tokens = [10, 10, 10, 10, 10, 20, 30, 40]
    records = [
        question(str(place), answer="Ana Kell" if count == 10 else "Joren", usage={"retrieved_tokens": count})
        for place, count in enumerate(tokens)
    ]
    bins = [(one.low, one.high, one.mean, *count_of(one.right)) for one in summary_of(records).by_retrieved_tokens]
    assert bins == [(10, 10, 10.0, 5, 5), (20, 20, 20.0, 0, 1), (30, 40, 35.0, 0, 2)]


def test_no_question_gives_none_and_zero_never_nan():
    summary = summary_of([])
    assert summary.overall.n == 0
    assert summary.overall.right.estimate is summary.overall.f1 is summary.overall.recall is None
    assert summary.by_hops == summary.by_type == summary.by_retrieved_tokens == summary.stop_reasons == ()
    assert summary.spent.calls.mean is summary.spent.calls.median is None
    json.dumps(summary.model_dump(mode="json"), allow_nan=False)


def test_it_survives_json(plain):
    dumped = plain.model_dump_json()
    assert Summary.model_validate_json(dumped) == plain
    json.dumps(json.loads(dumped), allow_nan=False)
    assert json.loads(dumped)["overall"]["right"]["estimate"] == asdict(plain.overall.right.estimate)


def test_the_order_of_the_questions_changes_nothing_and_the_seed_is_told():
    shuffled = random.Random(1).sample(RECORDS, len(RECORDS))
    assert summary_of(shuffled, seed=5) == summary_of(RECORDS, seed=5)
    assert summary_of(RECORDS, seed=5).seed == 5


def test_scores_of_other_questions_or_by_another_definition_are_refused():
    scores = [score(one) for one in RECORDS]
    with pytest.raises(ValueError, match="same questions"):
        summarize(RECORDS, scores[1:])
    with pytest.raises(ValueError, match="judged_run"):
        summarize(RECORDS, scores, {RECORDS[0].id: said(RECORDS[0])})


verdict_words = st.sampled_from(["right", "wrong", None])


@settings(max_examples=12, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(RECORDS), verdict_words), min_size=1, max_size=12))
def test_groups_and_categories_partition_the_questions(drawn):
    records = [one.model_copy(update={"id": str(place)}) for place, (one, _) in enumerate(drawn)]
    verdicts = {one.id: said(one, word) for one, (_, word) in zip(records, drawn, strict=True)}
    for summary in (summary_of(records), summary_of(records, verdicts)):
        whole = summary.overall
        for parts in (summary.by_hops, summary.by_type):
            assert sum(part.n for part in parts) == whole.n == len(records)
            assert sum(part.right.count for part in parts) == whole.right.count
            assert sum(part.errors.count for part in parts) == whole.errors.count
            assert sum(part.unjudged for part in parts) == whole.unjudged
        for group in (whole, *summary.by_hops, *summary.by_type):
            for categories in (group.categories, group.categories_without_false_resolution):
                counted = counts(categories)
                assert sum(counted.values()) + group.right.count + group.unjudged == group.n
                assert sum(counted.values()) - counted["Not scored"] == group.errors.count
            assert group.wrong_with_unretrieved_gold.of_questions.count <= group.errors.count
            if group.llm_acc is not None:
                low, high = group.llm_acc_if_wrong.estimate.value, group.llm_acc_if_right.estimate.value
                assert low <= high
                assert group.llm_acc.estimate is None or low <= group.llm_acc.estimate.value <= high
        assert sum(one.questions.count for one in summary.stop_reasons) == len(records)
        assert sum(one.right.n for one in summary.by_retrieved_tokens) == whole.right.n
