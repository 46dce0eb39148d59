"""Real benchmark files, where they stand beside the repository: counts as published with them, and all gold found."""

from collections import Counter
from pathlib import Path

import pytest

from executionrag.retrievers.corpus import load_corpus
from executionrag.runs.benchmarks.gold import map_gold
from executionrag.runs.benchmarks.load import corpus_passages, load_benchmark

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"


def real(name):
    if not (DATA / name).is_file():
        pytest.skip(f"{name} is not beside the repository")
    return DATA / name


@pytest.mark.parametrize(
    ("kind", "name", "questions", "by_hops"),
    [
        ("musique", "musique_dev.jsonl", 143, {2: 89, 3: 31, 4: 23}),
        ("musique", "musique_train.jsonl", 310, {2: 276, 3: 28, 4: 6}),
        ("hotpotqa", "hotpotqa_dev.jsonl", 236, {2: 236}),
        ("hotpotqa", "hotpotqa_train.jsonl", 300, {2: 300}),
        ("2wiki", "2wiki_dev.jsonl", 345, {2: 252, 4: 93}),
        ("2wiki", "2wiki_train.jsonl", 500, {2: 408, 4: 92}),
    ],
)
def test_a_real_question_file_loads_whole_and_its_own_contexts_hold_its_gold(kind, name, questions, by_hops):
    benchmark = load_benchmark(f"{kind}:{real(name)}", to_measure=False)
    assert len(benchmark.dev) == questions
    assert Counter(question.hops for question in benchmark.dev) == by_hops
    gold = map_gold(benchmark.dev, corpus_passages(benchmark, name))
    assert (gold.coverage, gold.unmapped, gold.ambiguous) == (1.0, (), ())


@pytest.mark.parametrize(
    ("kind", "name", "corpus", "passages", "gold_passages"),
    [
        ("musique", "musique_dev.jsonl", "musique_dev_pooled_corpus.jsonl", 4554, 363),
        ("hotpotqa", "hotpotqa_dev.jsonl", "hotpotqa_dev_pooled_corpus.jsonl", 4850, 472),
        ("2wiki", "2wiki_bench_questions.jsonl", "2wiki_corpus.jsonl", 6119, 1298),
    ],
)
def test_a_real_corpus_holds_all_gold(kind, name, corpus, passages, gold_passages):
    benchmark = load_benchmark(f"{kind}:{real(name)}", real(corpus))
    assert len(benchmark.corpus) == passages
    gold = map_gold(benchmark.dev, load_corpus(real(corpus)))
    assert (gold.mapped, gold.total, gold.ambiguous) == (gold_passages, gold_passages, ())


def test_the_2wiki_set_has_its_titles_and_most_hops_know_their_paragraph():
    benchmark = load_benchmark(f"2wiki:{real('2wiki_bench_questions.jsonl')}")
    assert len(benchmark.dev) == 524
    hops = [hop for question in benchmark.dev for hop in question.decomposition]
    assert len(hops) == 1318
    assert sum(hop.support is not None for hop in hops) == 1242


def test_real_gold_is_found_in_a_corpus_cut_into_chunks():
    benchmark = load_benchmark(f"musique:{real('musique_dev.jsonl')}")
    cut = load_corpus(real("musique_dev_pooled_corpus.jsonl"), chunk_tokens=60, whole_tokens=60)
    assert len(cut) > 9000
    assert map_gold(benchmark.dev, cut).coverage == 1.0
