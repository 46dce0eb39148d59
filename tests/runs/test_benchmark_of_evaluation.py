"""The benchmark of a whole evaluation: its reference, its questions and its server are what its text says."""

import json

import dspy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from executionrag.program.systems import make_system
from executionrag.runs.backends import check_lm, make_lm
from executionrag.runs.bench.evaluation import makespan, musique_row
from executionrag.runs.bench.loopback_lm import MODEL, serving
from executionrag.runs.bench.workload import questions
from executionrag.runs.benchmarks.musique import load_musique


@pytest.mark.parametrize(
    ("chains", "workers", "ends"),
    [
        ([], 2, 0.0),
        ([3.0], 2, 3.0),
        ([3.0, 1.0, 1.0, 1.0], 2, 3.0),
        ([1.0, 1.0, 3.0], 2, 4.0),  # in their order, not the best one
        ([1.0, 2.0, 3.0], 1, 6.0),
    ],
)
def test_the_makespan_gives_each_job_to_the_first_free_worker(chains, workers, ends):
    assert makespan(chains, workers) == ends


@given(st.lists(st.integers(1, 50), min_size=1, max_size=40), st.integers(1, 8))
def test_no_makespan_beats_the_longest_job_or_an_even_split(chains, workers):
    ends = makespan(chains, workers)
    assert max(max(chains), sum(chains) / workers) <= ends <= sum(chains) / workers + max(chains)


def test_the_questions_of_the_workload_survive_the_file_that_evaluate_reads(tmp_path):
    asked = questions(50)
    file = tmp_path / "questions.jsonl"
    file.write_text("".join(f"{json.dumps(musique_row(one))}\n" for one in asked), encoding="utf-8")
    read = load_musique(file)
    kept = ("id", "question", "answers", "hops", "supporting")
    assert [[getattr(one, name) for name in kept] for one in read] == [
        [getattr(one, name) for name in kept] for one in asked
    ]
    assert [[hop.support for hop in one.decomposition] for one in read] == [
        [hop.support for hop in one.decomposition] for one in asked
    ]


def test_the_server_is_asked_like_any_other_and_tells_what_it_served(small_index):
    question = questions(1)[0].question
    with serving(1, 0.0) as server:
        backend = make_lm(f"openai/{MODEL}", api_base=server.address, cache=False, num_retries=0)
        check_lm(backend.lm)
        assert server.served().calls == 0
        with dspy.context(lm=backend.lm):
            prediction = make_system("executionrag", small_index)(question=question)
        served = server.served()
    assert served.calls == prediction.usage.calls > 2
    assert served.most == 1
    assert list(served.seconds) == [question]
    assert served.began > 0
