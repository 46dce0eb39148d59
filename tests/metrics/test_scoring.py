"""A record's scores: who decides what is right, what failed questions count as, and that nothing ever raises."""

import dspy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from executionrag import metrics
from executionrag.metrics.efficiency import efficiency
from executionrag.metrics.record import Failure, GoldHop, GoldPassage, QuestionRecord, Retrieved, Verdict
from executionrag.metrics.score import Category
from executionrag.metrics.scoring import score
from executionrag.program.register import Requirement
from executionrag.program.usage import Usage

CATEGORIES = set(Category.__args__)


def asked(**changes):
    fields = {
        "id": "q1",
        "question": "Are both towns on the river?",
        "benchmark": "hotpotqa",
        "type": "comparison",
        "hops": 2,
        "answers": ("yes",),
        "gold": (GoldPassage(title="Tarn", passage_id="g1"), GoldPassage(title="Kell", passage_id="g2")),
        "answer": "Yes, both are.",
        "stop_reason": "resolved",
    }
    return QuestionRecord(**{**fields, **changes})


def verdict_on(record, verdict, **changes):
    fields = {"id": record.id, "judge": "j", "answer": record.answer, "abstained": record.abstained}
    return Verdict(**{**fields, "verdict": verdict, **changes})


class TestWhoDecidesWhatIsRight:
    def test_contain_match_where_there_is_no_judge(self):
        assert score(asked()).right is True
        assert score(asked(answer="I think yes")).right is False
        assert (score(asked()).judged, score(asked()).judge_failed) == (None, False)

    @pytest.mark.parametrize(("said", "right"), [("right", True), ("wrong", False)])
    def test_the_judge_where_there_is_one(self, said, right):
        record = asked(answer="indeed")
        scored = score(record, verdict_on(record, said))
        assert (scored.right, scored.judged, scored.judge_failed, scored.contain) == (right, right, False, False)

    def test_nobody_where_the_judge_failed(self):
        record = asked()
        for scored in (
            score(record, verdict_on(record, None), judged_run=True),
            score(record, judged_run=True),
            score(record, verdict_on(record, "right", answer="No"), judged_run=True),  # on another answer
            score(record, verdict_on(record, "right", abstained=True)),
            score(record, verdict_on(record, "right", id="q2")),
        ):
            assert (scored.right, scored.judged, scored.judge_failed, scored.category) == (None, None, True, None)

    @pytest.mark.parametrize("judged_run", [True, False])
    def test_a_failed_question_is_not_right_whatever_anyone_says(self, judged_run):
        record = asked(failure=Failure(error="E", step="answer", message=""), answer="yes")
        scored = score(record, judged_run=judged_run)
        assert (scored.failed, scored.right, scored.category) == (True, False, "Not scored")
        assert (scored.exact_match, scored.f1, scored.contain, scored.substring) == (0.0, 0.0, False, False)
        assert (scored.judged, scored.judge_failed) == (False if judged_run else None, False)
        assert score(record, verdict_on(record, "right")).right is False


def test_every_score_of_a_literal_record():
    retrieved = Retrieved(passage_id="g2", loop=1, tool="keyword_search", query="q", rank=1, full=False)
    hops = (GoldHop(question="a?", answer="a", gold=0), GoldHop(question="b?", answer="b", gold=1))
    record = asked(retrieved=(retrieved,), chain=(*hops, GoldHop(question="c?", answer="c")))
    scored = score(record)
    assert (scored.id, scored.type, scored.hops, scored.stop_reason) == ("q1", "comparison", 2, "resolved")
    assert (scored.exact_match, scored.f1) == (0.0, 0.0)  # HotpotQA's rule
    assert score(asked(benchmark="musique")).f1 == pytest.approx(0.5)
    assert (scored.contain, scored.substring, scored.abstained) == (True, True, False)
    assert (scored.recall, scored.all_found, scored.hops_found) == (0.5, False, (False, True, None))
    assert (scored.unretrieved_gold, scored.premature, scored.category) == (True, True, None)


def test_evidence_scores_are_none_where_nothing_is_mapped():
    scored = score(asked(gold=(GoldPassage(title="Tarn", passage_id=None),)))
    assert (scored.recall, scored.all_found, scored.unretrieved_gold, scored.premature) == (None, None, False, False)


IDS = st.sampled_from(["a", "b", "c", "d"])
WORDS = st.one_of(st.sampled_from(["yes", "no", "A", "the", "Mary Kell", "", "unknown", "!"]), st.text(max_size=12))


@st.composite
def records(draw):
    statuses = st.sampled_from(["pending", "active", "resolved", "retired"])
    gold = draw(st.lists(st.one_of(st.none(), IDS), max_size=3))
    return asked(
        benchmark=draw(st.sampled_from(["musique", "hotpotqa", "2wiki", "minihop", "arag", "else"])),
        answers=tuple(draw(st.lists(WORDS, min_size=1, max_size=3))),
        answer=draw(WORDS),
        abstained=draw(st.booleans()),
        failure=draw(st.sampled_from([None, None, None, Failure(error="E", step="s", message="")])),
        stop_reason=draw(
            st.sampled_from(["resolved", "budget_loops", "budget_tokens", "context_overflow", "answered", "", "x"])
        ),
        gold=tuple(GoldPassage(title="t", passage_id=key) for key in gold),
        chain=tuple(GoldHop(question="q", answer="a", gold=place) for place in range(len(gold))),
        retrieved=tuple(
            Retrieved(passage_id=key, loop=0, tool="t", query="q", rank=1, full=True)
            for key in draw(st.lists(IDS, unique=True, max_size=4))
        ),
        requirements=tuple(
            Requirement(id=f"R{n}", text="t", status=draw(statuses), support=tuple(draw(st.lists(IDS, max_size=2))))
            for n in range(draw(st.integers(0, 3)))
        ),
    )


@settings(max_examples=300, deadline=None)
@given(records(), st.sampled_from(["right", "wrong", None, "absent"]), st.booleans(), st.booleans())
def test_every_wrong_record_gets_one_category_and_no_other_does(record, said, judged_run, imported):
    verdict = None if said == "absent" else verdict_on(record, said)
    scored = score(record, verdict, judged_run=judged_run, imported=imported)
    both = {scored.category, scored.category_without_false_resolution}
    if scored.right is False:
        assert both <= CATEGORIES
        assert (scored.category == "Not scored") is scored.failed
    else:
        assert both == {None}
    assert (scored.right is None) is (scored.judge_failed and not scored.failed)
    if len(both) > 1:
        assert (scored.category, scored.category_without_false_resolution) == ("Reasoning Error", "Missing Evidence")
        assert scored.false_resolutions
    if scored.category == "Judge Error":
        assert scored.judged is False
    if scored.category == "Missing Evidence":
        assert scored.unretrieved_gold
    assert 0 <= scored.f1 <= 1
    assert scored.recall is None or 0 <= scored.recall <= 1
    assert scored.all_found is (None if scored.recall is None else scored.recall == 1)
    assert scored == score(record, verdict, judged_run=judged_run, imported=imported)


@settings(max_examples=300, deadline=None)
@given(st.lists(WORDS, max_size=3), WORDS, st.sampled_from(["musique", "hotpotqa"]), st.booleans())
def test_stricter_metrics_imply_looser_ones(golds, answer, benchmark, abstained):
    from executionrag.metrics.contain_match import contain_match
    from executionrag.metrics.exact_match import exact_match
    from executionrag.metrics.substring_match import substring_match
    from executionrag.metrics.token_f1 import token_f1

    f1 = token_f1(golds, answer, benchmark=benchmark, abstained=abstained)
    assert 0 <= f1 <= 1
    if benchmark == "musique" and exact_match(golds, answer, abstained):
        assert f1 == 1
    if contain_match(golds, answer, abstained):
        assert substring_match(golds, answer, abstained)
    if abstained:
        assert (f1, exact_match(golds, answer, True), substring_match(golds, answer, True)) == (0.0, False, False)


class Hostile:
    """A foreign object that raises whenever it is asked for something."""

    def __getattr__(self, name):
        raise RuntimeError(name)


DSPY_METRICS = [
    metrics.answer_contains,
    metrics.evidence_recall_metric,
    metrics.exact_match_metric,
    metrics.f1_metric,
    metrics.substring_metric,
]
ANYTHING = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.just(10**5000),
    st.floats(),
    st.binary(max_size=4),
    st.text(max_size=12),
    st.text(alphabet=st.characters(categories=["Cs"]), max_size=3),
    st.lists(st.one_of(st.none(), st.integers(), st.text(max_size=6)), max_size=3),
    st.tuples(st.text(max_size=6)),
    st.frozensets(st.text(max_size=4), max_size=3),
    st.dictionaries(st.text(max_size=4), st.integers(), max_size=2),
    st.builds(Hostile),
)
FIELDS = ["answer", "answers", "abstained", "benchmark", "gold_ids", "retrieved_ids"]


@pytest.mark.parametrize("metric", DSPY_METRICS, ids=lambda metric: metric.__name__)
class TestPlainDSPyMetrics:
    @settings(max_examples=100, deadline=None)
    @given(data=st.data())
    def test_never_raise_and_stay_between_0_and_1(self, metric, data):
        values = st.dictionaries(st.sampled_from(FIELDS), ANYTHING)
        made = st.one_of(ANYTHING, values.map(lambda fields: dspy.Example(**fields)))
        result = metric(data.draw(made), data.draw(st.one_of(made, values.map(lambda f: dspy.Prediction(**f)))))
        assert type(result) is float
        assert 0 <= result <= 1

    def test_score_a_perfect_prediction_1_and_an_empty_one_0(self, metric):
        example = dspy.Example(question="q", answer="Mary", gold_ids=["g1", "g2"]).with_inputs("question")
        assert metric(example, dspy.Prediction(answer="Mary", retrieved_ids=["g2", "x", "g1"]), trace=[]) == 1.0
        assert metric(example, dspy.Prediction()) == 0.0
        assert metric(example, None) == 0.0

    def test_say_so_where_the_example_has_no_gold(self, metric, caplog):
        assert metric(dspy.Example(), dspy.Prediction(answer="", retrieved_ids=[])) == 0.0
        assert "the example has no gold" in caplog.text

    def test_run_under_evaluate(self, metric):
        class Answers(dspy.Module):
            def forward(self, question):
                return dspy.Prediction(answer="Mary", retrieved_ids=["g1"])

        devset = [dspy.Example(question="q", answers=["Mary"], gold_ids=("g1",)).with_inputs("question")]
        assert dspy.Evaluate(devset=devset, metric=metric, num_threads=1)(Answers()).score == 100.0


def test_numbers_are_read_as_they_are_written():
    assert metrics.exact_match_metric({"answer": 1933}, dspy.Prediction(answer="1933")) == 1.0
    assert metrics.exact_match_metric(dspy.Example(answers=[1, 1933]), dspy.Prediction(answer=1933)) == 1.0
    assert metrics.exact_match_metric(dspy.Example(answer="True"), dspy.Prediction(answer=True)) == 0.0


def test_the_benchmark_of_the_example_chooses_the_rules_of_f1():
    said = dspy.Prediction(answer="Yes, both are.")
    assert metrics.f1_metric(dspy.Example(answer="yes", benchmark="hotpotqa"), said) == 0.0
    assert metrics.f1_metric(dspy.Example(answer="yes", benchmark="musique"), said) == pytest.approx(0.5)
    assert metrics.f1_metric(dspy.Example(answer="yes"), said) == pytest.approx(0.5)


def test_evidence_recall_counts_the_gold_ids_of_the_example():
    example = dspy.Example(gold_ids=["a", "b", "c", "d"])
    assert metrics.evidence_recall_metric(example, dspy.Prediction(retrieved_ids=("d", "x", "d"))) == 0.25


class TestEfficiency:
    USAGE = Usage(
        calls=5,
        cached_calls=2,
        prompt_tokens=100,
        completion_tokens=20,
        logical_prompt_tokens=160,
        logical_completion_tokens=30,
        cost=0.5,
        loops=3,
        retrieved_tokens=70,
        retrieved_tokens_arag=90,
        seconds=1.5,
    )

    def test_agent_and_judge_stand_apart(self):
        record = asked(usage=self.USAGE)
        spent = efficiency(record, verdict_on(record, "right", prompt_tokens=7, completion_tokens=2, cost=0.25))
        assert (spent.lm_calls, spent.cached_calls, spent.loops, spent.seconds) == (5, 2, 3, 1.5)
        assert (spent.prompt_tokens, spent.completion_tokens, spent.cost) == (100, 20, 0.5)
        assert (spent.logical_prompt_tokens, spent.logical_completion_tokens) == (160, 30)
        assert (spent.retrieved_tokens, spent.retrieved_tokens_arag) == (70, 90)
        assert (spent.judge_prompt_tokens, spent.judge_completion_tokens, spent.judge_cost) == (7, 2, 0.25)
        assert efficiency(record).judge_cost == 0.0

    def test_unknown_is_none_and_not_0(self):
        record = asked(usage=self.USAGE.model_copy(update={"cost": None}))
        assert efficiency(record, verdict_on(record, "right")).cost is None
        assert efficiency(record, verdict_on(record, "right")).judge_cost is None

    def test_what_an_exception_took_along_is_unknown(self):
        failure = Failure(error="KeyError", step="program", message="")
        assert efficiency(asked(failure=failure, stop_reason="")).cost is None
        assert efficiency(asked(failure=failure, stop_reason="lm_error")).cost == 0.0
