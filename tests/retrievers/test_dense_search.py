import gc
import json
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from executionrag.errors import UserError
from executionrag.retrievers import dense, flat_search, hnsw
from executionrag.retrievers.flat_search import FlatSearch, candidates, fixed_scores
from executionrag.retrievers.index import Index
from executionrag.retrievers.ranking import rank


def unit(vectors):
    vectors = np.asarray(vectors, dtype=np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


@pytest.fixture
def random_vectors():
    return unit(np.random.default_rng(5).normal(size=(600, 24)))


def test_scores_that_round_alike_are_ordered_by_row():
    rows = np.array([4, 1, 9, 2])
    assert rank(rows, np.array([0.5000001, 0.5000002, 0.9, 0.49]), 3) == [(9, 0.9), (1, 0.5), (4, 0.5)]


def test_all_ties_at_the_edge_are_looked_at_before_the_lowest_rows_are_taken(tmp_path):
    dense.build(unit([[1, 0]] * 300), tmp_path)
    found = dense.DenseSearch(tmp_path).search(np.array([1, 0], dtype=np.float32), 3)
    assert found == [(0, 1.0), (1, 1.0), (2, 1.0)]


@pytest.mark.parametrize("limit", [10, 10_000])
def test_more_than_there_are_gives_all_and_none_gives_none(tmp_path, monkeypatch, random_vectors, limit):
    monkeypatch.setattr(dense, "FLAT_LIMIT", limit)
    dense.build(random_vectors[:20], tmp_path)
    search = dense.DenseSearch(tmp_path)
    rows = [row for row, _ in search.search(random_vectors[3], 1000)]
    assert rows[0] == 3
    assert sorted(rows) == list(range(20))
    assert search.search(random_vectors[3], 0) == []


@pytest.mark.parametrize("limit", [10, 10_000])
def test_a_query_that_is_not_finite_never_gives_a_row_that_is_none(tmp_path, monkeypatch, random_vectors, limit):
    monkeypatch.setattr(dense, "FLAT_LIMIT", limit)
    dense.build(random_vectors[:20], tmp_path)
    found = dense.DenseSearch(tmp_path).search(np.full(24, np.nan, dtype=np.float32), 3)
    assert all(0 <= row < 20 for row, _ in found)


def test_the_graph_finds_what_exact_search_finds(tmp_path, monkeypatch, random_vectors):
    (tmp_path / "flat").mkdir()
    (tmp_path / "graph").mkdir()
    dense.build(random_vectors, tmp_path / "flat")
    monkeypatch.setattr(dense, "FLAT_LIMIT", 100)
    dense.build(random_vectors, tmp_path / "graph")
    assert (tmp_path / "graph" / dense.GRAPH).exists()
    assert not (tmp_path / "graph" / dense.VECTORS).exists()
    flat, graph = dense.DenseSearch(tmp_path / "flat"), dense.DenseSearch(tmp_path / "graph")
    queries = unit(np.random.default_rng(6).normal(size=(40, 24)))
    shared = [
        len({row for row, _ in flat.search(query, 5)} & {row for row, _ in graph.search(query, 5)}) for query in queries
    ]
    assert sum(shared) >= 0.98 * 5 * len(queries)


def test_the_graph_is_the_same_each_time_it_is_built(tmp_path, monkeypatch, random_vectors):
    monkeypatch.setattr(dense, "FLAT_LIMIT", 100)
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        dense.build(random_vectors, tmp_path / name)
    assert (tmp_path / "one" / dense.GRAPH).read_bytes() == (tmp_path / "two" / dense.GRAPH).read_bytes()


@pytest.mark.parametrize("limit", [10, 10_000])
def test_the_vectors_come_back_as_they_were_given_and_outlive_the_search(tmp_path, monkeypatch, random_vectors, limit):
    monkeypatch.setattr(dense, "FLAT_LIMIT", limit)
    dense.build(random_vectors, tmp_path)
    stored = dense.DenseSearch(tmp_path).stored_vectors()
    gc.collect()
    assert np.array_equal(stored, random_vectors)
    assert not stored.flags.writeable


def test_grouped_search_covers_as_many_groups_as_asked(tmp_path):
    vectors = unit([[1, 0.001 * number] for number in range(200)])
    dense.build(vectors, tmp_path)
    owners = np.arange(200) // 100
    found = dense.DenseSearch(tmp_path).search(vectors[0], 2, group=lambda rows: owners[rows])
    assert {int(owners[row]) for row, _ in found} == {0, 1}
    assert int(owners[found[-1][0]]) == 1


def plainly(vectors, query, count):
    """What exact search has to give, the slow way."""
    scores = [float(np.dot(row.astype(np.float64), query.astype(np.float64))) for row in vectors]
    return sorted(((row, round(score, 5)) for row, score in enumerate(scores)), key=lambda one: (-one[1], one[0]))[
        :count
    ]


@st.composite
def searches(draw):
    """Vectors, some of them twice or a hair apart, and queries with a number of rows wanted each."""
    random = np.random.default_rng(draw(st.integers(0, 10_000)))
    base = unit(random.normal(size=(draw(st.integers(1, 40)), 8)))
    again = base[random.integers(0, len(base), draw(st.integers(0, 60)))]
    noise = np.float32(draw(st.sampled_from([0, 1e-7, 1e-5])))
    again = again + random.normal(size=again.shape).astype(np.float32) * noise
    vectors = np.concatenate([base, unit(again)]) if len(again) else base
    queries = unit(random.normal(size=(draw(st.integers(1, 20)), 8)))
    counts = draw(st.lists(st.integers(1, len(vectors)), min_size=len(queries), max_size=len(queries)))
    return vectors.astype(np.float32), queries, counts


@given(searches(), st.sampled_from([1, 7, 1 << 10]))
@settings(max_examples=60, deadline=None)
def test_searched_together_or_alone_order_and_scores_are_the_same(case, block):
    vectors, queries, counts = case
    before = flat_search._LEAST_BLOCK, flat_search._SCORES
    flat_search._LEAST_BLOCK, flat_search._SCORES = block, 1
    try:
        together = candidates(vectors, list(queries), counts)
        alone = [candidates(vectors, [query], [count])[0] for query, count in zip(queries, counts, strict=True)]
    finally:
        flat_search._LEAST_BLOCK, flat_search._SCORES = before
    for query, count, *found in zip(queries, counts, together, alone, strict=True):
        first, second = (rank(rows, fixed_scores(vectors, rows, query), count) for rows in found)
        assert first == second == FlatSearch(vectors).best(query, count)
        # Whatever the order of summation, a score may only differ where it lies on the edge of rounding.
        expected = plainly(vectors, query, count)
        assert np.allclose([score for _, score in first], [score for _, score in expected], atol=1.1e-5)


def test_sixteen_threads_get_what_one_gets(tmp_path, random_vectors):
    dense.build(random_vectors, tmp_path)
    search = dense.DenseSearch(tmp_path)
    queries = unit(np.random.default_rng(7).normal(size=(160, 24)))
    alone = [search.search(query, 1 + number % 7) for number, query in enumerate(queries)]
    ready = threading.Barrier(16)

    def ask(thread):
        ready.wait(30)
        return [(number, search.search(queries[number], 1 + number % 7)) for number in range(thread, 160, 16)]

    with ThreadPoolExecutor(16) as pool:
        found = dict(pair for pairs in pool.map(ask, range(16)) for pair in pairs)
    assert [found[number] for number in range(160)] == alone


def test_waiting_queries_are_searched_together_and_fail_alone(random_vectors, monkeypatch):
    sizes, first_is_on, go_on = [], threading.Event(), threading.Event()

    def held(vectors, queries, counts):
        sizes.append(len(queries))
        first_is_on.set()
        assert go_on.wait(30)
        if any(np.array_equal(query, random_vectors[2]) for query in queries):
            raise MemoryError("too many")
        return candidates(vectors, queries, counts)

    monkeypatch.setattr(flat_search, "candidates", held)
    search = FlatSearch(random_vectors)
    with ThreadPoolExecutor(4) as pool:
        first = pool.submit(search.best, random_vectors[0], 1)
        assert first_is_on.wait(30)
        others = [pool.submit(search.best, random_vectors[row], 1) for row in (1, 2, 3)]
        while len(search._together._waiting) < 3:
            pass
        go_on.set()
        assert first.result(30) == [(0, 1.0)]
        with pytest.raises(MemoryError):
            others[1].result(30)
        assert [others[0].result(30), others[2].result(30)] == [[(1, 1.0)], [(3, 1.0)]]
    assert sizes == [1, 3, 1, 1, 1]
    assert search.best(random_vectors[5], 1) == [(5, 1.0)]


@pytest.mark.parametrize("kind", ["flat", "hnsw"])
def test_scores_are_the_same_in_both_kinds(tmp_path, random_vectors, kind):
    dense.build(random_vectors, tmp_path, kind=kind)
    query = unit([np.arange(24)])[0]
    found = dense.DenseSearch(tmp_path).search(query, 5)
    assert found == plainly(random_vectors, query, 5)


@pytest.mark.parametrize(("kind", "file"), [("flat", dense.VECTORS), ("hnsw", dense.GRAPH)])
def test_the_kind_can_be_chosen_whatever_the_number(tmp_path, random_vectors, kind, file):
    dense.build(random_vectors[:30], tmp_path, kind=kind)
    assert (tmp_path / file).exists()
    assert (dense.DenseSearch(tmp_path).ef_search is None) == (kind == "flat")


def test_the_graph_keeps_the_least_ef_search_that_finds_enough(tmp_path, random_vectors):
    probes = unit(np.random.default_rng(8).normal(size=(50, 24)))
    dense.build(random_vectors, tmp_path, kind="hnsw", probes=probes)
    said = json.loads((tmp_path / dense.SETTINGS).read_text())
    assert said["probes"] == 50
    assert dense.DenseSearch(tmp_path).ef_search == said["ef_search"]
    assert min(said["recall"].values()) >= hnsw.RECALL or said["ef_search"] == hnsw._STEPS[-1]
    graph = hnsw.HnswSearch(tmp_path, said["ef_search"] // 2)
    exact = FlatSearch(random_vectors).best_of_many(probes, 20)
    worse = hnsw._recall([graph.best(probe, 20) for probe in probes], exact, 20)
    assert said["ef_search"] == hnsw._STEPS[0] or worse < hnsw.RECALL


def test_a_recall_that_cannot_be_reached_gives_the_least_step_that_finds_about_as_much_as_any(random_vectors):
    class Graph:
        """Finds one in five at 32, three in five at 64, and never more than four in five, from 128 on."""

        ef_search = 0

        def best(self, query, count):
            share = {32: 0.2, 64: 0.6}.get(self.ef_search, 0.8)
            return plainly(random_vectors, query, count)[: int(share * 5)]

    ef_search, recall = hnsw._choose(Graph(), FlatSearch(random_vectors), random_vectors[:3])
    assert ef_search == 128
    assert recall[5] == pytest.approx(0.8)


@pytest.mark.parametrize(
    "content", ["", "[]", "{}", '{"ef_search": "many"}', '{"ef_search": 0}', '{"ef_search": true}']
)
def test_damaged_settings_of_a_graph_are_an_error(tmp_path, random_vectors, content):
    dense.build(random_vectors[:30], tmp_path, kind="hnsw")
    (tmp_path / dense.SETTINGS).write_text(content)
    with pytest.raises(ValueError, match=r"dense\.json"):
        dense.DenseSearch(tmp_path)


def test_an_index_whose_graph_settings_changed_says_that_it_is_damaged(tmp_path, passages):
    index = Index.build(passages, tmp_path / "i", dense_kind="hnsw").path
    (index / dense.SETTINGS).write_text("{}")
    with pytest.raises(UserError, match=r"dense\.json.*damaged"):
        Index.load(index)


def test_recall_counts_what_ties_with_the_last():
    exact = [[(0, 0.9), (1, 0.5)]]
    assert hnsw._recall([[(0, 0.9), (7, 0.5)]], exact, 2) == 1.0
    assert hnsw._recall([[(0, 0.9), (7, 0.49)]], exact, 2) == 0.5
    assert hnsw._recall([[]], exact, 2) == 0.0


def test_similarities_are_the_products_with_all_rows(tmp_path, random_vectors):
    dense.build(random_vectors, tmp_path)
    near = dense.DenseSearch(tmp_path).similarities(random_vectors[3])
    assert near.shape == (600,)
    assert near.dtype == np.float32
    assert np.allclose(near, random_vectors @ random_vectors[3], atol=1e-6)
