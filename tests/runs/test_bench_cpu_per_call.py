"""The split of CPU time among ours, DSPy's, the LM's and retrieval's: what is counted where. No times here."""

import dspy
import pytest

from executionrag.runs.bench.cpu_per_call import measure
from executionrag.runs.bench.long_question import LOOPS, long_question
from executionrag.runs.bench.predictor_cpu import PredictorCpu
from executionrag.runs.bench.setting import Setting
from executionrag.runs.bench.workload import minihop_index


@pytest.fixture(scope="module")
def index():
    with minihop_index() as index:
        yield index


def test_predictors_are_timed_while_it_is_asked_for_and_left_as_they_were():
    call, seen = dspy.Predict.__call__, []
    predictor = dspy.Predict("question -> answer")
    with PredictorCpu(seen.append) as predictors, dspy.context(lm=None):
        for _ in range(2):
            with pytest.raises(ValueError, match="No LM is loaded"):
                predictor(question="?")
    assert dspy.Predict.__call__ is call
    assert (predictors.calls, seen) == (2, [predictor, predictor])
    assert predictors.cpu > 0


def test_a_long_question_uses_every_loop_and_asks_the_same_in_each(index):
    loops = long_question(index)
    assert len(loops) == LOOPS - 1
    # A query and an update; and a selection wherever there is a choice.
    assert {loop.calls for loop in loops} <= {2, 3}
    assert all(loop.ours > 0 and loop.dspys > 0 for loop in loops)


def test_each_share_is_told_for_each_number_of_threads():
    rows = {row.name: row for row in measure(Setting(rounds=1), count=2, threads=(1, 2))}
    for where in ("1 thread", "2 threads"):
        bare = rows[f"{where}: a bare dspy.Predict, a call"].value
        for share in ("ours", "DSPy"):
            ratio = rows[f"{where}: {share}, as a multiple of a bare dspy.Predict"]
            assert ratio.value == pytest.approx(rows[f"{where}: {share}, a call"].value / bare)
            assert ratio.value > 0
    assert rows["1 thread: LM calls a question"].value == rows["2 threads: LM calls a question"].value
